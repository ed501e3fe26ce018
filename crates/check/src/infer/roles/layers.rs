//! Roles of the dimensions of layers: normalization, recurrence, attention, quantization and losses.

use onnx_conformance_reference::infer::{NodeView, axis_of};
use onnx_conformance_reference::model::Dim;

use crate::infer::roles::kind::Role;
use crate::infer::roles::movement::is_unknown;

/// First opset at which `BatchNormalization` has no statistics for each place.
const STATISTICS_OF_CHANNELS: u32 = 9;

/// First opset at which recurrent operators have `layout`.
const LAYOUT: u32 = 14;

/// First opset at which the slope of `PRelu` broadcasts.
const BROADCAST_SLOPE: u32 = 7;

/// Returns the role of an axis of `BatchNormalization`: the channels of all inputs are linked.
pub(super) fn batch_normalized(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    if view.since() < STATISTICS_OF_CHANNELS {
        return None;
    }
    match at {
        0 if axis == 1 => Some(Role::Linked(0)),
        0 => Some(Role::Free),
        // An input of one axis has one channel.
        _ => (view.rank(0)? >= 2 && view.rank(at) == Some(1)).then_some(Role::Linked(0)),
    }
}

/// Returns the role of an axis of a recurrent operator: the steps are free, and the batches of all inputs are
/// linked, as are the features.
pub(super) fn recurrent(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    // The features of the input, and the weights for them.
    if at < 2 && axis == 2 {
        return Some(Role::Linked(1));
    }
    // Known lengths of sequences are at most the number of steps.
    if view.input(4).is_some_and(|lengths| lengths.integers().is_some()) {
        return None;
    }
    let is_batch_first = if view.since() >= LAYOUT { view.flag("layout")? } else { false };
    let (steps, batch, batch_of_states) = if is_batch_first { (1, 0, 0) } else { (0, 1, 1) };
    match at {
        0 if axis == steps => Some(Role::Free),
        0 if axis == batch => Some(Role::Linked(0)),
        4 if axis == 0 => Some(Role::Linked(0)),
        5 | 6 if axis == batch_of_states => Some(Role::Linked(0)),
        _ => None,
    }
}

/// Returns the role of an axis of `LayerNormalization`: those before the normalized ones are free, if the scale has none of them.
pub(super) fn batch_of_layers(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let rank = view.rank(0)?;
    let first = view.int("axis")?;
    let from_the_front = if first < 0 { i64::try_from(rank).ok()?.checked_add(first)? } else { first };
    let first = usize::try_from(from_the_front).ok()?;
    let normalized = rank.checked_sub(first)?;
    let is_within = |at: usize| !view.is_given(at) || view.rank(at).is_some_and(|rank| rank <= normalized);
    (at == 0 && axis < first && is_within(1) && is_within(2)).then_some(Role::Free)
}

/// Returns the role of an axis of `PRelu`: a slope of size 1 fits any size, and a larger one only its own.
pub(super) fn sloped(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    if view.since() < BROADCAST_SLOPE {
        return None;
    }
    let from_the_back = view.rank(at)?.checked_sub(axis)?;
    let slope = view.rank(1)?.checked_sub(from_the_back).and_then(|axis| view.dim(1, axis));
    let is_same_name = matches!(&slope, Some(Dim::Name(_))) && view.dim(at, axis) == slope;
    match slope {
        Some(Dim::Size(size)) if size != 1 => Some(Role::Linked(from_the_back)),
        None | Some(Dim::Size(_)) => Some(Role::Free),
        Some(_) => (at == 1 || is_same_name).then_some(Role::Free),
    }
}

/// Returns the role of an axis of `QuantizeLinear` or `DequantizeLinear`: one scale fits any size, and a list has a scale for each
/// element along the axis. The zero point has the length of the scale.
pub(super) fn quantized(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let (is_blocked, rank) = (view.int("block_size").is_some_and(|size| size != 0), view.rank(1)?);
    if is_blocked || rank > 1 {
        return None;
    }
    let along = view.int("axis").and_then(|axis| axis_of(axis, view.rank(0)));
    let scales = if rank == 1 { view.dim(1, 0) } else { None };
    match at {
        0 if along == Some(axis) => match scales {
            Some(Dim::Size(size)) if size != 1 => Some(Role::Linked(0)),
            Some(Dim::Name(_)) if view.dim(0, axis) == scales => Some(Role::Free),
            Some(Dim::Size(_)) | None => Some(Role::Free),
            Some(_) => None,
        },
        0 => Some(Role::Free),
        _ => (rank == 1 && (!view.is_given(2) || view.rank(2) == Some(1))).then_some(Role::Linked(0)),
    }
}

/// Returns the role of an axis of Attention without mask, past and lengths.
pub(super) fn attended(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    if view.inputs.iter().skip(3).any(Option::is_some) {
        return None;
    }
    let is_query = at == 0;
    match (view.rank(at)?, axis) {
        (_, 0) => Some(Role::Linked(0)),
        (3, 1) | (4, 2) => Some(if is_query { Role::Free } else { Role::Linked(1) }),
        // The heads of the query are a multiple of the others.
        (4, 1) => (!is_query).then_some(Role::Linked(2)),
        (4, 3) => Some(if at == 2 { Role::Free } else { Role::Linked(3) }),
        _ => None,
    }
}

/// Returns the role of an axis of `RotaryEmbedding`: batches and positions are linked, and the heads and the rows that positions
/// select are free.
pub(super) fn rotated(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let has_positions = view.is_given(3);
    let positions = if view.rank(0)? == 4 { 2 } else { 1 };
    match (at, axis) {
        (0, axis) if axis == positions => Some(Role::Linked(1)),
        (0 | 3, 0) => Some(Role::Linked(0)),
        (0, 1) => Some(Role::Free),
        (3, _) => Some(Role::Linked(1)),
        (1 | 2, 0) if has_positions => is_unknown(view, 3).then_some(Role::Linked(2)),
        (1 | 2, 0 | 1) if !has_positions => Some(Role::Linked(axis)),
        _ => None,
    }
}

/// Returns the role of an axis of a loss of scores and targets: all but the classes are linked. A target of 0 is a class of any.
pub(super) fn scored(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    // The classes are axis 1 of the scores.
    let of_targets = |axis: usize| if axis == 0 { Some(0) } else { axis.checked_add(1) };
    match at {
        0 if axis != 1 => Some(Role::Linked(axis)),
        1 => of_targets(axis).map(Role::Linked),
        // The weights have one element for each class.
        _ => is_unknown(view, 1).then_some(Role::Linked(1)),
    }
}

/// Returns the role of an axis of `RoiAlign`: a region for each batch index.
pub(super) fn aligned(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    match (at, axis) {
        (0, 0) => is_unknown(view, 2).then_some(Role::Free),
        (0, _) => Some(Role::Free),
        (1 | 2, 0) => (view.rank(2) == Some(1)).then_some(Role::Linked(0)),
        _ => None,
    }
}

/// Returns the role of an axis of `NonMaxSuppression`: `boxes` is `[batches, boxes, 4]`, and `scores` is `[batches, classes, boxes]`.
pub(super) fn suppressed(at: usize, axis: usize) -> Option<Role> {
    match (at, axis) {
        (0 | 1, 0) => Some(Role::Linked(0)),
        (0, 1) | (1, 2) => Some(Role::Linked(1)),
        (1, 1) => Some(Role::Free),
        _ => None,
    }
}
