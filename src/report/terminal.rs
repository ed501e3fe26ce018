//! Results for people at a terminal.

use std::fmt::Write;
use std::time::Duration;

use crate::run::{CaseResult, Summary};

/// A case that did not go as expected, and the command that runs it again.
pub fn failure(what: &str, result: &CaseResult) -> String {
    let mut text = format!("{what}: {} {}", result.outcome, result.id);
    if !result.message.is_empty() {
        let _ = write!(text, "\n    {}", result.message);
    }
    let _ = write!(text, "\n    onnx-conformance run '{}'", result.id);
    text
}

/// The one line that a run ends with.
pub fn summary(summary: &Summary, expected: usize, elapsed: Duration) -> String {
    let mut text = format!("{} cases", summary.total());
    for (outcome, count) in summary.counts() {
        let _ = write!(text, ", {count} {outcome}");
    }
    if summary.open > 0 {
        let _ = write!(text, ", {} open", summary.open);
    }
    if expected > 0 {
        let _ = write!(text, " ({expected} failures expected)");
    }
    let _ = write!(text, " in {:.2} s", elapsed.as_secs_f64());
    text
}
