//! Results as terminal text.

use std::fmt::Write;
use std::time::Duration;

use onnx_conformance_cases::compare::Distance;
use onnx_conformance_cases::suite::release_key;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::GateResult;
use onnx_conformance_harness::failures::{Grouping, Show, failures};
use onnx_conformance_harness::run::{CaseResult, OfRelease, Outcome, Summary};
use onnx_conformance_subject::Declaration;

use crate::colours::{BAD, GOOD};

/// Grouping of failures, as an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// By what failing cases of several operators have in common
    Cause,
    /// By operator version and message
    Operator,
    /// Each case on its own
    Case,
}

impl From<By> for Grouping {
    fn from(by: By) -> Grouping {
        match by {
            By::Cause => Grouping::Cause,
            By::Operator => Grouping::Operator,
            By::Case => Grouping::Case,
        }
    }
}

/// Formats the name and the version of a runtime.
pub fn runtime(runtime: &Declaration) -> String {
    escape::line(&format!("{} {}", runtime.name, runtime.version)).into_owned()
}

/// Formats the errors of cases that could not be loaded. Equal errors, such as those of a damaged archive, are one line.
fn broken_cases(errors: &[String]) -> Vec<String> {
    let mut errors: Vec<&str> = errors.iter().map(String::as_str).collect();
    errors.sort_unstable();
    let line = |same: &[&str]| {
        let what = if let [_] = same { "broken case".to_owned() } else { format!("{} broken cases", same.len()) };
        same.first().map(|error| format!("{BAD}{what}{BAD:#}: {}", escape::message(error)))
    };
    errors.chunk_by(|a, b| a == b).filter_map(line).collect()
}

/// Formats the end of a run in colour: the unexpected results, the problems of the expectations, and the summary line.
pub fn closing(gate_result: &GateResult, show: &Show, elapsed: Duration) -> String {
    let mut lines = Vec::new();
    lines.extend(failures(&format!("{BAD}unexpected{BAD:#}"), &gate_result.regressions, show));
    lines.extend(failures(&format!("{GOOD}better than expected{GOOD:#}"), &gate_result.improvements, show));
    lines.extend(gate_result.flaky.iter().take(show.most).map(CaseResult::flaky_note));
    if gate_result.flaky.len() > show.most {
        lines.push(format!("... and {} more flaky; --show 0 prints all", gate_result.flaky.len() - show.most));
    }
    lines.extend(broken_cases(&gate_result.broken));
    lines.extend(
        gate_result
            .entry_problems
            .iter()
            .take(show.most)
            .map(|problem| escape::line(&problem.to_string()).into_owned()),
    );
    if gate_result.entry_problems.len() > show.most {
        lines.push(format!(
            "... and {} more expectations; --show 0 prints all",
            gate_result.entry_problems.len() - show.most
        ));
    }
    for (judged, count) in &gate_result.summary.judged {
        let cases = if *count == 1 { "case" } else { "cases" };
        lines.push(format!(
            "{count} vendored {cases} judged by another rule than upstream's ({}): {}",
            judged.document(),
            judged.reason()
        ));
    }
    if gate_result.summary.releases.len() > 1 {
        let mut releases: Vec<_> = gate_result.summary.releases.iter().collect();
        releases.sort_by_key(|(release, _)| release_key(release.trim_start_matches("onnx-")));
        lines.extend(releases.into_iter().map(|(release, OfRelease { total, passed, open })| {
            let release = escape::line(release);
            format!("{release}: {total} cases, {passed} pass, {} do not, {open} open", total - passed - open)
        }));
    }
    for (class, (total, passed)) in &gate_result.summary.refusals {
        lines.push(format!("{class}: {passed} of {total} cases that must be refused pass"));
    }
    lines.push(summary(gate_result, elapsed));
    lines.join("\n")
}

/// Formats the summary line of a run.
pub fn summary(gate_result: &GateResult, elapsed: Duration) -> String {
    let GateResult { summary, expected, by_binding, .. } = gate_result;
    let mut text = format!("{} cases", summary.total());
    if summary.total() > 0 {
        let _ = write!(text, ", {}", counts(summary));
    }
    if *expected > 0 {
        let binding = if *by_binding > 0 { format!(", {by_binding} by the binding") } else { String::new() };
        let _ = write!(text, " ({expected} failures expected{binding})");
    }
    let _ = write!(text, " in {:.2} s", elapsed.as_secs_f64());
    text
}

/// Formats the number of cases per outcome, best first.
pub fn counts(summary: &Summary) -> String {
    let near: Vec<String> = [Distance::LastBits, Distance::Small]
        .into_iter()
        .map(|distance| (summary.distance(distance), distance))
        .filter(|(count, _)| *count > 0)
        .map(|(count, distance)| format!("{count} {distance}"))
        .collect();
    let count_of = |(outcome, count): (Outcome, usize)| match outcome {
        Outcome::Mismatch if !near.is_empty() => format!("{count} {outcome} ({})", near.join(", ")),
        _ => format!("{count} {outcome}"),
    };
    let mut counts: Vec<String> = summary.counts().map(count_of).collect();
    if summary.open > 0 {
        counts.push(format!("{} open", summary.open));
    }
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_errors_of_cases_are_one_line() {
        let lines = broken_cases(&["block 0 is damaged", "no model", "block 0 is damaged"].map(str::to_owned));
        let [damaged, other] = lines.as_slice() else { panic!("{lines:?}") };
        assert!(damaged.contains("2 broken cases") && damaged.ends_with(": block 0 is damaged"), "{damaged}");
        assert!(other.contains("broken case") && !other.contains("cases") && other.ends_with(": no model"), "{other}");
    }
}
