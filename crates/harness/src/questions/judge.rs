//! The outcome of a question about the model of a case.

use onnx_conformance_cases::case::{Case, question_about};
use onnx_conformance_subject::{Ask, Ended, Host, Ran, Request, Response, has_external_data};

use crate::questions::handling::{Judgement, handling};
use crate::questions::metadata;
use crate::run::{CaseResult, Outcome, failure};

/// Sends the question of a case's variant to a subject, and judges the answer.
pub(crate) fn judge(case: &Case, subject: &dyn Host) -> CaseResult {
    let mut result = CaseResult::for_case(case);
    let ask = question_about(case);
    let folder = case.folder.as_deref().filter(|_| has_external_data(&case.model));
    let Ran { ended, flaky } = subject.run(&Request::asking(&case.id, &case.model, folder, ask));
    result.flaky = flaky;
    match (handling(ask.question).map(|handling| handling.judgement), ended) {
        (Some(Judgement::Model(judge_model)), Ended::Answered(Response::Model(model))) => {
            judge_model(case, ask, &model, &mut result);
        }
        (Some(Judgement::Ended(judge_end)), ended) => {
            judge_end(case, ended, &|other: &Case| judge(other, subject), &mut result);
        }
        (_, ended) => (result.outcome, result.message) = without_model(ended, ask, &mut result.missing),
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

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::Variant;

    use super::*;
    use crate::questions::test_tools::answered;

    #[test]
    fn a_tool_that_gives_no_model_has_an_outcome() {
        let is = |ended: Ended| answered(Variant::Optimize, &ended).outcome;
        assert_eq!(is(Ended::Answered(Response::unsupported("conversion", "no"))), Outcome::Unsupported);
        assert_eq!(is(Ended::Answered(Response::load_error("no"))), Outcome::Error);
        assert_eq!(is(Ended::Answered(Response::Valid)), Outcome::ProtocolError);
        assert_eq!(is(Ended::Crash(String::new())), Outcome::Crash);
        assert_eq!(is(Ended::Timeout(String::new())), Outcome::Timeout);
    }
}
