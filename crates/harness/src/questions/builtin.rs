//! The answers of this project, as those of a tool.

use onnx_conformance_subject::{Builtin, Declaration, Ended, Host, Question, Ran, Request, Response, catch_panics};

use crate::questions::handling::handling;

/// The built-in executor, with the tools of this project, which answer questions about models.
#[derive(Debug)]
pub struct BuiltinTools(pub Builtin);

impl BuiltinTools {
    /// Returns true if this project answers a question.
    pub const fn answers(question: Question) -> bool {
        match handling(question) {
            Some(handling) => handling.answer.is_some(),
            None => true,
        }
    }
}

impl Host for BuiltinTools {
    fn declaration(&self) -> Declaration {
        let does = Question::ALL.into_iter().filter(|question| BuiltinTools::answers(*question)).collect();
        Declaration { does: Some(does), ..self.0.declaration() }
    }

    fn jobs(&self) -> Option<usize> {
        self.0.jobs()
    }

    fn refuses_memory(&self) -> bool {
        self.0.refuses_memory()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        let question = request.ask.question;
        if question == Question::Run {
            return self.0.run(request);
        }
        let Some(answer) = handling(question).and_then(|handling| handling.answer) else {
            return Ended::Answered(Response::load_error(format!("no answer to `{question}`"))).into();
        };
        catch_panics(|| Ended::Answered(answer(request))).unwrap_or_else(|ended| ended).into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use onnx_conformance_cases::case::Variant;

    use super::*;
    use crate::questions::judge;
    use crate::questions::test_tools::case;
    use crate::run::Outcome;

    #[test]
    fn the_tools_of_this_project_answer() {
        let tools = BuiltinTools(Builtin::new(Duration::from_mins(1)));
        let is_answered = |question: Question| question != Question::Run && tools.declaration().answers(question);
        let answered: Vec<Variant> =
            Variant::ALL.into_iter().filter(|variant| is_answered(variant.question())).collect();
        assert!(answered.contains(&Variant::Check) && !answered.contains(&Variant::Runtime), "{answered:?}");
        for variant in answered {
            let result = judge(&case(variant), &tools);
            assert_eq!(result.outcome, Outcome::Pass, "{variant}: {}", result.message);
        }
    }
}
