//! The outcome of a question about the model of a case.

use onnx_conformance_cases::case::{Case, question_about};
use onnx_conformance_subject::{Ask, Ended, Host, Question, Ran, Request, Response, has_external_data};

use crate::questions::{check, infer, metadata, rewrite};
use crate::run::{CaseResult, Outcome, failure};

/// Sends the question of a case's variant to a subject, and judges the answer.
pub(crate) fn judge(case: &Case, subject: &dyn Host) -> CaseResult {
    let mut result = CaseResult::for_case(case);
    let ask = question_about(case);
    let folder = case.folder.as_deref().filter(|_| has_external_data(&case.model));
    let Ran { ended, flaky } = subject.run(&Request::asking(&case.id, &case.model, folder, ask));
    result.flaky = flaky;
    match ended {
        Ended::Answered(Response::Model(model)) if ask.question == Question::Infer => {
            infer::judge(case, &model, &mut result);
        }
        Ended::Answered(Response::Model(model)) if ask.question.is_answered_by_a_model() => {
            rewrite::judge(case, ask, &model, &mut result);
        }
        other if ask.question == Question::Check => check::judge(case, other, subject, &mut result),
        other => (result.outcome, result.message) = without_model(other, ask, &mut result.missing),
    }
    let is_right = result.outcome == Outcome::Pass && ask.question.is_answered_by_a_model();
    if is_right && metadata::is_asked(&case.id) {
        result.dropped = metadata::dropped(case, folder, ask, subject);
    }
    result
}

/// Returns the outcome of a question that ended without a model.
fn without_model(ended: Ended, ask: Ask, missing: &mut Option<String>) -> (Outcome, String) {
    match ended {
        Ended::Answered(Response::Outputs { .. } | Response::Model(_) | Response::Valid) => {
            (Outcome::ProtocolError, format!("the answer is not that of `{}`", ask.question))
        }
        other => failure(other, missing),
    }
}
