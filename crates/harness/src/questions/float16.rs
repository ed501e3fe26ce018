//! Conversion to half precision: the outputs differ by less than a twentieth of the largest element.

use bytes::Bytes;
use onnx_conformance_cases::case::Case;
use onnx_conformance_check::convert::half::{HalfRequest, to_half};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_subject::{Ask, Builtin, Request, Response};

use crate::questions::answer::{about_model, encoded};
use crate::questions::half::{Half, compare_converted};
use crate::questions::handling::{Handling, Judgement};
use crate::questions::rewrite;
use crate::run::CaseResult;

/// Judgement and answer.
pub(super) const HANDLING: Handling = Handling { judgement: Judgement::Model(judge), answer: Some(answer) };

/// The type: 11 bits of precision.
const HALF: Half =
    Half { element: ElementType::Float16, tolerance: 0.05, largest: 65_504.0, smallest_normal: 6.104e-5 };

/// Compares the outputs of the converted model with those of the original one.
fn judge(case: &Case, ask: Ask, model: &Bytes, result: &mut CaseResult) {
    let compare_outputs =
        |case: &Case, model: &Bytes, host: &Builtin| -> CaseResult { compare_converted(HALF, case, model, host) };
    rewrite::judge_by(&compare_outputs, (case, ask), model, result);
}

/// Converts the model.
fn answer(request: &Request<'_>) -> Response {
    about_model(request, |model, limits| match to_half(model, &HalfRequest::new(HALF.element), limits) {
        Ok(half) => encoded(&half.model),
        Err(error) => Response::unsupported("conversion to float16", error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::Variant;

    use crate::questions::test_tools::{model, outcome};
    use crate::run::Outcome;

    #[test]
    fn a_model_in_half_precision_computes_nearly_the_same() {
        let half = "(float16[2] a, float16[2] b) => (float16[2] y) { y = Sub (a, b) }";
        assert_eq!(outcome(Variant::Float16, model(13, half)), Outcome::Pass);
        let wrong = "(float16[2] a, float16[2] b) => (float16[2] y) { y = Add (a, b) }";
        assert_eq!(outcome(Variant::Float16, model(13, wrong)), Outcome::Mismatch);
        let mixed = "(float16[2] a, float[2] b) => (float16[2] y) { y = Sub (a, b) }";
        assert_eq!(outcome(Variant::Float16, model(13, mixed)), Outcome::InvalidModel);
        let double = "(float16[2] a, float16[2] b) => (int32[2] y) { d = Sub (a, b) y = Cast <to = 6> (d) }";
        assert_eq!(outcome(Variant::Float16, model(13, double)), Outcome::WrongType);
    }
}
