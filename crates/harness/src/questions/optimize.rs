//! Optimization: the new model has the outputs of the case. This project does not optimize.

use crate::questions::handling::{Handling, Judgement};
use crate::questions::rewrite;

/// Judgement and answer.
pub(super) const HANDLING: Handling = Handling { judgement: Judgement::Model(rewrite::judge), answer: None };

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use onnx_conformance_cases::case::{Case, Expected, Variant};
    use onnx_conformance_cases::compare::Accuracy;
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::{Message as _, ModelProto};
    use onnx_conformance_subject::{Ended, Request, Response};

    use crate::questions::judge;
    use crate::questions::test_tools::{SUB, Tool, case, model, outcome, tensor};
    use crate::run::Outcome;

    #[test]
    fn a_rewritten_model_is_valid_and_computes_the_same() {
        let is = |text: &str| outcome(Variant::Optimize, model(13, text));
        assert_eq!(is(SUB), Outcome::Pass);
        assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { n = Neg (b) y = Add (a, n) }"), Outcome::Pass);
        assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { y = Sub (b, a) }"), Outcome::Mismatch);
        assert_eq!(is("(float[2] b, float[2] a) => (float[2] y) { y = Sub (a, b) }"), Outcome::WrongInterface);
        assert_eq!(is("(float[2] a, float[2] b) => (float[2] z) { z = Sub (a, b) }"), Outcome::WrongInterface);
        assert_eq!(is("(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, c) }"), Outcome::InvalidModel);
        let foreign = "(float[2] a, float[2] b) => (float[2] y) { y = com.microsoft.X (a, b) }";
        assert_eq!(is(foreign), Outcome::NotApplicable);
        assert_eq!(outcome(Variant::Optimize, Bytes::from_static(b"no model")), Outcome::InvalidModel);
        assert_eq!(outcome(Variant::Optimize, Bytes::new()), Outcome::InvalidModel);
    }

    #[test]
    fn a_case_that_the_executor_fails_accuses_no_tool() {
        let mut failed = case(Variant::Optimize);
        failed.data[0].outputs[0].expected = Expected::Value(tensor(&[2.0, -7.0]), Accuracy::Exact);
        for (text, expected) in [
            (SUB, Outcome::NotApplicable),
            ("(float[2] a, float[2] b) => (float[2] z) { z = Sub (a, b) }", Outcome::WrongInterface),
        ] {
            let answer = Ended::Answered(Response::Model(model(13, text)));
            assert_eq!(judge(&failed, &Tool(|_: &Request<'_>| answer.clone())).outcome, expected, "{text}");
        }
    }

    #[test]
    fn a_function_that_is_lost_is_a_fault() {
        let text = r#"<ir_version: 8, opset_import: ["" : 13, "own" : 1]> g (float[2] a, float[2] b) => (float[2] y) { y = own.f (a, b) }
            <domain: "own", opset_import: ["" : 13]> f (v, w) => (z) { z = Sub (v, w) }"#;
        let whole = parse_model(text).unwrap();
        let mut lost = whole.clone();
        lost.functions.clear();
        let asked = Case { model: whole.encode_to_vec().into(), ..case(Variant::Optimize) };
        let judged = |model: &ModelProto| {
            let answer: Bytes = model.encode_to_vec().into();
            judge(&asked, &Tool(|_: &Request<'_>| Ended::Answered(Response::Model(answer.clone())))).outcome
        };
        assert_eq!((judged(&whole), judged(&lost)), (Outcome::Pass, Outcome::InvalidModel));
    }
}
