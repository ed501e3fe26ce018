//! `RotaryEmbedding`: rotates pairs of elements by an angle that depends on the position.

#![expect(
    clippy::indexing_slicing,
    reason = "the sizes are those of the shapes, which have been checked against each other"
)]

use crate::infer::rules;
use crate::kernels::attention::heads::divide;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("RotaryEmbedding", 23, rotary_embedding).shape(rules::same)];

/// Memory layout of a tensor of heads, and the rotated part of each head.
struct Layout {
    batch: usize,
    heads: usize,
    length: usize,
    size: usize,
    /// True if the head axis precedes the position axis, as it does for four axes.
    heads_first: bool,
    /// Number of rotated pairs.
    pairs: usize,
}

/// `RotaryEmbedding`: `(x, y)` becomes `(cos * x - sin * y, sin * x + cos * y)`.
fn rotary_embedding(call: &Call<'_>) -> Result {
    let input = call.tensor(0)?;
    let layout = Layout::read(call, input)?;
    let rows = cache_rows(call, &layout)?;
    let (cosines, sines) = (cache(call, 1, &layout)?, cache(call, 2, &layout)?);
    let interleaved = call.flag("interleaved")?;
    let pairs = layout.pairs;
    let mut values = call.budget.read_floats(input)?;
    for (index, head) in values.chunks_mut(layout.size.max(1)).enumerate() {
        call.budget.count_work(head.len())?;
        let row = rows.get(layout.position(index)).copied().unwrap_or(0) * pairs;
        let angles = cosines.get(row..row + pairs).zip(sines.get(row..row + pairs));
        let Some((cosines, sines)) = angles else {
            return Err(invalid("cos_cache and sin_cache do not have a row for each position"));
        };
        for (pair, (cosine, sine)) in cosines.iter().zip(sines).enumerate() {
            let (first, second) = if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + pairs) };
            let (x, y) = (head[first], head[second]);
            head[first] = cosine * x - sine * y;
            head[second] = sine * x + cosine * y;
        }
    }
    Ok(call.floats(input.element_type(), input.shape(), values)?.into())
}

impl Layout {
    fn read(call: &Call<'_>, input: &Tensor) -> Result<Layout> {
        let (batch, heads, length, size) = match *input.shape() {
            [batch, heads, length, size] => (batch, heads, length, size),
            [batch, length, hidden] => {
                let heads = divide("X", hidden, call.optional_int("num_heads")).rule("C4")?;
                (batch, heads, length, hidden / heads)
            }
            ref shape => return Err(invalid(format!("X has shape {shape:?}; it must have 3 or 4 axes"))),
        };
        let rotated = match usize::try_from(call.int("rotary_embedding_dim")?) {
            Ok(0) => size,
            Ok(rotated) if rotated <= size => rotated,
            _ => return Err(broken("C3", format!("rotary_embedding_dim is outside [0, {size}], the size of a head"))),
        };
        if !rotated.is_multiple_of(2) {
            return Err(broken(
                "C2",
                format!("{rotated} elements of each head rotate in pairs; their number must be even"),
            ));
        }
        Ok(Layout { batch, heads, length, size, heads_first: input.rank() == 4, pairs: rotated / 2 })
    }

    /// Returns the position in `(batch, length)` of the `index`-th head in memory.
    fn position(&self, index: usize) -> usize {
        let (heads, length) = (self.heads.max(1), self.length.max(1));
        if self.heads_first { index / (heads * length) * length + index % length } else { index / heads }
    }
}

/// Returns the row of the caches with the angles of each position in `(batch, length)`.
fn cache_rows(call: &Call<'_>, layout: &Layout) -> Result<Vec<usize>> {
    let positions = call.budget.check_loop(&[layout.batch, layout.length])?;
    let Some(ids) = call.optional_tensor(3)? else { return Ok((0..positions).collect()) };
    if ids.shape() != [layout.batch, layout.length] {
        let (ids, expected) = (ids.shape(), [layout.batch, layout.length]);
        return Err(broken("C5", format!("position_ids has shape {ids:?}; it must be {expected:?}")));
    }
    let rows = call.tensor(1)?.shape().first().copied().unwrap_or(0);
    let row = |id: i64| {
        let from_zero = if id < 0 { id.checked_add(i64::try_from(rows).ok()?)? } else { id };
        usize::try_from(from_zero).ok().filter(|&row| row < rows)
    };
    call.budget
        .read_indices(ids)?
        .into_iter()
        .map(|id| {
            row(id).ok_or_else(|| broken("C5", format!("position id {id} is outside the {rows} rows of cos_cache")))
        })
        .collect()
}

/// Reads a cache of cosines or sines: one row per position id, or per position if there are no ids.
fn cache(call: &Call<'_>, index: usize, layout: &Layout) -> Result<Vec<f64>> {
    let tensor = call.tensor(index)?;
    let fits = match (tensor.shape(), call.optional_value(3).is_some()) {
        ([rows, pairs], true) => *pairs == layout.pairs && Some(rows) == call.tensor(1)?.shape().first(),
        (shape, with_ids) => !with_ids && shape == [layout.batch, layout.length, layout.pairs],
    };
    if !fits {
        let (shape, pairs) = (tensor.shape(), layout.pairs);
        return Err(broken(
            "C6",
            format!(
                "input {index} has shape {shape:?}; it must be (rows, {pairs}) with position_ids, or (batch, \
                 length, {pairs}) without"
            ),
        ));
    }
    call.budget.read_floats(tensor)
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node};

    /// One position of one head of size 4. Row 1 of the caches rotates by a right angle, row 0 does not rotate.
    fn rotated(pairs: usize, id: i64) -> OneNode {
        let rows = |first: f64| -> Vec<f64> { [vec![first; pairs], vec![1.0 - first; pairs]].concat() };
        node("RotaryEmbedding", 23)
            .input(floats(&[1, 1, 1, 4], &[1.0, 2.0, 3.0, 4.0]))
            .input(floats(&[2, pairs], &rows(1.0)))
            .input(floats(&[2, pairs], &rows(0.0)))
            .input(ints(&[1, 1], &[id]))
    }

    #[test]
    fn a_negative_position_counts_from_the_back_of_the_caches() {
        assert_eq!(rotated(2, -1).tensor().floats(), [-3.0, -4.0, 1.0, 2.0]);
    }

    #[test]
    fn the_error_names_the_shape_that_caches_must_have() {
        assert!(rotated(1, 0).error().contains("(rows, 2)"));
    }
}
