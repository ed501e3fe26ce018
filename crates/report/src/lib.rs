//! Consumers of results: the terminal and report files.

pub mod badge;
pub mod case_json;
pub mod checkers;
pub mod ci_summary;
pub mod colours;
pub mod compare;
pub mod conformance_badge;
pub mod coverage;
pub mod describe_case;
pub mod diff;
pub mod graph_faults;
pub mod issue;
pub mod json_format;
pub mod junit;
pub mod known_graphs;
pub mod model_reports;
pub mod models;
pub mod operator;
pub mod overview;
pub mod picture;
pub mod reporter;
pub mod signature;
pub mod site;
pub mod specification;
pub mod terminal;
pub mod tool_fault;
pub mod tool_overview;
pub mod tools;
pub mod traps;
pub mod version_changes;
mod version_changes_text;
pub mod version_history;

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::Variant;
    use onnx_conformance_cases::suite::Filter;
    use onnx_conformance_harness::expectations::{ExpectationMatcher, Expectations, GateResult, Scope, Verdict};
    use onnx_conformance_harness::run::{CaseResult, Outcome, test_results};
    use onnx_conformance_subject::Declaration;

    /// Creates the result of a required case.
    pub(super) fn result(id: &str, outcome: Outcome) -> CaseResult {
        CaseResult { ms: 1.0, ..test_results::result(id, outcome) }
    }

    /// Returns the gate result if every case is expected to pass.
    pub(super) fn gate_result(results: &[CaseResult]) -> (GateResult, Vec<(CaseResult, Verdict)>) {
        let matcher = ExpectationMatcher::new(Expectations::empty("a"), &Declaration::named("a", "1"), false).unwrap();
        let mut gate_result = GateResult::default();
        let judge = |result: &CaseResult| (result.clone(), gate_result.add_result(result, &matcher));
        let judged = results.iter().map(judge).collect();
        gate_result.finish(&matcher, &Scope { filter: Some(&Filter::default()), variant: Variant::Runtime });
        (gate_result, judged)
    }
}
