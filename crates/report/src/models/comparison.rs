//! Comparison of a runtime's output with the expected one, by a bound that suits any computation.

use onnx_conformance_cases::compare::{Accuracy, compare};
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, NodeProto};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::Output;

use crate::models::closeness::{closeness, half_type};

/// Absolute tolerance added for cancellation, in unit roundoffs of the type relative to the largest element.
const ROUNDOFFS: f64 = 32.0;

/// Absolute tolerance of computations with one quantization and further nodes, relative to the largest element. With
/// several quantizations, it grows with the square root of their number, since they round in either direction.
const STEPS: f64 = 1.0 / 64.0;

/// Largest tolerance of computations with quantizations, relative to the largest element.
const MOST_STEPS: f64 = 1.0 / 8.0;

/// Largest difference of all elements after several quantizations, relative to the elements, as root mean squares.
/// Roundings in either direction average out, but a wrong factor does not.
const MOST_DEVIATION: f64 = 1.0 / 32.0;

/// Allowed difference of 8-bit integers in steps, after several nodes, one of them quantizing: 1/64 of their range.
const BYTE_STEPS: u128 = 4;

/// Returns true if a float output has only NaN, or no elements. Inputs that are too small for a model give such outputs, and runtimes
/// differ on them.
pub fn is_degenerate(outputs: &[Value]) -> bool {
    let floats = outputs.iter().filter_map(Value::as_tensor).filter(|tensor| tensor.element_type().is_float());
    floats.into_iter().any(|tensor| tensor.stream(Tensor::floats).all(f64::is_nan))
}

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
    /// Several nodes compute with steps; this many of them quantize. A step that is rounded in the other direction
    /// changes everything after it.
    Several(u32),
}

impl Steps {
    /// Returns the steps in the computation of these nodes.
    pub(super) fn of_nodes<'a>(nodes: impl Iterator<Item = &'a NodeProto>) -> Steps {
        let (mut count, mut quantized) = (0_u32, 0_u32);
        for node in nodes {
            count = count.saturating_add(1);
            quantized = quantized.saturating_add(u32::from(is_quantized(node)));
        }
        match (quantized, count) {
            (0, _) => Steps::None,
            (_, 1) => Steps::One,
            (quantized, _) => Steps::Several(quantized),
        }
    }

    /// Returns the tolerance of floats, relative to the largest element.
    fn of_floats(self) -> f64 {
        match self {
            Steps::None | Steps::One => 0.0,
            Steps::Several(quantized) => (STEPS * f64::from(quantized).sqrt()).min(MOST_STEPS),
        }
    }

    /// Returns the allowed difference of integers in steps.
    fn of_integers(self, element: ElementType) -> u128 {
        match self {
            Steps::None => 0,
            Steps::Several(_) if element.bits() == 8 => BYTE_STEPS,
            Steps::One | Steps::Several(_) => 1,
        }
    }
}

/// Roundings in the computation of an output that are coarser than its type's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roundings {
    /// Steps of a quantization.
    pub(super) steps: Steps,
    /// Coarsest float type of 16 bits in the computation.
    pub(super) half: Option<ElementType>,
    /// Absolute tolerance of the operator that computes the output.
    pub(super) absolute: f64,
}

impl Roundings {
    /// Returns the roundings of a graph.
    pub(super) fn of_graph(graph: &GraphProto) -> Roundings {
        Roundings { steps: Steps::of_nodes(graph.node.iter()), half: half_type(graph), absolute: 0.0 }
    }

    /// Returns these roundings with one quantization instead of several.
    fn of_one_quantization(self) -> Roundings {
        let steps = match self.steps {
            Steps::Several(2..) => Steps::Several(1),
            steps => steps,
        };
        Roundings { steps, ..self }
    }
}

/// Describes the difference of an output from the expected value, if there is one.
pub(super) fn difference(expected: &Value, actual: &Value, roundings: Roundings) -> Option<String> {
    // The tolerance of one quantization is smaller than that of several, and decides most comparisons.
    let of_one = roundings.of_one_quantization();
    let mut difference = compare(expected, actual, &accuracy(expected, of_one)).err()?;
    if of_one.steps != roundings.steps {
        match compare(expected, actual, &accuracy(expected, roundings)) {
            Ok(_) => return deviation(expected, actual),
            Err(wider) => difference = wider,
        }
    }
    let most = roundings.steps.of_integers(expected.value_type().element_type());
    (!are_steps_away(expected, actual, most)).then_some(difference.message)
}

/// Describes the difference of all elements together after several quantizations, if roundings do not explain it.
fn deviation(expected: &Value, actual: &Value) -> Option<String> {
    let (expected, actual) = (expected.as_tensor()?.floats(), actual.as_tensor()?.floats());
    let finite = expected.iter().zip(&actual).filter(|(one, other)| one.is_finite() && other.is_finite());
    let sums =
        finite.fold((0.0, 0.0), |(off, all), (one, other)| (off + (one - other) * (one - other), all + one * one));
    let share = (sums.0 / sums.1).sqrt();
    let percent = 100.0 * share;
    (share > MOST_DEVIATION)
        .then(|| format!("the elements are off by {percent:.0} % (root mean square), more than quantization explains"))
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

/// Tolerance of a computation with these roundings. Whatever the computation is, elements may cancel.
fn accuracy(expected: &Value, roundings: Roundings) -> Accuracy {
    let share = |roundoff: f64| (ROUNDOFFS * roundoff).max(roundings.steps.of_floats());
    match closeness(expected, roundings.half, share) {
        Accuracy::Close { relative, absolute } => {
            Accuracy::Close { relative, absolute: absolute.max(roundings.absolute) }
        }
        other => other,
    }
}

/// Returns true if integers differ by at most 1: rounding to a quantization step may go either way.
pub(super) fn is_a_step_away(expected: &Value, actual: &Value) -> bool {
    are_steps_away(expected, actual, 1)
}

/// Returns true if integers differ by at most this number of steps.
fn are_steps_away(expected: &Value, actual: &Value, most: u128) -> bool {
    let (Some(expected), Some(actual)) = (expected.as_tensor(), actual.as_tensor()) else { return false };
    let is_same_kind = expected.element_type() == actual.element_type() && expected.shape() == actual.shape();
    is_same_kind
        && expected.element_type().is_integer()
        && expected
            .indices()
            .into_iter()
            .zip(actual.indices())
            .all(|(one, other)| u128::from(one.abs_diff(other)) <= most)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::tensor::Tensor;

    use super::*;

    #[test]
    fn each_quantization_widens_the_tolerance() {
        let float = |last: f64| Value::Tensor(Tensor::of_floats(ElementType::Float, &[2], &[1.0, last]).unwrap());
        let byte = |value: i128| Value::Tensor(Tensor::of_integers(ElementType::Int8, &[1], &[value]).unwrap());
        let word = |value: i128| Value::Tensor(Tensor::of_integers(ElementType::Int64, &[1], &[value]).unwrap());
        let is_near = |expected: &Value, actual: &Value, steps: Steps| {
            difference(expected, actual, Roundings { steps, half: None, absolute: 0.0 }).is_none()
        };
        assert!(is_near(&float(0.5), &float(0.51), Steps::Several(1)));
        assert!(!is_near(&float(0.5), &float(0.51), Steps::One));
        assert!(!is_near(&float(0.5), &float(0.55), Steps::Several(1)));
        assert!(is_near(&float(0.5), &float(0.53), Steps::Several(16)));
        let off = Value::Tensor(Tensor::of_floats(ElementType::Float, &[2], &[1.1, 0.55]).unwrap());
        assert!(!is_near(&float(0.5), &off, Steps::Several(64)), "a factor of 1.1 is no rounding");
        assert!(!is_near(&float(0.5), &float(0.7), Steps::Several(10_000)));
        assert!(is_near(&byte(5), &byte(9), Steps::Several(2)) && !is_near(&byte(5), &byte(10), Steps::Several(2)));
        assert!(is_near(&byte(5), &byte(6), Steps::One) && !is_near(&byte(5), &byte(7), Steps::One));
        assert!(is_near(&word(5), &word(6), Steps::Several(2)) && !is_near(&word(5), &word(7), Steps::Several(2)));
        assert!(!is_near(&byte(5), &byte(6), Steps::None));
    }
}
