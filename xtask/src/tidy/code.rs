//! Rules for Rust files.

use std::collections::BTreeSet;

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::paths::{is_word, line_of};

/// Maximum number of lines of a file without its tests.
const MAX_LINES: usize = 600;

/// Longer files, each with a reason.
const LONGER: &[(&str, &str)] = &[];

/// Forbids ignored and panicking tests, and lints that are lifted without a reason.
pub(crate) fn check_attributes(file: &File, findings: &mut Vec<Finding>) {
    for (attribute, fix) in [
        ("ignore", "make the test run everywhere, or remove it"),
        ("should_panic", "assert on the error"),
        ("allow(", "use #[expect(lint, reason = \"...\")]"),
    ] {
        for open in ["#[", "#![", "#[cfg_attr("] {
            let written = format!("{open}{attribute}");
            for (at, _) in file.masked.code.match_indices(&written) {
                let rule = format!("{} is not used here", written.trim_end_matches('('));
                findings.push(Finding::new(&file.path, line_of(&file.masked.code, at), rule, fix));
            }
        }
    }
}

/// Limits the length of files.
pub(crate) fn check_length(file: &File, findings: &mut Vec<Finding>) {
    let lines = if file.is_test { 0 } else { file.text.lines().count() - file.masked.test_lines };
    if lines > MAX_LINES && !file.is_generated() && !LONGER.iter().any(|(path, _)| *path == file.path) {
        let rule = format!("the file has {lines} lines without its tests, more than {MAX_LINES}");
        let fix = "split it by idea, or list it with a reason in LONGER in xtask/src/tidy/code.rs";
        findings.push(Finding::new(&file.path, MAX_LINES, rule, fix));
    }
}

/// Requires that the root file of a module folder or crate only has declarations. Tables of the modules' items are allowed.
pub(crate) fn check_declarations(file: &File, findings: &mut Vec<Finding>) {
    if !file.path.ends_with("/mod.rs") && !file.path.ends_with("/lib.rs") {
        return;
    }
    for (number, line) in file.production().lines().enumerate() {
        let item = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ").trim_start();
        let is_item = |kind: &&&str| item.strip_prefix(**kind).is_some_and(|rest| !rest.starts_with(is_word));
        let kinds = ["fn", "impl", "struct", "enum", "trait", "type", "static", "macro_rules", "const fn", "async fn"];
        let inline = (item.starts_with("mod ") && item.ends_with('{')).then_some("mod");
        if let Some(kind) = kinds.iter().find(is_item).copied().or(inline) {
            let rule = format!("`{kind}` in a file that should only declare");
            findings.push(Finding::new(&file.path, number + 1, rule, "move it to a separate file in this folder"));
        }
    }
}

/// Forbidden first words of doc comments, which name neither a thing nor an action.
const VAGUE: [&str; 7] = ["What", "How", "Whether", "Where", "Which", "Who", "Those"];

/// Requires that a line of a doc comment begins with the noun of the thing or the verb of what it does.
pub(crate) fn check_doc_comments(file: &File, findings: &mut Vec<Finding>) {
    for (number, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! ")) else { continue };
        let first = comment.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if VAGUE.contains(&first) {
            let rule = format!("a doc comment begins with `{first}`");
            let fix = "begin with the noun of the thing, or with the verb of what it does";
            findings.push(Finding::new(&file.path, number + 1, rule, fix));
        }
    }
}

/// Files whose code may name the newest release, each with a reason.
const NAME_THE_RELEASE: &[(&str, &str)] = &[
    ("crates/report/src/operator.rs", "a measured version of onnx-reference"),
    ("examples/rust_runtime/main.rs", "an example to copy, in which a reader sees a whole id"),
    ("tests/cli/operators.rs", "a measured version of onnx-reference"),
    ("tests/cli/text_releases.rs", "the release whose text decides the case"),
    ("tests/crates/tract-runtime/tests/conformance.rs", "outside of the workspace, so it cannot ask for the newest"),
    ("xtask/src/release/wanted.rs", "an example in a message"),
];

/// Refuses the number of the newest release in code, which `Specs::newest_release` returns. Comments may have examples.
pub(crate) fn check_release(file: &File, newest: &str, findings: &mut Vec<Finding>) {
    if file.is_generated() || NAME_THE_RELEASE.iter().any(|(path, _)| *path == file.path) {
        return;
    }
    let minor = newest.rsplit_once('.').map(|(minor, _)| format!("ONNX {minor}"));
    for (number, code, _) in file.lines() {
        if code.contains(newest) || minor.as_ref().is_some_and(|minor| code.contains(minor)) {
            let rule = format!("the code names {newest}, the newest release");
            let fix = "take it from Specs::newest_release, or list the file with a reason in NAME_THE_RELEASE in \
                       xtask/src/tidy/code.rs";
            findings.push(Finding::new(&file.path, number, rule, fix));
        }
    }
}

/// Tests where the number of the newest opset has another meaning, each with a reason.
const ANOTHER_NUMBER: &[(&str, &str)] = &[
    ("crates/cases/src/case/drawn.rs", "a drawn number"),
    ("crates/reference/src/kernels/image/image_decoder.rs", "a level of gray"),
    ("crates/reference/src/spec/changes.rs", "a column"),
];

/// Refuses in tests the number of the newest opset, which `Specs::newest_opset` returns. Operator versions of that opset
/// (`Mod-28`, `"Mod", 28`) are facts and are allowed.
pub(crate) fn check_opset(file: &File, newest: u32, versions: &BTreeSet<String>, findings: &mut Vec<Finding>) {
    if file.is_generated() || ANOTHER_NUMBER.iter().any(|(path, _)| *path == file.path) {
        return;
    }
    let number = newest.to_string();
    for (at, line, _) in file.lines().filter(|(_, _, is_test)| *is_test) {
        if numbers(line, &number).any(|before| !names_version(before, versions)) {
            let rule = format!("a test names {newest}, the newest opset of ai.onnx");
            let fix = "take it from Specs::newest_opset, or list the file with a reason in ANOTHER_NUMBER in \
                       xtask/src/tidy/code.rs";
            findings.push(Finding::new(&file.path, at, rule, fix));
        }
    }
}

/// Returns the text before each whole number in a line that is this one.
fn numbers<'a>(line: &'a str, number: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(number).filter_map(move |(at, _)| {
        let (before, after) = (&line[..at], &line[at + number.len()..]);
        let is_part = before.ends_with(|c: char| is_word(c) || c == '.')
            || after.starts_with(is_word)
            || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        (!is_part).then_some(before)
    })
}

/// Returns true if a text ends with one of these operators and the sign between its name and a version.
fn names_version(text: &str, versions: &BTreeSet<String>) -> bool {
    let name = text.strip_suffix('-').or_else(|| text.strip_suffix("\", "));
    let name = name.and_then(|text| text.rsplit(|c| !is_word(c)).next());
    name.is_some_and(|name| versions.contains(name))
}

/// Refuses lists of runtimes outside of tests. A runtime is a folder in `adapters`, and `Runtimes` lists them.
pub(crate) fn check_runtimes(file: &File, runtimes: &BTreeSet<&str>, findings: &mut Vec<Finding>) {
    let mut named = BTreeSet::new();
    for (number, line, _) in file.lines().filter(|(_, _, is_test)| !is_test) {
        named.extend(line.split('"').skip(1).step_by(2).filter(|text| runtimes.contains(text)));
        if named.len() > 1 {
            let rule = format!("the code lists runtimes: {}", Vec::from_iter(named).join(", "));
            let fix = "take them from Runtimes::embedded, and a fact about one from its adapter.yaml";
            findings.push(Finding::new(&file.path, number, rule, fix));
            return;
        }
    }
}

/// Names that need a glossary.
const RIDDLES: [&str; 6] = ["tally", "fitted", "book", "keep", "wrong", "none"];

/// Refuses names that do not describe the thing.
pub(crate) fn check_names(file: &File, findings: &mut Vec<Finding>) {
    for (number, line) in file.production().lines().enumerate() {
        let line = line.trim_start();
        let declared = ["let mut ", "let ", "fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn "];
        let Some(name) = declared.iter().find_map(|start| line.strip_prefix(start)) else { continue };
        let name = name.split(|c| !is_word(c)).next().unwrap_or_default();
        if RIDDLES.contains(&name) {
            let rule = format!("`{name}` does not say what the thing is");
            findings.push(Finding::new(&file.path, number + 1, rule, "name the thing, or what the function does"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    #[test]
    fn attributes_that_hide_something_are_found() {
        let text =
            "#[ignore]\n#[ignore = \"slow\"]\n#![allow(lint)]\n// #[allow(lint)]\nlet s = \"#[should_panic]\";\n";
        assert_eq!(lines("src/a.rs", text, check_attributes), [1, 2, 3]);
    }

    #[test]
    fn tests_do_not_count_as_length() {
        let code = "fn a() {}\n".repeat(MAX_LINES);
        let indented = code.replace("fn", "    fn");
        let tests = format!("{code}#[cfg(test)]\nmod tests {{\n{indented}}}\n");
        assert_eq!(lines("src/a.rs", &tests, check_length), Vec::<usize>::new());
        assert_eq!(lines("src/a.rs", &format!("{tests}fn b() {{}}\n"), check_length), [MAX_LINES]);
    }

    #[test]
    fn declarations_stand_alone() {
        let text = "//! Doc.\nmod a;\npub use a::{\n    B,\n};\nconst TABLE: &[B] = &[\n    B::new(),\n];\n";
        assert_eq!(lines("src/a/mod.rs", text, check_declarations), Vec::<usize>::new());
        let text = "pub fn a() {}\npub(crate) struct B;\nimpl B {}\npub mod c {\n}\ntype_of!();\n";
        assert_eq!(lines("src/a/mod.rs", text, check_declarations), [1, 2, 3, 4]);
        assert_eq!(lines("src/a/b.rs", text, check_declarations), Vec::<usize>::new());
    }

    #[test]
    fn names_say_what_the_thing_is() {
        let text = "fn keep() {\n    let wrong = 1;\n    let mut none = keeper(wrong);\n    let unit = kept;\n}\n";
        assert_eq!(lines("src/a/b.rs", text, check_names), [1, 2, 3]);
    }

    #[test]
    fn doc_comments_begin_with_a_noun_or_a_verb() {
        let text = "//! What is said.\n/// Counts cases.\n/// Whether it is one.\n// Where it is, no one is told.\nfn f() {}\n";
        assert_eq!(lines("src/a/b.rs", text, check_doc_comments), [1, 3]);
        assert_eq!(lines("src/a/b.rs", "/// Whatever is given.\nfn f() {}\n", check_doc_comments), Vec::<usize>::new());
    }

    #[test]
    fn the_newest_release_is_named_in_listed_files_and_comments_only() {
        let text = "// As in 9.8.7.\nlet a = \"onnx-9.8.7/node\"; // 9.8.7\nlet b = \"9.8.6 of ONNX 9.7\";\nlet c = \"ONNX 9.8\";\n";
        let found = |path: &str| lines(path, text, |file, findings| check_release(file, "9.8.7", findings));
        assert_eq!(found("src/a/b.rs"), [2, 4]);
        assert!(NAME_THE_RELEASE.iter().all(|(path, _)| found(path).is_empty()));
    }

    #[test]
    fn the_newest_opset_is_named_in_tests_as_the_version_of_an_operator_only() {
        let versions = BTreeSet::from(["Mod".to_owned()]);
        let found =
            |path: &str, text: &str| lines(path, text, |file, findings| check_opset(file, 88, &versions, findings));
        let text = "a(88);\n\"opset 88\";\nnode(\"Mod\", 88);\n\"ai.onnx/Mod-88/a\";\nnode(\"Sum\", 88);\n88.0 + 0.88 + 188;\n\
                    b(); // 88\n\"Sum-88\";\n";
        assert_eq!(found("tests/a.rs", text), [1, 2, 5, 8]);
        assert_eq!(found("src/a.rs", text), Vec::<usize>::new());
        let module =
            format!("fn a() {{\n    88\n}}\n#[cfg(test)]\nmod tests {{\n    {}}}\n", text.lines().next().unwrap());
        assert_eq!(found("src/a.rs", &module), [6]);
    }

    #[test]
    fn two_runtimes_in_code_are_a_list() {
        let runtimes = BTreeSet::from(["one", "two"]);
        let found =
            |path: &str, text: &str| lines(path, text, |file, findings| check_runtimes(file, &runtimes, findings));
        let text = "let a = \"one\"; // \"two\"\nlet b = \"one\";\nlet c = \"of two\";\nlet d = \"two\";\n";
        assert_eq!(found("src/a.rs", text), [4]);
        assert_eq!(found("tests/a.rs", text), Vec::<usize>::new());
    }
}
