//! Tools with every kind of answer, for tests.

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, DataSet, Expected, ExpectedOutput, Named, Variant, vary};
use onnx_conformance_cases::compare::Accuracy;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::Message as _;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Declaration, Ended, Host, Ran, Request, Response};

use crate::questions::judge;
use crate::run::{CaseResult, Outcome};

/// The model of the case, with the part after its inputs.
pub(super) const SUB: &str = "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }";

/// A tool with one answer.
pub(super) struct Tool<F>(pub(super) F);

impl<F: Fn(&Request<'_>) -> Ended + Sync> Host for Tool<F> {
    fn declaration(&self) -> Declaration {
        Declaration::named("tool", "1")
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        (self.0)(request).into()
    }
}

pub(super) fn model(opset: u32, text: &str) -> Bytes {
    let text = format!("<ir_version: 8, opset_import: [\"\" : {opset}, \"com.microsoft\" : 1]> g {text}");
    parse_model(&text).unwrap().encode_to_vec().into()
}

pub(super) fn tensor(values: &[f64]) -> Value {
    Value::Tensor(Tensor::of_floats(ElementType::Float, &[values.len()], values).unwrap())
}

/// Returns the case with the model of `SUB` in a variant.
pub(super) fn case(variant: Variant) -> Case {
    let input = |name: &str, values: &[f64]| Named { name: name.to_owned(), value: tensor(values) };
    let expected = Expected::Value(tensor(&[2.0, -6.0]), Accuracy::Exact);
    let data = DataSet {
        inputs: vec![input("a", &[3.0, -2.0]), input("b", &[1.0, 4.0])],
        outputs: vec![ExpectedOutput { name: "y".to_owned(), expected }],
    };
    vary(&Case::new("ai.onnx/Sub-13/known_values/T=float", model(13, SUB), vec![data]), variant).unwrap()
}

/// Judges a question about the case that ends in this way.
pub(super) fn answered(variant: Variant, ended: &Ended) -> CaseResult {
    judge(&case(variant), &Tool(|_: &Request<'_>| ended.clone()))
}

/// Judges a model as the answer to a question about the case.
pub(super) fn outcome(variant: Variant, model: Bytes) -> Outcome {
    answered(variant, &Ended::Answered(Response::Model(model))).outcome
}
