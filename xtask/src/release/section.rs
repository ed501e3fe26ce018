//! Sections of a list: what a person has to do for a release.

use std::fmt::Write as _;

/// Lines of one kind, with the way to deal with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    title: &'static str,
    /// The way out, as an instruction.
    advice: String,
    lines: Vec<String>,
}

impl Section {
    pub(crate) fn new(title: &'static str, advice: &str, lines: Vec<String>) -> Section {
        Section { title, advice: advice.to_owned(), lines }
    }
}

/// Formats sections as text. A section without lines is its title with the count 0.
pub(crate) fn text(sections: &[Section]) -> String {
    let mut text = String::new();
    for Section { title, advice, lines } in sections {
        // Writing to a string does not fail.
        let _ = writeln!(text, "== {title}: {}", lines.len());
        if !lines.is_empty() {
            let _ = writeln!(text, "{advice}");
        }
        for line in lines.iter().flat_map(|line| line.lines()) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// Formats sections in markdown, with the lines as they are.
pub(crate) fn markdown(heading: &str, sections: &[Section]) -> String {
    let mut text = format!("# {heading}\n\n| | |\n|---|--:|\n");
    for Section { title, lines, .. } in sections {
        let _ = writeln!(text, "| {title} | {} |", lines.len());
    }
    for Section { title, advice, lines } in sections.iter().filter(|section| !section.lines.is_empty()) {
        // A fence that no line contains.
        let longest = lines.iter().flat_map(|line| line.split(|c| c != '`')).map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = writeln!(text, "\n## {title}\n{advice}\n\n{fence}\n{}\n{fence}", lines.join("\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections() -> [Section; 2] {
        [
            Section::new(
                "tests that fall",
                "Argue each.",
                vec!["node/test_a: mismatch".to_owned(), "a ```` b\nc".to_owned()],
            ),
            Section::new("removed tests", "Nothing to do.", Vec::new()),
        ]
    }

    #[test]
    fn sections_are_counted() {
        let expected =
            "== tests that fall: 2\nArgue each.\n  node/test_a: mismatch\n  a ```` b\n  c\n== removed tests: 0\n";
        assert_eq!(text(&sections()), expected);
    }

    #[test]
    fn markdown_quotes_the_lines() {
        let shown = markdown("A build", &sections());
        assert!(
            shown.starts_with("# A build\n\n| | |\n|---|--:|\n| tests that fall | 2 |\n| removed tests | 0 |\n"),
            "{shown}"
        );
        let block = "\n## tests that fall\nArgue each.\n\n`````\nnode/test_a: mismatch\na ```` b\nc\n`````\n";
        assert!(shown.ends_with(block), "{shown}");
    }
}
