//! The outcome of a checker: valid models are accepted, and invalid ones are refused.

use onnx_conformance_cases::case::Case;
use onnx_conformance_subject::{Ended, Host, Response};

use crate::questions;
use crate::run::{CaseResult, Outcome, failure};

/// Judges how a check of a case's model ended. A refusal proves something only if the same model without the violation is accepted.
pub(super) fn judge(case: &Case, ended: Ended, subject: &dyn Host, result: &mut CaseResult) {
    let is_accepted = matches!(ended, Ended::Answered(Response::Valid));
    let Some(refusal) = &case.refusal else {
        if !is_accepted {
            (result.outcome, result.message) = failure(ended, &mut result.missing);
        }
        return;
    };
    match ended {
        Ended::Answered(Response::Valid) => {
            result.outcome = Outcome::Accepted;
            result.message = format!("accepted a model that must be refused: {}", refusal.rule);
            return;
        }
        Ended::Answered(Response::Error { .. } | Response::Unsupported { .. }) => {}
        other => {
            (result.outcome, result.message) = failure(other, &mut result.missing);
            return;
        }
    }
    let control = questions::judge(&refusal.control, subject);
    if control.outcome != Outcome::Pass {
        result.outcome = Outcome::NotApplicable;
        result.message = format!("the control {} ends with {}: {}", control.id, control.outcome, control.message);
        result.missing = control.missing;
    }
}
