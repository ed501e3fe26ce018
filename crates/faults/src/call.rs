//! The call of a kernel that is changed, and a fault that cannot be made of it.

use onnx_conformance_reference::kernels::framework::call::Call;
use onnx_conformance_reference::kernels::framework::error::KernelError;

/// The same call.
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

/// What a call says of which the fault cannot be made.
pub(crate) const NOT_MADE: &str = "the fault cannot be made of this call";

/// The fault cannot be made here.
pub(crate) fn lost() -> KernelError {
    KernelError::Internal(NOT_MADE.to_owned())
}
