//! Links of the documents, and pages of the book.

use std::path::{Component, Path, PathBuf};

use crate::tidy::files::File;
use crate::tidy::finding::Finding;

/// Folder of the book.
const BOOK: &str = "docs/";

/// List of the book's pages.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Requires that links lead to existing files, folders and headings. A page of the book links only within the book, and is
/// listed.
pub(crate) fn check_links(root: &Path, files: &[File], findings: &mut Vec<Finding>) {
    let pages = || files.iter().filter(|file| is_document(&file.path));
    for file in pages() {
        for (line, target) in links(&file.text) {
            if let Some((rule, fix)) = broken(root, files, file, &target) {
                findings.push(Finding::new(&file.path, line, rule, fix));
            }
        }
    }
    let listed: Vec<String> = files
        .iter()
        .filter(|file| file.path == SUMMARY)
        .flat_map(|file| links(&file.text))
        .map(|(_, target)| target)
        .collect();
    for page in pages().filter(|file| file.path != SUMMARY) {
        let name = page.path.strip_prefix(BOOK);
        if name.is_some_and(|name| !listed.iter().any(|target| target == name)) {
            findings.push(Finding::new(&page.path, 1, "the page is not in the book", format!("list it in {SUMMARY}")));
        }
    }
}

/// Page that names a test for each problem.
const TESTED: &str = "docs/robustness.md";

/// Requires that the tests that a page names exist.
pub(crate) fn check_tests(files: &[File], findings: &mut Vec<Finding>) {
    let is_name = |word: &str| {
        word.matches('_').count() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    for page in files.iter().filter(|file| file.path == TESTED) {
        for (number, line) in page.text.lines().enumerate() {
            // Every second part is code.
            for code in line.split('`').skip(1).step_by(2) {
                let name = code.rsplit("::").next().unwrap_or(code);
                let declared = format!("fn {name}(");
                if is_name(name) && !files.iter().any(|file| file.is_rust() && file.text.contains(&declared)) {
                    let rule = format!("there is no test `{name}`");
                    findings.push(Finding::new(&page.path, number + 1, rule, "name the test that holds it"));
                }
            }
        }
    }
}

/// Returns true for pages of the book and top-level documents.
fn is_document(path: &str) -> bool {
    path.strip_suffix(".md").is_some_and(|name| {
        name.strip_prefix(BOOK).is_none_or(|name| !name.contains('/'))
            && (path.starts_with(BOOK) || !name.contains('/'))
    })
}

/// Returns the link targets of a document, each with its line, except code and links to other sites.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with("    ")) {
        // Every second part is code.
        for part in line.split('`').step_by(2) {
            for (at, _) in part.match_indices("](") {
                let target = part[at + 2..].split(')').next().unwrap_or_default();
                if !target.is_empty() && !target.contains("://") {
                    links.push((number + 1, target.to_owned()));
                }
            }
        }
    }
    links
}

/// Returns why a link is broken, and the fix.
fn broken(root: &Path, files: &[File], from: &File, target: &str) -> Option<(String, String)> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let place = if path.is_empty() { from.path.clone() } else { beside(&from.path, path) };
    if from.path.starts_with(BOOK) && !place.starts_with(BOOK) {
        return Some((format!("the link to {target} leaves the book"), "write the file name as code".to_owned()));
    }
    if !root.join(&place).exists() {
        return Some((format!("the link to {target} is broken"), format!("there is no {place}")));
    }
    let anchor = anchor?;
    let headings = files
        .iter()
        .find(|file| file.path == place)?
        .text
        .lines()
        .filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#').trim()));
    let known: Vec<String> = headings.map(slug).collect();
    let fix = || format!("{place} has {}", known.join(", "));
    (!known.iter().any(|heading| heading == anchor)).then(|| (format!("no heading is #{anchor}"), fix()))
}

/// Resolves a path relative to the folder of a file.
fn beside(from: &str, path: &str) -> String {
    let mut place = PathBuf::from(from);
    place.pop();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    place.to_string_lossy().replace('\\', "/")
}

/// Returns the anchor of a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_does_not_exist_is_found() {
        let page = "| a | `mod::the_first_test_holds` |\n| b | `the_second_test_holds`, `one_word` |\n";
        let files = [File::new(TESTED, page), File::new("tests/a.rs", "fn the_first_test_holds() {}\n")];
        let mut findings = Vec::new();
        check_tests(&files, &mut findings);
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let root = tempfile::TempDir::new().unwrap();
        std::fs::create_dir(root.path().join("docs")).unwrap();
        let texts = [
            ("docs/SUMMARY.md", "[A](a.md)\n"),
            (
                "docs/a.md",
                "# A page: one\n[b](b.md) [x](no.md), `[c](no.md)` [d](#a-page-one)\n[e](#no) [r](../README.md)\n    [f](no.md)\n",
            ),
            ("docs/b.md", "[web](https://example.org/x)\n"),
            ("README.md", "[a](docs/a.md#a-page-one)\n"),
        ];
        let files: Vec<File> = texts.iter().map(|(path, text)| File::new(path, text)).collect();
        for (path, text) in texts {
            std::fs::write(root.path().join(path), text).unwrap();
        }
        let mut findings = Vec::new();
        check_links(root.path(), &files, &mut findings);
        let found: Vec<String> =
            findings.iter().map(|finding| format!("{}:{} {}", finding.path, finding.line, finding.rule)).collect();
        let expected = [
            "docs/a.md:2 the link to no.md is broken",
            "docs/a.md:3 no heading is #no",
            "docs/a.md:3 the link to ../README.md leaves the book",
            "docs/b.md:1 the page is not in the book",
        ];
        assert_eq!(found, expected);
    }
}
