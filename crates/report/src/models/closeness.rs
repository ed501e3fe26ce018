//! Tolerance between the outputs of two correct computations of a model.

use onnx_conformance_cases::compare::{Accuracy, UPSTREAM_ABSOLUTE, UPSTREAM_RELATIVE};
use onnx_conformance_reference::dtype::FloatFormat;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

/// Returns the tolerance of ONNX's own tests, widened by a share of the largest element. `share` computes it from the unit roundoff
/// of the type.
pub(super) fn closeness(expected: &Value, share: impl FnOnce(f64) -> f64) -> Accuracy {
    let tensor = expected.as_tensor().filter(|tensor| tensor.element_type().is_float());
    let slack = tensor.map_or(0.0, |tensor| {
        let roundoff = tensor.element_type().float_format().map_or(0.0, FloatFormat::unit_roundoff);
        share(roundoff) * largest(tensor)
    });
    Accuracy::Close { relative: UPSTREAM_RELATIVE, absolute: slack.max(UPSTREAM_ABSOLUTE) }
}

/// Returns the largest magnitude of a float tensor, except for those of masks: infinity, and what is near the end of the type's range.
fn largest(tensor: &Tensor) -> f64 {
    let end = tensor.element_type().max_finite().map_or(f64::MAX, |max| max / 2.0);
    let sizes = tensor.stream(Tensor::floats).map(f64::abs).filter(|size| *size < end);
    sizes.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::compare::compare;
    use onnx_conformance_reference::dtype::ElementType;

    use super::*;

    #[test]
    fn a_mask_does_not_hide_the_other_elements() {
        let value = |mask: f64, other: f64| {
            Value::Tensor(Tensor::of_floats(ElementType::Float, &[3], &[mask, other, 4.0]).unwrap())
        };
        for mask in [f64::from(f32::MIN), f64::NEG_INFINITY, 0.0] {
            let expected = value(mask, 1e-6);
            let accuracy = || closeness(&expected, |roundoff| 32.0 * roundoff);
            assert!(compare(&expected, &value(mask, 5e-6), &accuracy()).is_ok(), "{mask}");
            assert!(compare(&expected, &value(mask, 1e-4), &accuracy()).is_err(), "{mask}");
        }
    }
}
