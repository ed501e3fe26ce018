//! Products and softmax of attention, with the roundings of the function bodies.

#![expect(
    clippy::indexing_slicing,
    reason = "every offset is below the product of sizes that Sizes::read has checked against the shapes"
)]

use crate::dtype::ElementType;
use crate::kernels::attention::heads::axes;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::broken;
use crate::kernels::reduction::softmax::staged_softmax;
use crate::tensor::Tensor;
use crate::tensor::gemm::{Matrix, multiply_add_for};

/// Sizes that queries, keys and values share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) query_heads: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) value_size: usize,
    heads: usize,
    size: usize,
}

impl Sizes {
    /// Reads the sizes of three tensors of (batch, heads, length, size). Several query heads may share a key head.
    pub(super) fn read(call: &Call<'_>, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Sizes> {
        let [batch, query_heads, queries, size] = axes("Q", query)?;
        let [_, heads, keys, key_size] = axes("K", key)?;
        let [_, _, _, value_size] = axes("V", value)?;
        let fits = key.shape() == [batch, heads, keys, size] && value.shape() == [batch, heads, keys, value_size];
        if !fits {
            let (query, key, value) = (query.shape(), key.shape(), value.shape());
            // C1 of both operators is the rule for the size of a head; in FlexAttention it also covers the other sizes.
            let is_attention = call.spec.version.name == "Attention";
            let rule = if key_size == size && is_attention { "C13" } else { "C1" };
            return Err(broken(
                rule,
                format!("Q {query:?}, K {key:?} and V {value:?} must agree in batch, head size, and key length"),
            ));
        }
        call.budget.check_loop(&[batch, query_heads, queries, keys])?;
        call.budget.check_loop(&[batch, query_heads, queries, value_size])?;
        if query_heads != heads && (heads == 0 || !query_heads.is_multiple_of(heads)) {
            return Err(broken("C2", format!("{query_heads} query heads are not a multiple of {heads} key heads")));
        }
        Ok(Sizes { batch, query_heads, queries, keys, value_size, heads, size })
    }

    /// Returns the shape of the scores.
    pub(super) fn scores(&self) -> [usize; 4] {
        [self.batch, self.query_heads, self.queries, self.keys]
    }

    /// Returns the shape of the result.
    pub(super) fn result(&self) -> [usize; 4] {
        [self.batch, self.query_heads, self.queries, self.value_size]
    }

    /// Sums the values, weighted by the probabilities, for a result of type `element`.
    pub(super) fn weigh(
        &self,
        call: &Call<'_>,
        element: ElementType,
        probabilities: &[f64],
        values: &[f64],
    ) -> Result<Vec<f64>> {
        let Sizes { queries, keys, value_size, .. } = *self;
        let [block, value_block, result_block] = [queries * keys, keys * value_size, queries * value_size];
        let multiply_add = multiply_add_for(element);
        let mut result: Vec<f64> = call.budget.scratch(self.result().iter().product())?;
        for (index, from) in self.pairs() {
            call.budget.count_work(block.saturating_mul(value_size))?;
            let a = Matrix::row_major(&probabilities[index * block..][..block], queries, keys);
            let b = Matrix::row_major(&values[from * value_block..][..value_block], keys, value_size);
            multiply_add(a, b, &mut result[index * result_block..][..result_block], call.budget.deadline())?;
        }
        Ok(result)
    }

    /// Returns the index of each query head, over all batches, and that of its key head.
    fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        let group = self.query_heads.checked_div(self.heads).unwrap_or(1).max(1);
        (0..self.batch * self.query_heads).map(move |index| (index, index / group))
    }
}

/// Rounds every value to an element type.
pub(super) fn round_all(element: ElementType, values: &mut [f64]) {
    if element != ElementType::Double {
        for value in values.iter_mut() {
            *value = element.round(*value);
        }
    }
}

/// Returns the square root of the scale, computed in float as in the function bodies and rounded to `element`.
fn root_of_scale(call: &Call<'_>, size: usize, element: ElementType) -> f64 {
    let float = |value| ElementType::Float.round(value);
    let scale = call.optional_float("scale").unwrap_or_else(|| float(1.0 / float(float(size as f64).sqrt())));
    element.round(float(scale.sqrt()))
}

/// Computes the raw scores. Both operands are scaled by the root of the scale, and each stage is in their type.
pub(super) fn scaled_products(call: &Call<'_>, sizes: &Sizes, query: &Tensor, key: &Tensor) -> Result<Vec<f64>> {
    let element = query.element_type();
    let Sizes { queries, keys, size, .. } = *sizes;
    let scale = root_of_scale(call, size, element);
    let scaled = |tensor: &Tensor| -> Result<Vec<f64>> {
        let mut values = call.budget.read_floats(tensor)?;
        for value in &mut values {
            *value *= scale;
        }
        round_all(element, &mut values);
        Ok(values)
    };
    let (query, key) = (scaled(query)?, scaled(key)?);
    let [query_block, key_block, block] = [queries * size, keys * size, queries * keys];
    let multiply_add = multiply_add_for(element);
    let mut scores: Vec<f64> = call.budget.scratch(sizes.scores().iter().product())?;
    for (index, from) in sizes.pairs() {
        call.budget.count_work(block.saturating_mul(size))?;
        let a = Matrix::row_major(&query[index * query_block..][..query_block], queries, size);
        let b = Matrix::row_major(&key[from * key_block..][..key_block], keys, size).transposed();
        multiply_add(a, b, &mut scores[index * block..][..block], call.budget.deadline())?;
    }
    round_all(element, &mut scores);
    Ok(scores)
}

/// Softmax along rows of `row` values. The texts give the precision of its computation, not of its result. Here every
/// step is rounded to `element`, as upstream's expected float16 outputs require.
pub(super) fn softmax(row: usize, element: ElementType, values: &mut [f64]) {
    values.chunks_mut(row.max(1)).for_each(|row| staged_softmax(row, element));
}
