//! Rules for every text file, and promises of the documents.

use std::sync::OnceLock;

use crate::generated;
use crate::tidy::files::{File, has_extension};
use crate::tidy::finding::Finding;
use crate::tidy::paths::is_word;

/// Root folders that exist only on particular machines.
const MACHINE_FOLDERS: [&str; 5] = ["home", "Users", "root", "tmp", "work"];

/// Commands of the README.
const COMMANDS: [&str; 2] = ["cargo xtask report", "cargo test"];

/// Forbids machine-specific paths and notes about unfinished work.
pub(crate) fn check_text(file: &File, findings: &mut Vec<Finding>) {
    let notes = if file.is_rust() { &file.masked.comments } else { &file.text };
    for (number, line) in notes.lines().enumerate() {
        if let Some(word) = line.split(|c| !is_word(c)).find(|word| unfinished().iter().any(|note| note == word)) {
            let fix = "do it, or open an issue and remove the note";
            findings.push(Finding::new(&file.path, number + 1, format!("{word} is in the text"), fix));
        }
    }
    for (number, line) in file.text.lines().enumerate() {
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names_folder(line, folder)) {
            let rule = format!("the path below /{folder} belongs to one machine");
            findings.push(Finding::new(&file.path, number + 1, rule, "write a path from the project's root"));
        }
    }
}

/// Returns the words that mark unfinished work. They are assembled so that this file does not match its own rule.
fn unfinished() -> &'static [String; 2] {
    static WORDS: OnceLock<[String; 2]> = OnceLock::new();
    WORDS.get_or_init(|| [["TO", "DO"].concat(), ["FIX", "ME"].concat()])
}

/// Returns true if a line contains an absolute path below a folder of the root.
fn names_folder(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| is_word(c) || ".-~}*/)>$".contains(c))
    })
}

/// Requires that a generated file names its command in line 1, or in the first entry for JSON, which has no comments.
pub(crate) fn check_generated(files: &[File], findings: &mut Vec<Finding>) {
    let generated = generated::paths().map(|path| (path, "cargo xtask gen"));
    let imported =
        ["specs/releases.yaml", "specs/texts.yaml"].map(|path| (path.to_owned(), "cargo xtask import-specs"));
    for (path, command) in generated.chain(imported) {
        let text = files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
        let line = usize::from(has_extension(&path, "json")) + 1;
        if !text.lines().nth(line - 1).is_some_and(|head| head.contains(command)) {
            let rule = format!("the file is generated, but line {line} does not say so");
            findings.push(Finding::new(&path, line, rule, format!("run `{command}`")));
        }
    }
}

/// Requires that the README has its two commands, and that .ci/run calls `cargo xtask ci`.
pub(crate) fn check_commands(files: &[File], findings: &mut Vec<Finding>) {
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| file.text.as_str());
    let calls = |path: &str, command: &str| {
        let words = |line: &str| line.split('#').next().unwrap_or(line).trim() == command;
        text(path).lines().any(words)
    };
    let [report, test] = COMMANDS;
    for (path, command) in [("README.md", report), ("README.md", test), (".ci/run", "exec cargo xtask ci \"$@\"")] {
        if !calls(path, command) {
            let rule = format!("no line is `{command}`");
            findings.push(Finding::new(path, 1, rule, "call it literally, on a separate line"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_text(&File::new(path, text), &mut findings);
        findings.iter().map(|finding| format!("{}: {}", finding.line, finding.rule)).collect()
    }

    #[test]
    fn paths_of_some_machine_are_found() {
        let folder = MACHINE_FOLDERS[0];
        assert_eq!(
            rules("a.md", &format!("see /{folder}/me")),
            [format!("1: the path below /{folder} belongs to one machine")]
        );
        assert!(rules("a.md", &format!("see https://example.org/{folder}/me and a/{folder}/b")).is_empty());
    }

    #[test]
    fn unfinished_work_is_found_in_comments() {
        let [word, ..] = unfinished();
        assert_eq!(rules("a.rs", &format!("\n// {word}: more\n")), [format!("2: {word} is in the text")]);
        assert_eq!(rules("a.md", word), [format!("1: {word} is in the text")]);
        assert!(rules("a.rs", &format!("let text = \"{word}\";")).is_empty());
    }
}
