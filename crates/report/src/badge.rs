//! Badge: JSON for a shields.io endpoint badge (<https://shields.io/badges/endpoint-badge>).

use serde_json::json;

use onnx_conformance_harness::run::{Outcome, Summary};
use onnx_conformance_subject::Declaration;

/// Returns a badge with the share of passing cases among those that were given to the runtime and judged.
pub fn badge(runtime: &Declaration, summary: &Summary) -> String {
    let judged: usize =
        summary.counts().filter(|(outcome, _)| !outcome.is_inconclusive()).map(|(_, count)| count).sum();
    let passed = summary.count(Outcome::Pass);
    let share = if judged == 0 { 0.0 } else { passed as f64 * 100.0 / judged as f64 };
    let color = match share {
        share if share >= 99.0 => "brightgreen",
        share if share >= 90.0 => "green",
        share if share >= 75.0 => "yellow",
        share if share >= 50.0 => "orange",
        _ => "red",
    };
    // Rounded down, so that 100 % means that every case passes.
    let message = format!("{:.1} % of {judged} cases", (share * 10.0).floor() / 10.0);
    let label = format!("ONNX conformance, {} {}", runtime.name, runtime.version);
    json!({ "schemaVersion": 1, "label": label, "message": message, "color": color }).to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_judged_is_no_success() {
        let badge = badge(&Declaration::named("any", "1"), &Summary::default());
        assert!(badge.contains("0.0 % of 0 cases") && badge.contains("\"red\""), "{badge}");
    }
}
