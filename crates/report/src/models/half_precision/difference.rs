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
    /// Compares float tensors; `None` for other values, and for those of different shapes. Elements at the end of the range of
    /// float, with which models mask others, may become infinite.
    pub(super) fn new(expected: &Value, actual: &Value) -> Option<Difference> {
        let is_float = |tensor: &&Tensor| tensor.element_type().is_float();
        let expected = expected.as_tensor().filter(is_float)?;
        let actual = actual.as_tensor().filter(is_float).filter(|actual| actual.shape() == expected.shape())?;
        let end = end_of_range(expected, actual) / 2.0;
        let (mut difference, mut worst, mut largest) = (Difference::default(), 0.0_f64, 0.0_f64);
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
