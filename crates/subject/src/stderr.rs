//! Summary of a process's standard error: its beginning, a panic, and its end, without details that vary between runs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_automata::meta::Regex;

/// Number of lines shown from the beginning and from the end.
const LINES_AT_EACH_END: usize = 2;

/// Longest part of a line to show, in characters.
const MAX_LINE_CHARACTERS: usize = 200;

/// Patterns of details that vary between identical runs, with their replacements.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rows = [
        (r"0x[0-9a-fA-F]{9,}", "0x?"),
        (r"thread '([^']*)' \(\d+\)", "thread '$1'"),
        (r"(?i)\b(pid|tid|process|thread)([ :=#\[(]{1,2})\d+", "$1$2?"),
        (r"==\d+==", "==?=="),
        (r"\d{4}-\d\d-\d\d", "?"),
        (r"\d\d:\d\d:\d\d([.,]\d+)?", "?"),
        (r#""seq": ?\d+"#, "\"seq\":N"),
        (r"\S*onnx-conformance-run-[A-Za-z0-9]+/\d+/", ""),
    ];
    // Each pattern is tested below.
    rows.into_iter().filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, with))).collect()
});

/// Removes addresses, numbers of processes and threads, times, and the numbers and folders of requests from a text.
pub(super) fn masked(text: &str) -> String {
    VARYING.iter().fold(text.to_owned(), |text, (pattern, with)| replace_all(&text, pattern, with))
}

/// Replaces each match of a pattern. `$1` in the replacement is the first group of the match.
fn replace_all(text: &str, pattern: &Regex, with: &str) -> String {
    let (mut replaced, mut end) = (String::new(), 0);
    for found in pattern.captures_iter(text) {
        let Some(span) = found.get_match() else { continue };
        replaced.push_str(text.get(end..span.start()).unwrap_or_default());
        found.interpolate_string_into(text, with, &mut replaced);
        end = span.end();
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    replaced
}

/// Joins the most useful lines of a text into one: the first and last ones, and a panic with its message.
pub(super) fn summarize(text: &str) -> String {
    let lines = meaningful_lines(text);
    let panic = lines.iter().position(|line| line.starts_with("thread '") && line.contains("panicked at"));
    let mut shown: BTreeSet<usize> =
        (0..LINES_AT_EACH_END).chain(lines.len().saturating_sub(LINES_AT_EACH_END)..lines.len()).collect();
    shown.extend(panic.into_iter().flat_map(|at| [at, at + 1]));
    let lines = shown.into_iter().filter_map(|at| lines.get(at));
    let lines: Vec<String> =
        lines.map(|line| masked(&line.chars().take(MAX_LINE_CHARACTERS).collect::<String>())).collect();
    lines.join(" | ")
}

/// Returns the non-empty lines, without backtraces of panics and without the hint that enables them.
fn meaningful_lines(text: &str) -> Vec<&str> {
    let (mut lines, mut is_backtrace) = (Vec::new(), false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_frame = (number.len() < line.len() && number.starts_with(':')) || line.starts_with("at ");
        let is_note = line.starts_with("note: run with `RUST_BACKTRACE=") || line.starts_with("note: Some details are");
        is_backtrace = line == "stack backtrace:" || (is_backtrace && (is_frame || is_note));
        if !is_backtrace && !is_note {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_shown_with_and_without_a_backtrace() {
        let panic = "loading\nready\n1\n2\nthread 'main' (4711) panicked at src/a.rs:1:2:\nindex 3 is out of bounds\n";
        let plain = format!("{panic}note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n");
        let frames = "   0: rust_begin_unwind\n             at /rustc/x/lib.rs:5:5\n   1: main\n";
        let note = "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n";
        let expected = "loading | ready | thread 'main' panicked at src/a.rs:1:2: | index 3 is out of bounds";
        assert_eq!(summarize(&plain), expected);
        assert_eq!(summarize(&format!("{panic}stack backtrace:\n{frames}{note}")), expected);
        assert_eq!(summarize(&format!("{panic}stack backtrace:\n{frames}aborting\n")), {
            "loading | ready | thread 'main' panicked at src/a.rs:1:2: | index 3 is out of bounds | aborting"
        });
    }

    #[test]
    fn the_beginning_and_the_end_of_long_output_are_shown() {
        let lines: Vec<String> = (0..100).map(|line| format!("line {line}\n")).collect();
        assert_eq!(summarize(&lines.join("\n")), "line 0 | line 1 | line 98 | line 99");
        assert_eq!(summarize(&"x".repeat(1000)).len(), MAX_LINE_CHARACTERS);
        assert_eq!(summarize(" \n"), "");
    }

    #[test]
    fn varying_details_are_masked() {
        assert_eq!(VARYING.len(), 8);
        for (text, expected) in [
            ("free(): invalid pointer: 0x00007f12ab34cd56", "free(): invalid pointer: 0x?"),
            ("HRESULT 0x80070057", "HRESULT 0x80070057"),
            ("thread 'main' (123) panicked at a.rs:1:2:", "thread 'main' panicked at a.rs:1:2:"),
            ("[pid 77] Thread 12: tid=5", "[pid ?] Thread ?: tid=?"),
            ("==99==ERROR: AddressSanitizer", "==?==ERROR: AddressSanitizer"),
            ("2026-11-22 09:10:11.123456 [E] 3 of 4", "? ? [E] 3 of 4"),
            (r#"{"seq":77,"ok":true}"#, r#"{"seq":N,"ok":true}"#),
            ("cannot read /dev/shm/onnx-conformance-run-Ab3/17/model.onnx", "cannot read model.onnx"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }
}
