//! Checks: valid models are accepted, and invalid ones are refused.

use onnx_conformance_cases::case::Case;
use onnx_conformance_check::{Folder, Level, Limits, check};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::decode::ExternalData as _;
use onnx_conformance_subject::{Ended, FolderData, Request, Response};

use crate::questions::handling::{Handling, Judgement};
use crate::run::{CaseResult, Outcome, failure};

/// Judgement and answer.
pub(super) const HANDLING: Handling = Handling { judgement: Judgement::Ended(judge), answer: Some(answer) };

/// Judges how a check of a case's model ended. A refusal proves something only if the same model without the violation is accepted.
fn judge(case: &Case, ended: Ended, judge_other: &dyn Fn(&Case) -> CaseResult, result: &mut CaseResult) {
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
    let control = judge_other(&refusal.control);
    if control.outcome != Outcome::Pass {
        result.outcome = Outcome::NotApplicable;
        result.message = format!("the control {} ends with {}: {}", control.id, control.outcome, control.message);
        result.missing = control.missing;
    }
}

/// Checks the model, which may have files with external data.
fn answer(request: &Request<'_>) -> Response {
    let files = Files(FolderData::new(request.folder, Deadline::never()));
    let report = check(request.model.as_ref(), Some(&files), &Limits::default());
    let error = report.findings.iter().find(|finding| finding.level == Level::Error);
    error.map_or(Response::Valid, |finding| Response::load_error(finding.to_string()))
}

/// The files next to a model.
struct Files(FolderData);

impl Folder for Files {
    fn size_of(&self, location: &str) -> Option<u64> {
        self.0.size(location).ok()
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::{Refusal, Variant, vary};

    use super::*;
    use crate::questions;
    use crate::questions::test_tools::{Tool, answered, case, model};

    #[test]
    fn a_checker_accepts_what_is_valid_and_refuses_what_is_not() {
        let (valid, error) = (Ended::Answered(Response::Valid), Ended::Answered(Response::load_error("no")));
        assert_eq!(answered(Variant::Check, &valid).outcome, Outcome::Pass);
        assert_eq!(answered(Variant::Check, &error).outcome, Outcome::Error);
        let control = Box::new(Case { id: "ai.onnx/Sub-13/refuse/x/control".to_owned(), ..case(Variant::Check) });
        let refusal = Some(Refusal { rule: "a rule".to_owned(), control, only_at_run_time: false });
        let broken = model(13, "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a) }");
        let plain = Case { refusal, ..Case::new("ai.onnx/Sub-13/refuse/x", broken.clone(), Vec::new()) };
        let refused = vary(&plain, Variant::Check).unwrap();
        let is = |ended: &Ended| questions::judge(&refused, &Tool(|_: &Request<'_>| ended.clone())).outcome;
        assert_eq!(is(&valid), Outcome::Accepted);
        assert_eq!(is(&error), Outcome::NotApplicable);
        let right = Tool(|request: &Request<'_>| if *request.model == broken { error.clone() } else { valid.clone() });
        assert_eq!(questions::judge(&refused, &right).outcome, Outcome::Pass);
        assert!(vary(&plain, Variant::Optimize).is_none(), "a tool that rewrites gets valid models");
    }
}
