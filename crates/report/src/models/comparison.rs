//! Comparison of a runtime's output with the expected one, by a bound that suits any computation.

use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_reference::proto::{AttributeProto, NodeProto};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::Output;

use crate::models::closeness::closeness;

/// Absolute tolerance added for cancellation, in unit roundoffs of the type relative to the largest element.
const ROUNDOFFS: f64 = 32.0;

/// Absolute tolerance of computations with several steps of a quantization, relative to the largest element.
const STEPS: f64 = 1.0 / 64.0;

/// Requests an output that has about the size of this value.
pub(super) fn requested_output(name: &str, value: &Value) -> Output {
    let bytes = value.as_tensor().map_or(1 << 20, |tensor| {
        let elements = u64::try_from(tensor.len()).unwrap_or(u64::MAX);
        elements.saturating_mul(16)
    });
    Output::new(name, value.value_type(), bytes)
}

/// Steps of a quantization in the computation of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Steps {
    /// None.
    None,
    /// A single node rounds to steps, so an integer may be one step away.
    One,
    /// Several nodes compute with steps. A step that is rounded the other way changes all that follows.
    Several,
}

impl Steps {
    /// Returns the steps in the computation of these nodes.
    pub(super) fn of_nodes<'a>(nodes: impl Iterator<Item = &'a NodeProto>) -> Steps {
        let (mut count, mut is_any) = (0, false);
        for node in nodes {
            count += 1;
            is_any |= is_quantized(node);
        }
        match (is_any, count) {
            (false, _) => Steps::None,
            (true, 1) => Steps::One,
            (true, _) => Steps::Several,
        }
    }
}

/// Describes the difference of an output from the expected value, if there is one.
pub(super) fn difference(expected: &Value, actual: &Value, steps: Steps) -> Option<String> {
    match compare(expected, actual, &accuracy(expected, steps)) {
        Ok(_) => None,
        Err(_) if steps != Steps::None && is_a_step_away(expected, actual) => None,
        Err(difference) => Some(difference.message),
    }
}

/// Returns true if a node rounds to the steps of a quantization.
fn is_quantized(node: &NodeProto) -> bool {
    node.op_type().contains("Quantize") || node.op_type().contains("QLinear")
}

/// Returns true if the outputs of a node, or of a node in its subgraphs, may be random.
pub(super) fn draws(node: &NodeProto) -> bool {
    let mut graphs = node.attribute.iter().flat_map(AttributeProto::all_graphs);
    Specs::embedded().draws(node.domain(), node.op_type()).is_possible()
        || graphs.any(|graph| graph.node.iter().any(draws))
}

/// Describes a difference in type or shape, if there is one.
pub(super) fn differs_in_kind(expected: &Value, actual: &Value) -> Option<String> {
    let shape = |value: &Value| value.as_tensor().map(|tensor| tensor.shape().to_vec());
    let is_same = expected.value_type() == actual.value_type() && shape(expected) == shape(actual);
    let described = |value: &Value| format!("{} of shape {:?}", value.value_type(), shape(value).unwrap_or_default());
    (!is_same).then(|| format!("expected {}, got {}", described(expected), described(actual)))
}

/// Tolerance of a computation with these steps. Whatever the computation is, elements may cancel.
fn accuracy(expected: &Value, steps: Steps) -> Accuracy {
    let of_steps = if steps == Steps::Several { STEPS } else { 0.0 };
    closeness(expected, |roundoff| (ROUNDOFFS * roundoff).max(of_steps))
}

/// Returns true if integers differ by at most 1: rounding to a quantization step may go either way.
pub(super) fn is_a_step_away(expected: &Value, actual: &Value) -> bool {
    let (Some(expected), Some(actual)) = (expected.as_tensor(), actual.as_tensor()) else { return false };
    let is_same_kind = expected.element_type() == actual.element_type() && expected.shape() == actual.shape();
    is_same_kind
        && expected.element_type().is_integer()
        && expected.indices().into_iter().zip(actual.indices()).all(|(one, other)| one.abs_diff(other) <= 1)
}
