//! Roles of dimensions: those of a node that may have any size, or any size that they share.

use onnx_conformance_reference::infer::NodeView;
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;

/// Operators of ai.onnx.ml that compute the rows of their first input one by one.
const ROW_BY_ROW: [&str; 13] = [
    "ArrayFeatureExtractor",
    "Imputer",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "OneHotEncoder",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "ZipMap",
];

/// First opset at which matrix products broadcast as numpy does, without attributes.
const NUMPY_BROADCASTING: u32 = 7;

/// First opset at which `BatchNormalization` has no statistics for each place.
const STATISTICS_OF_CHANNELS: u32 = 9;

/// First opset at which recurrent operators have `layout`.
const LAYOUT: u32 = 14;

/// Role of a dimension of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// If the node is valid with any size there, it is valid with each from 1 on.
    Free,
    /// Sizes there must be equal to the others of this group, and may be any from 1 on.
    Linked(usize),
    /// Anything else.
    Other,
}

/// Returns the role of an axis of an input.
pub(super) fn role(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Role {
    let name = view.spec.version.name.as_str();
    if view.spec.version.domain != DEFAULT_DOMAIN {
        // An input of one axis is a row.
        let is_row = ROW_BY_ROW.contains(&name) && (at, axis) == (0, 0) && view.rank(0) == Some(2);
        return if is_row { Role::Free } else { Role::Other };
    }
    let known = match name {
        "Flatten" | "Tile" | "Transpose" => Some(if at == 0 { Role::Free } else { Role::Other }),
        "BatchNormalization" => {
            let is_free = view.since() >= STATISTICS_OF_CHANNELS && at == 0 && axis != 1;
            is_free.then_some(Role::Free)
        }
        // A size of 1 fits any other size of the same letter.
        "Einsum" => Some(Role::Free),
        "Concat" => {
            let joined = view.axis("axis", view.rank(at).unwrap_or(0));
            joined.map(|joined| if axis == joined { Role::Free } else { Role::Linked(axis) })
        }
        "RNN" | "GRU" | "LSTM" => recurrent(view, at, axis),
        "GridSample" => match (at, axis) {
            (0 | 1, 0) => Some(Role::Linked(0)),
            (0, _) => Some(Role::Free),
            // The last axis has the coordinates.
            (1, _) if axis.checked_add(1) != view.rank(1) => Some(Role::Free),
            _ => None,
        },
        "MatMul" => product(view, at, axis),
        "Gemm" => general_product(view, at, axis),
        "LayerNormalization" => batch_of_layers(view, at, axis),
        _ => None,
    };
    known.unwrap_or(Role::Other)
}

/// Returns the role of an axis of a recurrent operator: the steps are free, and the batches of all inputs are linked.
fn recurrent(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
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

/// Returns the role of an axis of `MatMul`: rows and columns are free, and so are batches if the other factor has none.
fn product(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
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
fn general_product(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
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

/// Returns the role of an axis of `LayerNormalization`: those before the normalized ones are free, if the scale has none of them.
fn batch_of_layers(view: &NodeView<'_, '_>, at: usize, axis: usize) -> Option<Role> {
    let rank = view.rank(0)?;
    let first = view.int("axis")?;
    let from_the_front = if first < 0 { i64::try_from(rank).ok()?.checked_add(first)? } else { first };
    let first = usize::try_from(from_the_front).ok()?;
    let normalized = rank.checked_sub(first)?;
    let is_within = |at: usize| !view.is_given(at) || view.rank(at).is_some_and(|rank| rank <= normalized);
    (at == 0 && axis < first && is_within(1) && is_within(2)).then_some(Role::Free)
}
