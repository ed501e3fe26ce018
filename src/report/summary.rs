//! A run as markdown, for the summary page of a CI job.

use std::fmt::Write as _;

use crate::report::terminal;
use crate::run::{CaseResult, Conclusion, Tally};
use crate::runtime::Declaration;

/// The most cases that a table has; a page that is too long is cut off by who shows it.
const MOST: usize = 50;

/// The most characters of a message.
const LONGEST: usize = 200;

/// The summary of a run.
pub fn markdown(runtime: &Declaration, tally: &Tally) -> String {
    let verdict = match tally.conclusion() {
        Conclusion::Broken => "❌ cases could not be had",
        Conclusion::Regressions => "❌ regressions",
        Conclusion::Improvements => "⚠️ the expectation file is out of date",
        Conclusion::Nothing => "❌ no case bears on the runtime",
        Conclusion::AsExpected => "✅ as expected",
    };
    let mut text = format!("## ONNX conformance of {} {}: {verdict}\n\n", runtime.name, runtime.version);
    text.push_str("| outcome | cases |\n|---|--:|\n");
    for (outcome, count) in tally.summary.counts() {
        let _ = writeln!(text, "| {outcome} | {count} |");
    }
    if tally.summary.open > 0 {
        let _ = writeln!(text, "| open: recorded, not judged | {} |", tally.summary.open);
    }
    let _ = writeln!(text, "| **all** | **{}** |", tally.summary.total());
    if tally.expected > 0 {
        let _ = writeln!(text, "\n{} failures are expected.", tally.expected);
    }
    table(&mut text, "Regressions", &tally.regressions);
    table(&mut text, "Better than expected", &tally.improvements);
    list(&mut text, "Expectations to change", tally.faults.iter().map(ToString::to_string));
    list(&mut text, "Cases that could not be had", tally.broken.iter().cloned());
    text
}

fn table(text: &mut String, title: &str, results: &[CaseResult]) {
    if results.is_empty() {
        return;
    }
    let _ = write!(text, "\n### {title}: {}\n\n| case | outcome | message |\n|---|---|---|\n", results.len());
    for result in results.iter().take(MOST) {
        let _ = writeln!(text, "| `{}` | {} | {} |", result.id, result.outcome, cell(&result.message));
    }
    if let Some(first) = results.first() {
        let more =
            if results.len() > MOST { format!("... and {} more. ", results.len() - MOST) } else { String::new() };
        let _ = writeln!(text, "\n{more}To run one again: `{}`", terminal::command("onnx-conformance run", &first.id));
    }
}

fn list(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n### {title}: {}\n\n", lines.len());
    for line in lines.iter().take(MOST) {
        let _ = writeln!(text, "- {}", cell(line));
    }
    if lines.len() > MOST {
        let _ = writeln!(text, "- ... and {} more", lines.len() - MOST);
    }
}

/// A text in one line that means nothing else in a table.
fn cell(text: &str) -> String {
    let mut line = String::new();
    for c in text.lines().next().unwrap_or_default().chars().take(LONGEST) {
        match c {
            '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' => line.extend(['\\', c]),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{result, tally};
    use crate::run::Outcome;

    #[test]
    fn a_summary_counts_and_names_what_is_not_expected() {
        let mut failure = result("ai.onnx/Abs-13/x", Outcome::Mismatch);
        failure.message = "a | b\nsecond".to_owned();
        let (tally, _) = tally(&[failure, result("ai.onnx/Abs-13/y", Outcome::Pass)]);
        let text = markdown(&Declaration::named("mine", "1.0"), &tally);
        assert!(text.starts_with("## ONNX conformance of mine 1.0: ❌ regressions\n"), "{text}");
        assert!(text.contains("| mismatch | 1 |\n| **all** | **2** |"), "{text}");
        assert!(text.contains("| `ai.onnx/Abs-13/x` | mismatch | a \\| b |\n"), "{text}");
        let (tally, _) = super::super::tests::tally(&[result("a", Outcome::Pass)]);
        assert!(markdown(&Declaration::named("mine", "1"), &tally).contains("✅ as expected"));
    }
}
