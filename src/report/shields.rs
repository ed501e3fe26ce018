//! What shields.io makes a badge from (its "endpoint" schema).

use serde_json::json;

use crate::run::{Conclusion, Outcome, Tally};

/// The badge of a run: how many of the cases that were put to the runtime passed.
pub fn endpoint(tally: &Tally) -> String {
    let passed = tally.summary.count(Outcome::Pass);
    let judged: usize =
        tally.summary.counts().filter(|(outcome, _)| !outcome.is_silent()).map(|(_, count)| count).sum();
    let color = match tally.conclusion() {
        Conclusion::Broken | Conclusion::Nothing => "lightgrey",
        Conclusion::Regressions => "red",
        _ if passed == judged => "brightgreen",
        _ => "green",
    };
    let message = format!("{passed} of {judged} cases pass");
    let badge = json!({"schemaVersion": 1, "label": "ONNX conformance", "message": message, "color": color});
    format!("{badge}\n")
}
