//! Conversion to another opset: the new model is at that opset and has the outputs of the case.

use onnx_conformance_check::convert::{Target, convert_within};
use onnx_conformance_subject::{Request, Response};

use crate::questions::answer::{about_model, encoded};
use crate::questions::handling::{Handling, Judgement};
use crate::questions::rewrite;

/// Judgement and answer.
pub(super) const HANDLING: Handling = Handling { judgement: Judgement::Model(rewrite::judge), answer: Some(answer) };

/// Converts the model.
fn answer(request: &Request<'_>) -> Response {
    let Some(opset) = request.ask.opset else { return Response::load_error("a conversion needs an opset") };
    about_model(request, |model, limits| match convert_within(model, &Target::opset(opset.into()), limits) {
        Ok(conversion) => encoded(&conversion.model),
        Err(refusal) => Response::unsupported(format!("conversion to opset {opset}"), refusal.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use onnx_conformance_cases::case::Variant;
    use onnx_conformance_subject::{Ask, Ended};

    use super::*;
    use crate::questions::judge;
    use crate::questions::test_tools::{SUB, Tool, case, model, outcome};
    use crate::run::Outcome;

    #[test]
    fn a_converted_model_is_at_the_opset_of_the_request() {
        let asked = Mutex::new(Vec::new());
        let tool = Tool(|request: &Request<'_>| {
            asked.lock().unwrap().push(request.ask);
            Ended::Answered(Response::Model(model(14, SUB)))
        });
        assert_eq!(judge(&case(Variant::Upgrade), &tool).outcome, Outcome::Pass);
        assert_eq!(judge(&case(Variant::Downgrade), &tool).outcome, Outcome::WrongOpset);
        let opsets: Vec<Option<u32>> = asked.into_inner().unwrap().iter().map(|ask: &Ask| ask.opset).collect();
        assert_eq!(opsets, [Some(14), Some(12)]);
        assert_eq!(outcome(Variant::Upgrade, model(13, SUB)), Outcome::WrongOpset);
    }
}
