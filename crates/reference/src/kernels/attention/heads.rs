//! Tensors of heads: split from the last axis, merged into it, and appended to a cache.

use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;

/// Returns the tensor as (batch, heads, length, size). One with four axes is unchanged; `(batch, length, count * size)`
/// is split.
pub(super) fn split(call: &Call<'_>, name: &str, tensor: &Tensor, count: Option<i64>) -> Result<Tensor> {
    match *tensor.shape() {
        [_, _, _, _] => Ok(tensor.clone()),
        [batch, length, hidden] => {
            let heads = divide(name, hidden, count)?;
            let packed = [batch, length, heads, hidden / heads];
            let heads_first = [batch, heads, length, hidden / heads];
            call.gather(tensor, &heads_first, StridedIter::transposed(&packed, &[0, 2, 1, 3]))
        }
        ref shape => Err(invalid(format!("{name} has shape {shape:?}; it must have 3 or 4 axes"))),
    }
}

/// Returns the number of heads, which must divide the hidden size.
pub(super) fn divide(name: &str, hidden: usize, count: Option<i64>) -> Result<usize> {
    let Some(count) = count else {
        return Err(invalid(format!("{name} has 3 axes, so an attribute must give the number of heads")));
    };
    let heads = usize::try_from(count).ok().filter(|&heads| heads > 0 && hidden.is_multiple_of(heads));
    heads.ok_or_else(|| invalid(format!("the hidden size {hidden} of {name} is not a multiple of {count} heads")))
}

/// Merges (batch, heads, length, size) into `(batch, length, heads * size)`.
pub(super) fn merge(call: &Call<'_>, tensor: &Tensor) -> Result<Tensor> {
    let [batch, heads, length, size] = axes("the output", tensor)?;
    let packed = [batch, length, heads.saturating_mul(size)];
    call.gather(tensor, &packed, StridedIter::transposed(tensor.shape(), &[0, 2, 1, 3]))
}

/// Returns the four axes of a tensor of heads.
pub(super) fn axes(name: &str, tensor: &Tensor) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(tensor.shape())
        .map_err(|_| invalid(format!("{name} has shape {:?}; it must have 4 axes", tensor.shape())))
}

/// Appends new entries to cached ones along the length axis.
pub(super) fn append(call: &Call<'_>, name: &str, past: Option<&Tensor>, new: Tensor) -> Result<Tensor> {
    let Some(past) = past else { return Ok(new) };
    let [batch, heads, length, size] = axes(name, &new)?;
    let [_, _, before, _] = axes(name, past).rule("C6")?;
    if past.shape() != [batch, heads, before, size] {
        let (past, new) = (past.shape(), new.shape());
        return Err(broken("C6", format!("{name} has shape {past:?}, to which shape {new:?} cannot be appended")));
    }
    call.budget.check_loop(&[batch, heads, before.saturating_add(length), size])?;
    let (old_block, new_block) = (before * size, length * size);
    let positions = (0..batch * heads).flat_map(move |index| {
        let old = (0..old_block).map(move |position| (0, index * old_block + position));
        old.chain((0..new_block).map(move |position| (1, index * new_block + position)))
    });
    let output = call.allocate(new.element_type(), &[batch, heads, before + length, size])?;
    Ok(output.gather_from(&[past, &new], positions)?)
}
