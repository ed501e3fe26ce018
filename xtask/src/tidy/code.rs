//! What Rust files look like.

use crate::tidy::files::File;
use crate::tidy::finding::Finding;
use crate::tidy::paths::{is_word, line_of};

/// The most lines that a file may have besides its tests.
const MOST_LINES: usize = 600;

/// The files that are longer, each with the reason.
const LONGER: &[(&str, &str)] = &[];

/// The methods of a tensor that convert all of its elements into a vector.
const WIDE_READS: [&str; 5] = ["floats", "integers", "complexes", "bools", "indices"];

/// The folder whose code allocates what a model asks for.
const KERNELS: &str = "crates/reference/src/kernels/";

/// Tests run and pass, and a lint is lifted with a reason.
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

/// No file grows past what can be read in one go.
pub(crate) fn check_length(file: &File, findings: &mut Vec<Finding>) {
    let lines = if file.is_test { 0 } else { file.text.lines().count() - file.masked.test_lines };
    if lines > MOST_LINES && !file.is_generated() && !LONGER.iter().any(|(path, _)| *path == file.path) {
        let rule = format!("the file has {lines} lines without its tests, more than {MOST_LINES}");
        let fix = "split it by idea, or list it with a reason in LONGER in xtask/src/tidy/code.rs";
        findings.push(Finding::new(&file.path, MOST_LINES, rule, fix));
    }
}

/// The file of a module's folder, and of a crate, says what is there. Tables of what the modules declare may stand there.
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
            let rule = format!("`{kind}` stands in a file that only declares");
            findings.push(Finding::new(&file.path, number + 1, rule, "move it to a file of its own beside this one"));
        }
    }
}

/// What a kernel allocates is counted against the limits, or bounded by something that is.
pub(crate) fn check_bounds(file: &File, findings: &mut Vec<Finding>) {
    if !file.path.starts_with(KERNELS) {
        return;
    }
    let code = file.production();
    let lists = code.match_indices("vec![").map(|(at, open)| (at, repeated(&code[at + open.len()..])));
    let capacities = code.match_indices("with_capacity(").map(|(at, open)| (at, argument(&code[at + open.len()..])));
    for (at, size) in lists.chain(capacities) {
        let line = line_of(code, at);
        if size.is_some_and(|size| !is_constant(size)) && !file.masked.is_noted(line, "bounded: ") {
            let rule = format!("the size `{}` is counted against no limit", size.unwrap_or_default());
            let fix = "allocate with Call::allocate or Budget::scratch, or say in `// bounded: ...` what bounds it";
            findings.push(Finding::new(&file.path, line, rule, fix));
        }
    }
    for read in WIDE_READS {
        for form in
            [format!(".{read}()"), format!("map_or_else(Vec::new, Tensor::{read})"), format!(".map(Tensor::{read})")]
        {
            for (at, _) in code.match_indices(&form) {
                let line = line_of(code, at);
                if !file.masked.is_noted(line, "bounded: ") {
                    let rule = format!("`{form}` reads a whole tensor wide, counted against no limit");
                    let fix = format!(
                        "read with Budget::read_{read} or Tensor::stream, or say in `// bounded: ...` what bounds it"
                    );
                    findings.push(Finding::new(&file.path, line, rule, fix));
                }
            }
        }
    }
}

/// The count in `value; count]`.
fn repeated(rest: &str) -> Option<&str> {
    let inside = argument(rest)?;
    let mut depth = 0_usize;
    for (at, c) in inside.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return Some(inside[at + 1..].trim()),
            _ => {}
        }
    }
    None
}

/// Everything up to the bracket that closes.
fn argument(rest: &str) -> Option<&str> {
    let mut depth = 1_usize;
    let end = rest.find(|c: char| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some(rest[..end].trim())
}

/// A number, or the name of a constant.
fn is_constant(size: &str) -> bool {
    size.starts_with(|c: char| c.is_ascii_digit()) && size.chars().all(is_word)
        || size.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str, check: impl Fn(&File, &mut Vec<Finding>)) -> Vec<usize> {
        let mut findings = Vec::new();
        check(&File::new(path, text), &mut findings);
        findings.sort();
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn attributes_that_hide_something_are_found() {
        let text =
            "#[ignore]\n#[ignore = \"slow\"]\n#![allow(lint)]\n// #[allow(lint)]\nlet s = \"#[should_panic]\";\n";
        assert_eq!(lines("src/a.rs", text, check_attributes), [1, 2, 3]);
    }

    #[test]
    fn tests_do_not_count_as_length() {
        let code = "fn a() {}\n".repeat(MOST_LINES);
        let indented = code.replace("fn", "    fn");
        let tests = format!("{code}#[cfg(test)]\nmod tests {{\n{indented}}}\n");
        assert_eq!(lines("src/a.rs", &tests, check_length), Vec::<usize>::new());
        assert_eq!(lines("src/a.rs", &format!("{tests}fn b() {{}}\n"), check_length), [MOST_LINES]);
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
    fn sizes_of_kernels_are_bounded() {
        let path = "crates/reference/src/kernels/a.rs";
        let text = "\
vec![0; 4];
vec![a, b];
vec![vec![0; RANK]; 2];
vec![0; n];
vec![0; n]; // bounded: by the rank
// bounded: by the rank
let mut v = Vec::with_capacity(rank);
Vec::with_capacity(v.len() + 1);
vec![
    f(&[0; 3]);
    n,
];
";
        assert_eq!(lines(path, text, check_bounds), [4, 8, 9]);
        let text = "\
x.floats();
call.budget.read_floats(x)?;
// bounded: one element.
x.indices();
call.floats(element, shape, values);
axes.map(Tensor::indices);
";
        assert_eq!(lines(path, text, check_bounds), [1, 6]);
        assert_eq!(lines("src/a.rs", text, check_bounds), Vec::<usize>::new());
    }
}
