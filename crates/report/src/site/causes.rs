//! Causes of the failures in a results file, for the page of its runtime.

use std::fmt::Write as _;

use onnx_conformance_harness::escape;
use onnx_conformance_harness::failures::{Cause, causes, model_line, plural};
use onnx_conformance_harness::run::{CaseResult, Outcome};
use serde::Serialize;

/// Maximum number of causes on a page.
const MAX_SHOWN: usize = 100;

/// Causes of all failures in a results file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FailureCauses {
    /// Numbers of failures and causes, and the share that the shown causes explain.
    pub(crate) summary: String,
    /// Number of causes.
    #[serde(rename = "all")]
    pub(crate) count: usize,
    /// The causes with the most failures.
    pub(crate) shown: Vec<FailureCause>,
}

/// A cause, as `run` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FailureCause {
    /// The outcome of its cases.
    pub(crate) outcome: &'static str,
    /// The common message, or the operator.
    pub(crate) title: String,
    /// Cases, operators, and the operators that would be right without it.
    pub(crate) extent: String,
    /// The id of its smallest case.
    pub(crate) example: String,
    /// First line of the message of this case.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) message: String,
    /// Nodes and inputs of this case.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) model: String,
}

impl FailureCauses {
    /// Groups the failures among results; `None` if there are none. Cases that the standard leaves open count only if they end without
    /// an answer.
    pub(crate) fn from_results(results: &[CaseResult]) -> Option<FailureCauses> {
        let is_failure = |result: &&CaseResult| result.counts_when_strict() && result.outcome != Outcome::Pass;
        let failures: Vec<CaseResult> = results.iter().filter(is_failure).cloned().collect();
        let all = causes(&failures);
        let mut summary = format!("{} with {}", plural(failures.len(), "failure"), plural(all.len(), "cause"));
        if all.len() > MAX_SHOWN {
            let explained = all.iter().take(MAX_SHOWN).map(|cause| cause.cases.len()).sum::<usize>();
            let _ = write!(summary, "; the first {MAX_SHOWN} explain {} %", 100 * explained / failures.len());
        }
        let shown = all.iter().take(MAX_SHOWN).filter_map(FailureCause::new).collect();
        (!all.is_empty()).then_some(FailureCauses { summary, count: all.len(), shown })
    }
}

impl FailureCause {
    fn new(cause: &Cause<'_>) -> Option<FailureCause> {
        let example = cause.cases.first()?;
        let message = escape::message(&example.message).lines().next().unwrap_or_default().to_owned();
        let title = escape::message(&cause.title);
        Some(FailureCause {
            outcome: cause.outcome.name(),
            extent: cause.extent(),
            example: example.id.clone(),
            message: if message == title { String::new() } else { message },
            title,
            model: model_line(example),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::run::test_results::result;

    #[test]
    fn failures_of_one_operator_have_one_cause() {
        let failed = |id: &str, outcome, message: &str| CaseResult {
            message: message.to_owned(),
            nodes: "y = Abs (x)".to_owned(),
            ..result(id, outcome)
        };
        let results = [
            failed("ai.onnx/Abs-13/a/T=float", Outcome::Mismatch, "element 3: expected 1, got 2"),
            failed("ai.onnx/Abs-6/longer/T=float", Outcome::Mismatch, "element 0: expected 4, got 2"),
            failed("ai.onnx/Neg-6/a/T=float", Outcome::Error, "no kernel"),
            result("ai.onnx/Neg-6/b/T=float", Outcome::Pass),
            result("ai.onnx/Neg-6/c/T=float", Outcome::NotDeclared),
        ];
        let found = FailureCauses::from_results(&results).unwrap();
        assert_eq!((found.summary.as_str(), found.count), ("3 failures with 2 causes", 2));
        let [wrong, error] = &found.shown[..] else { panic!("{found:?}") };
        assert_eq!(
            *wrong,
            FailureCause {
                outcome: "mismatch",
                title: "ai.onnx/Abs".to_owned(),
                extent: "2 cases; without it 1 operator is right".to_owned(),
                example: "ai.onnx/Abs-13/a/T=float".to_owned(),
                message: "element 3: expected 1, got 2".to_owned(),
                model: "y = Abs (x)".to_owned(),
            }
        );
        assert_eq!((error.title.as_str(), error.message.as_str()), ("no kernel", ""));
        assert_eq!(FailureCauses::from_results(&results[3..]), None);
    }
}
