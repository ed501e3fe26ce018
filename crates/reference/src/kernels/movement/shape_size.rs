//! Shape and Size: the dimensions of a tensor, and their product.

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::registry::Kernel;

pub(super) const KERNELS: &[Kernel] =
    &[Kernel::new("Shape", 1, shape), Kernel::new("Shape", 15, sliced_shape), Kernel::new("Size", 1, size)];

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
