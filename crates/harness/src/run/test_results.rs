//! Results for tests.

use onnx_conformance_cases::case::Level;

use crate::run::{CaseResult, Outcome};

/// Returns the result of a required case.
pub fn result(id: &str, outcome: Outcome) -> CaseResult {
    CaseResult { outcome, ..CaseResult::without_details(id, Outcome::Pass, Level::Required, None) }
}

/// Returns the result of a case that needs a feature which the runtime lacks.
pub fn unsupported(id: &str, what: &str) -> CaseResult {
    CaseResult { missing: Some(what.to_owned()), ..result(id, Outcome::Unsupported) }
}
