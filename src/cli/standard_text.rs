//! The standard's own text of operator versions, read from an installed `onnx` package. It is upstream's and not part of this
//! program.

use std::process::Command;

use anyhow::{Context as _, bail};
use onnx_conformance_harness::escape;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_report::signature::{Row, compare};
use onnx_conformance_report::site::StandardTexts;
use onnx_conformance_subject::Adapters;

use crate::cli::usage::Usage;

/// A Python program that prints the texts of all versions as JSON.
const PROGRAM: &str = include_str!("standard_text.py");

/// Runs the adapters' Python, or the system's, to get the texts.
pub(crate) fn standard_texts() -> anyhow::Result<StandardTexts> {
    let python = Adapters::installed().python;
    let name = python.display().to_string();
    let ran = Command::new(&python).args(["-c", PROGRAM]).output();
    let ran = ran.with_context(|| format!("--text: cannot start {name}, whose onnx package has the text"))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let last = escape::line(said.lines().last().unwrap_or("no error message"));
        bail!(Usage(format!(
            "--text needs an installed onnx package, and {name} has none ({last}); install it with `{name} -m pip \
             install onnx`, or set ONNX_CONFORMANCE_PYTHON to another Python"
        )));
    }
    serde_json::from_slice(&ran.stdout)
        .with_context(|| format!("--text: the output of {name} is not the expected JSON"))
}

/// Returns the lines of a version's text.
pub(crate) fn version_lines<'a>(texts: &'a StandardTexts, version: &OperatorVersion) -> anyhow::Result<&'a [String]> {
    let name = version.qualified();
    let lines = texts.get(&name).with_context(|| {
        format!(
            "--text: the installed onnx package has no {name}; try a newer one: `python -m pip install --upgrade onnx`"
        )
    })?;
    Ok(lines)
}

/// Formats two texts side by side with line numbers, in `width` columns. Equal lines are omitted except one before and after a
/// change.
pub(crate) fn side_by_side(old: &[String], new: &[String], width: usize) -> String {
    let column = width.saturating_sub(17).max(40) / 2;
    let mut text = String::new();
    let line = |lines: &[String], at: Option<usize>| {
        at.and_then(|at| lines.get(at)).map_or("", |line| line.as_str()).to_owned()
    };
    let mut row = |sign: char, left: Option<usize>, right: Option<usize>| {
        let (before, after) = (wrapped(&line(old, left), column), wrapped(&line(new, right), column));
        for at in 0..before.len().max(after.len()).max(1) {
            let number = |place: Option<usize>| match place {
                Some(place) if at == 0 => (place + 1).to_string(),
                _ => String::new(),
            };
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let (sign, left, right) = (if at == 0 { sign } else { ' ' }, number(left), number(right));
            let made = format!("{left:>4} {:<column$} {sign} {right:>4} {}", cell(&before), cell(&after));
            text.push_str(made.trim_end());
            text.push('\n');
        }
    };
    for change in compare(old, new) {
        match change {
            Row::Same { same: (from, to, count) } if count > 3 => {
                row(' ', Some(from), Some(to));
                row('…', None, None);
                row(' ', Some(from + count - 1), Some(to + count - 1));
            }
            Row::Same { same: (from, to, count) } => (0..count).for_each(|at| row(' ', Some(from + at), Some(to + at))),
            Row::Other { old: left, new: right } => {
                let sign = match (&left, &right) {
                    (Some(_), Some(_)) => '|',
                    (Some(_), None) => '<',
                    _ => '>',
                };
                row(sign, left.map(|(at, _)| at), right.map(|(at, _)| at));
            }
        }
    }
    text
}

/// Splits a line into parts of at most `width` characters, at spaces if possible.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    for word in line.split_inclusive(' ') {
        if !part.is_empty() && part.chars().count() + word.trim_end().chars().count() > width {
            parts.push(std::mem::take(&mut part));
        }
        for c in word.chars() {
            if part.chars().count() == width {
                parts.push(std::mem::take(&mut part));
            }
            part.push(c);
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts.into_iter().map(|part| part.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_stand_side_by_side() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (old, new) = (lines("a\nb\nc\nd\nsame\ngone"), lines("a\nb\nc\nd\nother"));
        let text = side_by_side(&old, &new, 97);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["1", "a", "1", "a"]);
        assert_eq!(rows[1], ["…"]);
        assert_eq!(rows[3], ["5", "same", "|", "5", "other"]);
        assert_eq!(rows[4], ["6", "gone", "<"]);
        assert!(side_by_side(&old, &old, 20).lines().all(|line| !line.contains(['<', '>', '|'])));
    }

    #[test]
    fn long_lines_are_cut_at_spaces() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert!(wrapped("", 4).is_empty());
    }
}
