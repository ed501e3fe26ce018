//! Judgement and answer of a question, as its file defines them.

use bytes::Bytes;
use onnx_conformance_cases::case::Case;
use onnx_conformance_subject::{Ask, Ended, Question, Request, Response};

use crate::questions::HANDLED;
use crate::run::CaseResult;

/// Judgement of a question, and the answer of this project.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handling {
    /// The judgement.
    pub(super) judgement: Judgement,
    /// The answer of this project; `None` if it does not answer the question.
    pub(super) answer: Option<fn(&Request<'_>) -> Response>,
}

/// Judgement of an answer. It gets a result that passes, and changes it if the answer is not right.
#[derive(Clone, Copy, Debug)]
pub(super) enum Judgement {
    /// Judgement of a model. If the question ends without one, that end is the outcome.
    Model(JudgeModel),
    /// Judgement of every end of the question.
    Ended(JudgeEnd),
}

/// Judges the model that a tool made of that of a case.
pub(super) type JudgeModel = fn(&Case, Ask, &Bytes, &mut CaseResult);

/// Judges the end of a question. The function asks the same question about another model, such as the control of a refusal.
pub(super) type JudgeEnd = fn(&Case, Ended, &dyn Fn(&Case) -> CaseResult, &mut CaseResult);

/// Returns the judgement and the answer of a question; `None` for a run.
pub(super) const fn handling(question: Question) -> Option<Handling> {
    let mut at = 0;
    while at < HANDLED.len() {
        let (of, handling) = HANDLED[at];
        if of as usize == question as usize {
            return Some(handling);
        }
        at += 1;
    }
    None
}

/// Fails the build if a question has no file.
const _: () = {
    let mut at = 0;
    while at < Question::ALL.len() {
        let question = Question::ALL[at];
        let is_run = matches!(question, Question::Run);
        assert!(is_run || handling(question).is_some(), "a question has no file in HANDLED");
        at += 1;
    }
};
