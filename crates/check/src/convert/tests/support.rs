//! Small models that are converted: their edits, and the outputs of both models.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{Message as _, ModelProto, NodeProto};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::convert::{Target, convert};

pub(super) fn target(opset: i64) -> Target {
    Target::opset(opset)
}

/// Runs the model on the input `x`, a float tensor with elements -3, -2 and so on.
pub(in crate::convert) fn outputs(model: &ModelProto, shape: &[usize]) -> Vec<Value> {
    let values: Vec<f64> = (0..shape.iter().product::<usize>()).map(|at| at as f64 - 3.0).collect();
    let x = Tensor::of_floats(ElementType::Float, shape, &values).unwrap();
    let bytes = model.encode_to_vec().into();
    let model = read_model(bytes, &NoExternalData, &LoadLimits::default()).unwrap_or_else(|error| panic!("{error}"));
    let inputs = BTreeMap::from([("x".to_owned(), Value::Tensor(x))]);
    run(&model, inputs, ExecutionLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Converts a model with one input `x` of this shape; compares the edits of nodes, and the outputs of both models.
pub(super) fn check(text: &str, opset: i64, shape: &[usize], expected: &[&str]) {
    let model = parse_model(text).unwrap();
    let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let edits: Vec<String> =
        conversion.edits.iter().filter(|edit| !edit.concerns_model()).map(|edit| edit.text.clone()).collect();
    assert_eq!(edits, expected, "{text}");
    assert_near(&outputs(&model, shape), &outputs(&conversion.model, shape));
}

/// Checks that the values are equal up to one rounding in another kernel.
pub(in crate::convert) fn assert_near(expected: &[Value], actual: &[Value]) {
    assert_eq!(expected.len(), actual.len());
    for (expected, actual) in expected.iter().zip(actual) {
        let [expected, actual] = [expected, actual].map(|value| value.as_tensor().unwrap());
        assert_eq!(expected.shape(), actual.shape());
        for (expected, actual) in expected.floats().into_iter().zip(actual.floats()) {
            let is_near = (expected - actual).abs() <= 1e-6 || (expected.is_nan() && actual.is_nan());
            assert!(is_near, "{expected} {actual}");
        }
    }
}

pub(super) fn refused(text: &str, target: &Target, expected: &str) {
    let refusal = convert(&parse_model(text).unwrap(), target).expect_err(text);
    assert_eq!(refusal.to_string(), expected);
}

/// Converts a model with one float input `x` and compares the operators and the outputs of both models.
pub(super) fn check_expanded(text: &str, opset: i64, shape: &[usize], operators: &[&str]) {
    let model = parse_model(text).unwrap();
    let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let nodes = conversion.model.graph.iter().flat_map(|graph| &graph.node).map(NodeProto::op_type);
    assert_eq!(nodes.filter(|name| *name != "Constant").collect::<Vec<&str>>(), operators, "{text}");
    assert_near(&outputs(&model, shape), &outputs(&conversion.model, shape));
}
