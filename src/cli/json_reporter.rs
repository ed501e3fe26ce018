//! Reporter for programs: a single JSON value at the end of a run.

use onnx_conformance_harness::expectations::Conclusion;
use onnx_conformance_report::reporter::{Finished, ReportError, Reporter};
use serde_json::json;

use crate::cli::print;

/// Prints the summary of a run as JSON.
#[derive(Debug, Default)]
pub(crate) struct JsonReporter;

impl Reporter for JsonReporter {
    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        let gate = run.gate;
        let counts: serde_json::Map<_, _> =
            gate.summary.counts().map(|(outcome, count)| (outcome.name().to_owned(), count.into())).collect();
        let value = json!({
            "runtime": { "name": run.runtime.name, "version": run.runtime.version },
            "text": run.text,
            "conclusion": match gate.conclusion() {
                Conclusion::AsExpected => "as-expected",
                Conclusion::Improvements => "improvements",
                Conclusion::Regressions => "regressions",
                Conclusion::Broken => "broken",
                Conclusion::NothingJudged => "nothing-judged",
            },
            "cases": gate.summary.total(),
            "outcomes": counts,
            "expected_failures": gate.expected,
            "by_binding": gate.by_binding,
            "unexpected": gate.regressions,
            "better_than_expected": gate.improvements,
            "flaky": gate.flaky,
            "problems": gate.entry_problems.iter().map(ToString::to_string).chain(gate.broken.iter().cloned()).chain(gate.problems.iter().cloned()).collect::<Vec<_>>(),
            "seconds": run.elapsed.as_secs_f64(),
        });
        print::json(&value)
            .map_err(|error| ReportError { place: error.to_string(), error: error.root_cause().to_string().into() })
    }
}
