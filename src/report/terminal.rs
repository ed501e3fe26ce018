//! Results for people at a terminal.

use std::fmt::Write;
use std::time::Duration;

use crate::case::Variant;
use crate::run::{CaseResult, Summary, Tally};

/// A case that did not go as expected, and the command that runs it again.
pub fn failure(what: &str, result: &CaseResult, options: &str) -> String {
    let mut text = format!("{what}: {} {}", result.outcome, result.id);
    if !result.message.is_empty() {
        let _ = write!(text, "\n    {}", result.message);
    }
    if !result.inputs.is_empty() {
        let _ = write!(text, "\n    {}", result.inputs);
    }
    let _ = write!(text, "\n    {}", command(&result.id, options));
    text
}

/// The command that runs a case again, with the options that chose the runtime and the form of the case.
pub fn command(id: &str, options: &str) -> String {
    let (id, variant) = match id.rsplit_once('@') {
        Some((id, name)) if Variant::ALL.iter().any(|variant| variant.name() == name) => {
            (id, format!(" --variant {name}"))
        }
        _ => (id, String::new()),
    };
    format!("onnx-conformance run{options}{variant} '{id}'")
}

/// What a run ends with: at most `most` cases of each kind that did not go as expected, and the one line of numbers.
///
/// `options` are those that chose the runtime, for the command that runs a case again.
pub fn closing(tally: &Tally, most: usize, options: &str, elapsed: Duration) -> String {
    let mut lines = Vec::new();
    for (what, results) in [("unexpected", &tally.regressions), ("better than expected", &tally.improvements)] {
        lines.extend(results.iter().take(most).map(|result| failure(what, result, options)));
        if results.len() > most {
            lines.push(format!("... and {} more; --show 0 prints all", results.len() - most));
        }
    }
    lines.extend(tally.broken.iter().map(|error| format!("broken case: {error}")));
    lines.extend(tally.stale.iter().map(|entry| format!("expectation that matches nothing: {entry}")));
    lines.extend(tally.spanning.iter().map(|entry| {
        format!("expectation whose cases have no operator in common; split it, or say `spans_operators: true`: {entry}")
    }));
    for (judged, count) in &tally.summary.judged {
        let cases = if *count == 1 { "case" } else { "cases" };
        lines.push(format!("{count} vendored {cases} judged otherwise (docs/accuracy.md): {}", judged.reason()));
    }
    lines.push(summary(&tally.summary, tally.expected, elapsed));
    lines.join("\n")
}

/// The one line that a run ends with.
pub fn summary(summary: &Summary, expected: usize, elapsed: Duration) -> String {
    let mut text = format!("{} cases", summary.total());
    if summary.total() > 0 {
        let _ = write!(text, ", {}", counts(summary));
    }
    if expected > 0 {
        let _ = write!(text, " ({expected} failures expected)");
    }
    let _ = write!(text, " in {:.2} s", elapsed.as_secs_f64());
    text
}

/// How many cases ended how, best first.
pub fn counts(summary: &Summary) -> String {
    let mut counts: Vec<String> = summary.counts().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    if summary.open > 0 {
        counts.push(format!("{} open", summary.open));
    }
    counts.join(", ")
}
