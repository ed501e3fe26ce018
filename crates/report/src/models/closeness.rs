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

/// Returns the largest finite magnitude of a float tensor.
fn largest(tensor: &Tensor) -> f64 {
    let sizes = tensor.stream(Tensor::floats).map(f64::abs).filter(|size| size.is_finite());
    sizes.fold(0.0, f64::max)
}
