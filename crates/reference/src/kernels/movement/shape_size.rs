//! Shape and Size: the dimensions of a tensor, and their product.

use std::ops::Range;

use crate::dtype::ElementType;
use crate::infer::elements::Elements;
use crate::infer::{MAX_CONSTANT, NodeView, Shape, Size, rules};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Shape", 1, shape).shape(number_of_axes).with_elements(sizes),
    Kernel::new("Shape", 15, sliced_shape).shape(number_of_axes).with_elements(sizes),
    Kernel::new("Size", 1, size).shape(rules::scalar).with_elements(number_of_elements),
];

/// Shape: the dimensions, as a 1-D tensor.
fn shape(call: &Call<'_>) -> Result {
    dimensions(call, call.tensor(0)?.shape())
}

/// Shape since 15: the dimensions from `start` to `end`. Negative ones count from the back; both are then clamped to
/// `[0, rank]`.
fn sliced_shape(call: &Call<'_>) -> Result {
    let shape = call.tensor(0)?.shape();
    let start = clamped(call.int("start")?, shape.len());
    let end = call.optional_int("end").map_or(shape.len(), |end| clamped(end, shape.len()));
    dimensions(call, shape.get(start..end).unwrap_or(&[]))
}

fn clamped(position: i64, rank: usize) -> usize {
    let from_zero = if position < 0 { position.saturating_add_unsigned(rank as u64) } else { position };
    usize::try_from(from_zero.max(0)).map_or(rank, |position| position.min(rank))
}

fn dimensions(call: &Call<'_>, shape: &[usize]) -> Result {
    Ok(call.integers(ElementType::Int64, &[shape.len()], shape.iter().map(|&dim| dim as i128))?.into())
}

/// Size: the number of elements, as a scalar.
fn size(call: &Call<'_>) -> Result {
    Ok(call.integers(ElementType::Int64, &[], [call.tensor(0)?.len() as i128])?.into())
}

/// The axes of the input from `start` to `end`.
fn axes(view: &NodeView<'_, '_>) -> Option<Range<usize>> {
    let rank = view.rank(0)?;
    if view.attributes.is_open("start") || view.attributes.is_open("end") {
        return None;
    }
    let start = view.int("start").map_or(0, |start| clamped(start, rank));
    Some(start..view.int("end").map_or(rank, |end| clamped(end, rank)).max(start))
}

/// A vector with an element per axis.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
fn number_of_axes(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![axes(view).map_or(Dim::Unknown, |axes| Dim::Size(axes.len()))])
}

/// The sizes of the axes.
fn sizes(view: &NodeView<'_, '_>) -> Option<Elements> {
    let axes = axes(view).filter(|axes| axes.len() <= MAX_CONSTANT)?;
    Some(view.shape(0)?.get(axes)?.iter().map(Size::from_dim).collect())
}

/// The product of all sizes.
fn number_of_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    Some(vec![Size::from_dim(&Dim::product(&view.shape(0)?))])
}
