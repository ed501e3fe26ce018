//! Modified calls of kernels, and the error if a fault does not apply to a call.

use onnx_conformance_reference::kernels::framework::call::Call;
use onnx_conformance_reference::kernels::framework::error::KernelError;

/// Copies the call.
pub(crate) fn copy<'a>(call: &Call<'a>) -> Call<'a> {
    Call {
        spec: call.spec,
        opset: call.opset,
        inputs: call.inputs,
        attributes: call.attributes,
        wanted: call.wanted,
        types: call.types,
        subgraphs: call.subgraphs,
        budget: call.budget,
    }
}

/// Error message for a call to which the fault does not apply.
pub(crate) const NOT_APPLICABLE: &str = "the fault does not apply to this call";

/// The error that the fault does not apply here.
pub(crate) fn not_applicable() -> KernelError {
    KernelError::Internal(NOT_APPLICABLE.to_owned())
}
