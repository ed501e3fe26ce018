//! Difference of a value in half precision from the value in float.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder};
use onnx_conformance_reference::value::Value;

/// Difference of a tensor in half precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// Largest error of an element, as a fraction of the largest element.
    pub(super) error: f64,
    /// Number of finite elements that became infinite or NaN.
    pub(super) overflows: usize,
    /// Number of nonzero elements that became zero.
    pub(super) underflows: usize,
}

impl Difference {
    /// Compares float tensors; `None` for other values, and for those of different shapes. Elements near the end of
    /// float's range, which models use as masks, may become infinite.
    pub(super) fn new(expected: &Value, actual: &Value) -> Option<Difference> {
        Difference::of_pairs(&[(expected.as_tensor()?, actual.as_tensor()?)])
    }

    /// Compares values like [`Difference::new`], and also all float tensors in sequences, optionals and maps together.
    pub(super) fn of_contents(expected: &Value, actual: &Value) -> Option<Difference> {
        let mut pairs = Vec::new();
        if pair_tensors(expected, actual, &mut pairs) { Difference::of_pairs(&pairs) } else { None }
    }

    fn of_pairs(pairs: &[(&Tensor, &Tensor)]) -> Option<Difference> {
        let (mut difference, mut worst, mut largest) = (Difference::default(), 0.0_f64, 0.0_f64);
        for &(expected, actual) in pairs {
            let are_floats = expected.element_type().is_float() && actual.element_type().is_float();
            if !are_floats || actual.shape() != expected.shape() {
                return None;
            }
            let end = end_of_range(expected, actual) / 2.0;
            for (expected, actual) in expected.stream(Tensor::floats).zip(actual.stream(Tensor::floats)) {
                if expected.is_nan() || expected.abs() >= end {
                    continue;
                }
                largest = largest.max(expected.abs());
                if actual.is_finite() {
                    worst = worst.max((expected - actual).abs());
                    difference.underflows += usize::from(expected != 0.0 && actual == 0.0);
                } else {
                    difference.overflows += 1;
                }
            }
        }
        if worst > 0.0 {
            difference.error = if largest > 0.0 { worst / largest } else { 1.0 };
        }
        Some(difference)
    }

    /// Returns the larger error, overflows and underflows.
    pub(super) fn max(self, other: Difference) -> Difference {
        Difference {
            error: self.error.max(other.error),
            overflows: self.overflows.max(other.overflows),
            underflows: self.underflows.max(other.underflows),
        }
    }
}

/// Adds the tensors in two values, one pair after the other. Returns false if the values differ in something else than tensors.
fn pair_tensors<'a>(expected: &'a Value, actual: &'a Value, pairs: &mut Vec<(&'a Tensor, &'a Tensor)>) -> bool {
    match (expected, actual) {
        (Value::Tensor(expected), Value::Tensor(actual)) => {
            pairs.push((expected, actual));
            true
        }
        (Value::Sequence(expected), Value::Sequence(actual)) => {
            let mut items = expected.items.iter().zip(actual.items.iter());
            expected.items.len() == actual.items.len()
                && items.all(|(expected, actual)| pair_tensors(expected, actual, pairs))
        }
        (Value::Optional(expected), Value::Optional(actual)) => {
            match (expected.item.as_deref(), actual.item.as_deref()) {
                (Some(expected), Some(actual)) => pair_tensors(expected, actual, pairs),
                (expected, actual) => expected.is_none() && actual.is_none(),
            }
        }
        (Value::Map(expected), Value::Map(actual)) => {
            let mut entries = expected.entries.values().zip(actual.entries.values());
            expected.entries.keys().eq(actual.entries.keys())
                && entries.all(|(expected, actual)| pair_tensors(expected, actual, pairs))
        }
        _ => false,
    }
}

/// Returns the largest finite value of the original type. A value that the reference computes in double is a float.
fn end_of_range(expected: &Tensor, actual: &Tensor) -> f64 {
    let is_widened = expected.element_type() == ElementType::Double && actual.element_type() != ElementType::Double;
    let original = if is_widened { ElementType::Float } else { expected.element_type() };
    original.max_finite().unwrap_or(f64::MAX)
}

/// Rounds a float tensor to a type; other values are unchanged.
pub(super) fn rounded(value: &Value, element: ElementType) -> Value {
    let tensor =
        value.as_tensor().filter(|tensor| tensor.element_type().is_float() && tensor.element_type() != element);
    let rounded = tensor.and_then(|tensor| {
        TensorBuilder::unlimited(element, tensor.shape().to_vec()).ok()?.floats(tensor.stream(Tensor::floats)).ok()
    });
    rounded.map_or_else(|| value.clone(), Value::Tensor)
}
