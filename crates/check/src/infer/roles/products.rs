//! Roles of the dimensions of matrix products and convolutions.

use onnx_conformance_reference::infer::{List, NodeView};

use crate::infer::roles::kind::Role;

/// First opset at which matrix products broadcast as numpy does, without attributes.
const NUMPY_BROADCASTING: u32 = 7;

/// Returns the role of an axis of `MatMul`: rows and columns are free, and so are batches if the other factor has none.
pub(super) fn product(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let (rank, other) = (view.rank(at)?, view.rank(at.checked_sub(1).unwrap_or(1))?);
    let from_the_back = rank.checked_sub(axis)?;
    // The summed axis is the last one of the first factor, and the last but one of the second.
    let summed = if at == 0 || rank == 1 { 1 } else { 2 };
    match from_the_back {
        1 | 2 if from_the_back == summed => Some(Role::Linked(0)),
        1 | 2 => Some(Role::Free),
        _ => (other <= 2).then_some(Role::Free),
    }
}

/// Returns the role of an axis of Gemm.
pub(super) fn general_product(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    if view.since() < NUMPY_BROADCASTING || at > 1 {
        return None;
    }
    let is_transposed = view.flag(if at == 0 { "transA" } else { "transB" })?;
    let is_summed = (axis == 0) == (is_transposed == (at == 0));
    // A sum of one axis is added to each row.
    let adds_rows = !view.is_given(2) || view.rank(2).is_some_and(|rank| rank <= 1);
    match at {
        _ if is_summed => Some(Role::Linked(0)),
        0 => adds_rows.then_some(Role::Free),
        _ => None,
    }
}

/// Returns the role of an axis of `MatMulInteger`, whose zero points may be one for each row or column.
pub(super) fn integer_product(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let is_single = |at: usize| !view.is_given(at) || view.rank(at) == Some(0);
    if at < 2 && is_single(2) && is_single(3) { product(view, at, axis) } else { None }
}

/// Returns the role of an axis of Conv or `ConvTranspose` in one group: the channels and features of input, weight and bias are
/// linked, and a window of one tap fits any input.
pub(super) fn convolved(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let is_transposed = view.spec.version.name == "ConvTranspose";
    let is_cropped = is_transposed && crops(view);
    let is_one_group = view.int("group")? == 1;
    // The weight has the features first, or the channels first.
    let (channels, features) = if is_transposed { (0, 1) } else { (1, 0) };
    match (at, axis) {
        (0, 2..) => (is_transposed && !is_cropped).then_some(Role::Free),
        (1, 2..) => (!view.attributes.has("kernel_shape") && !is_cropped).then_some(Role::Free),
        (0, 1) => is_one_group.then_some(Role::Linked(1)),
        (1, axis) if axis == channels => is_one_group.then_some(Role::Linked(1)),
        (1, axis) if axis == features => (is_one_group && has_vector_bias(view)).then_some(Role::Linked(0)),
        (2, 0) => (is_one_group && view.rank(2) == Some(1)).then_some(Role::Linked(0)),
        _ => None,
    }
}

/// Returns true if the bias has one axis, or is omitted.
fn has_vector_bias(view: &NodeView<'_, '_>) -> bool {
    !view.is_given(2) || view.rank(2) == Some(1)
}

/// Returns true if `ConvTranspose` may crop its output, so that small inputs may be too small.
fn crops(view: &NodeView<'_, '_>) -> bool {
    let has_pads = match view.ints("pads") {
        List::Given(pads) => pads.iter().any(|pad| *pad != 0),
        List::Unknown => true,
        List::Absent => false,
    };
    has_pads || view.attributes.has("output_shape")
}
