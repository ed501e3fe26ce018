//! Roles of the dimensions of operators that move elements.

use onnx_conformance_reference::infer::{List, NodeView, axis_of};
use onnx_conformance_reference::model::Dim;

use crate::infer::roles::kind::Role;

/// Returns true if an input has no known value. It is then tried with indices of 0, which exist along any axis.
pub(super) fn is_unknown(view: &NodeView<'_, '_>, at: usize) -> bool {
    view.input(at).is_some_and(|fact| fact.constant.is_none())
}

/// Returns the role of an axis of Pad: any size can be extended.
pub(super) fn padded(view: &NodeView<'_, '_>, at: usize) -> Option<Role> {
    let name = if view.since() < 2 { "paddings" } else { "pads" };
    let is_extended = match view.list(name, 1) {
        List::Given(pads) => pads.iter().all(|pad| *pad >= 0),
        // Unknown pads are tried as 0.
        List::Absent | List::Unknown => true,
    };
    (at == 0 && is_extended).then_some(Role::Free)
}

/// Returns the role of an axis of Split or `TopK`: all axes but the one of attribute `axis` are free.
pub(super) fn beside(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let along = axis_of(view.int("axis").unwrap_or(0), view.rank(0));
    (at == 0 && along != Some(axis)).then_some(Role::Free)
}

/// Returns the role of an axis of Compress: a condition without true elements fits any size.
pub(super) fn compressed(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let along = view.axis("axis", view.rank(0)?);
    let is_beside = view.attributes.has("axis") && along != Some(axis);
    (at == 1 || is_beside || is_unknown(view, 1)).then_some(Role::Free)
}

/// Returns the role of an axis of `ReverseSequence`.
pub(super) fn reversed(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let (batch, time) = (view.int("batch_axis")?, view.int("time_axis")?);
    let axis = i64::try_from(axis).ok()?;
    match at {
        0 if axis == batch => Some(Role::Linked(0)),
        0 if axis == time => is_unknown(view, 1).then_some(Role::Free),
        0 => Some(Role::Free),
        _ => Some(Role::Linked(0)),
    }
}

/// Returns the role of an axis of an operator that reads or writes elements by index.
pub(super) fn indexed(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    // No index exists along an empty axis.
    let mut dims = view.inputs.iter().flatten().filter_map(|fact| fact.shape.as_ref()).flatten();
    if dims.any(|dim| *dim == Dim::Size(0)) {
        return None;
    }
    match view.spec.version.name.as_str() {
        "Gather" => gathered(view, at, axis),
        "GatherND" => gathered_tuples(view, at, axis),
        "ScatterND" => scattered_tuples(view, at, axis),
        _ => by_element(view, at, axis),
    }
}

/// Gather: `out[i][q][k] = data[i][indices[q]][k]`.
fn gathered(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let is_along = at == 0 && view.axis("axis", view.rank(0)?) == Some(axis);
    (!is_along || is_unknown(view, 1)).then_some(Role::Free)
}

/// `GatherElements`, Scatter and `ScatterElements`: the indices and updates have one shape, and along other axes than `axis` at most
/// the size of the data.
fn by_element(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    if at > 0 {
        let is_written = view.is_given(2);
        return Some(if is_written { Role::Linked(axis) } else { Role::Free });
    }
    let is_free = if view.axis("axis", view.rank(0)?) == Some(axis) {
        is_unknown(view, 1)
    } else {
        let (data, indices) = (view.dim(0, axis), view.dim(1, axis));
        let is_same_name = matches!(&indices, Some(Dim::Name(_))) && data == indices;
        is_same_name || indices.is_none_or(|dim| dim == Dim::Size(1))
    };
    is_free.then_some(Role::Free)
}

/// Returns the number of axes of the indices before the tuples, and the length of a tuple, if it is known.
fn tuples(view: &NodeView<'_, '_>) -> Option<(usize, usize)> {
    let outer = view.rank(1)?.checked_sub(1)?;
    Some((outer, view.dim(1, outer)?.size()?))
}

/// `GatherND`: `out[b][i] = data[b][indices[b][i][0], indices[b][i][1], ...]`.
fn gathered_tuples(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let (outer, length) = tuples(view)?;
    let has_batches = view.spec.attributes.contains_key("batch_dims");
    let batch = if has_batches { usize::try_from(view.int("batch_dims")?).ok()? } else { 0 };
    if axis < batch {
        return Some(Role::Linked(axis));
    }
    let is_free = match at {
        0 => is_unknown(view, 1) || axis >= batch.checked_add(length)?,
        _ => axis < outer,
    };
    is_free.then_some(Role::Free)
}

/// `ScatterND`: `out[indices[i][0], indices[i][1], ...] = updates[i]`.
fn scattered_tuples(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let (outer, length) = tuples(view)?;
    match at {
        0 if axis < length => is_unknown(view, 1).then_some(Role::Free),
        0 => Some(Role::Linked(outer.checked_add(axis)?.checked_sub(length)?)),
        1 if axis == outer => None,
        // An axis of the updates.
        _ => Some(Role::Linked(axis)),
    }
}
