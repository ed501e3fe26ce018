//! Results for tests.

use onnx_conformance_cases::case::Level;

use crate::run::{CaseResult, Outcome};

/// Returns the result of a required case.
pub fn result(id: &str, outcome: Outcome) -> CaseResult {
    CaseResult {
        id: id.to_owned(),
        outcome,
        message: String::new(),
        inputs: String::new(),
        missing: None,
        ulps: None,
        distance: None,
        flaky: None,
        level: Level::Required,
        class: None,
        judged: None,
        rule: None,
        finding: None,
        evidence: Vec::new(),
        executed_cells: Vec::new(),
        declared_cells: Vec::new(),
        ms: 0.0,
    }
}

/// Returns the result of a case for which the runtime lacks a feature.
pub fn unsupported(id: &str, what: &str) -> CaseResult {
    CaseResult { missing: Some(what.to_owned()), ..result(id, Outcome::Unsupported) }
}
