//! Bias of the attention scores: the mask, and minus infinity for keys that a query must not see.

use crate::dtype::Kind;
use crate::kernels::attention::scores::Sizes;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::tensor::Tensor;
use crate::tensor::shape::{broadcast, broadcast_strides};

/// Effect of a mask that covers fewer keys than there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ShortMask {
    /// Version 23: broadcasts if it covers one key.
    Broadcast,
    /// From version 24 on: keys that it does not cover are masked, even if it covers one.
    Masked,
}

/// Bias of every score.
pub(super) struct Bias {
    pub(super) sizes: Sizes,
    mask: Option<Mask>,
    causal: bool,
    left: Option<i64>,
    right: Option<i64>,
    /// Position of the first query among the keys, per batch.
    offsets: Vec<i64>,
    /// Number of keys that are not padding, per batch.
    valid: Option<Vec<i64>>,
}

/// Values of a mask, read as a tensor of (batch, heads, queries, columns).
struct Mask {
    values: Vec<f64>,
    strides: Vec<usize>,
    columns: usize,
}

impl Bias {
    /// Reads the mask (input 3), the number of valid keys (input 6) and the attributes that restrict a query's keys.
    pub(super) fn read(call: &Call<'_>, sizes: &Sizes, short: ShortMask) -> Result<Bias> {
        let valid = call.optional_tensor(6)?;
        let valid = valid.map(|tensor| valid_keys(call, tensor, sizes.batch)).transpose()?;
        let past = call.optional_tensor(4)?.and_then(|past| past.shape().get(2).copied()).unwrap_or(0);
        let queries = signed(sizes.queries);
        let offsets = match &valid {
            Some(valid) => valid.iter().map(|&keys| keys.saturating_sub(queries)).collect(),
            None => std::iter::repeat_n(signed(past), sizes.batch).collect(),
        };
        let mask = call.optional_tensor(3)?.map(|mask| Mask::read(call, mask, sizes, short)).transpose()?;
        let (max, columns) = (valid.iter().flatten().max(), mask.as_ref().map(|mask| signed(mask.columns)));
        if let (Some(max), Some(columns)) = (max, columns)
            && *max > columns
        {
            return Err(broken("C11", format!("attn_mask covers {columns} keys, but nonpad_kv_seqlen is up to {max}")));
        }
        Ok(Bias {
            sizes: *sizes,
            mask,
            causal: call.flag("is_causal")?,
            left: window(call, "left_window_size")?,
            right: window(call, "right_window_size")?,
            offsets,
            valid,
        })
    }

    /// Adds the bias to the scores, in the type of the query, and returns a mask of the rows that are fully masked.
    pub(super) fn add(&self, call: &Call<'_>, scores: &mut [f64]) -> Result<Vec<bool>> {
        let Sizes { batch, query_heads, queries, keys, .. } = self.sizes;
        let element = call.tensor(0)?.element_type();
        let mut masked: Vec<bool> = call.budget.scratch(batch * query_heads * queries)?;
        let mut row: Vec<f64> = call.budget.scratch(keys)?;
        for (index, (scores, masked)) in scores.chunks_mut(keys.max(1)).zip(&mut masked).enumerate() {
            call.budget.count_work(keys)?;
            *masked = self.write_row(index, &mut row);
            for (score, bias) in scores.iter_mut().zip(&row) {
                *score = element.round(*score + bias);
            }
        }
        Ok(masked)
    }

    /// Writes the bias of row `index` of the scores, which is one query. Returns true if every key is masked.
    fn write_row(&self, index: usize, row: &mut [f64]) -> bool {
        let Sizes { query_heads, queries, .. } = self.sizes;
        let (head, query) = (index / queries, index % queries);
        let (batch, head) = (head / query_heads, head % query_heads);
        let offset = self.offsets.get(batch).copied().unwrap_or(0);
        let position = offset.saturating_add(signed(query));
        let valid = self.valid.as_ref().and_then(|valid| valid.get(batch)).copied().unwrap_or(i64::MAX);
        for (key, slot) in row.iter_mut().enumerate() {
            let mask = self.mask.as_ref().map_or(0.0, |mask| mask.at([batch, head, query, key]));
            let key = signed(key);
            let seen = key < valid && self.sees(position, key);
            *slot = mask + if seen { 0.0 } else { f64::NEG_INFINITY };
        }
        row.iter().all(|&value| value == f64::NEG_INFINITY)
    }

    /// True if causality and window allow a query at `position` to see a key.
    fn sees(&self, position: i64, key: i64) -> bool {
        let back = position.saturating_sub(key);
        (!self.causal || back >= 0)
            && self.left.is_none_or(|left| back <= left)
            && self.right.is_none_or(|right| back >= -right)
    }
}

impl Mask {
    /// Reads the mask, with numbers in the type of the query.
    fn read(call: &Call<'_>, mask: &Tensor, sizes: &Sizes, short: ShortMask) -> Result<Mask> {
        let element = call.tensor(0)?.element_type();
        let mut target = sizes.scores();
        if let (ShortMask::Masked, Some(&columns)) = (short, mask.shape().last()) {
            target[3] = columns;
        }
        if target[3] > sizes.keys || broadcast(mask.shape(), &target).rule("C4")? != target {
            let (mask, scores) = (mask.shape(), sizes.scores());
            return Err(broken(
                "C4",
                format!("attn_mask of shape {mask:?} does not broadcast to the scores, {scores:?}"),
            ));
        }
        let values = match mask.element_type().kind() {
            Kind::Bool => {
                let seen = mask.stream(Tensor::bools);
                call.budget.collect(seen.map(|seen| if seen { 0.0 } else { f64::NEG_INFINITY }))?
            }
            Kind::Float => {
                call.budget.read_floats(&call.floats(element, mask.shape(), mask.stream(Tensor::floats))?)?
            }
            _ => call.budget.read_floats(&call.integers(element, mask.shape(), mask.stream(Tensor::integers))?)?,
        };
        Ok(Mask { values, strides: broadcast_strides(mask.shape(), &target), columns: target[3] })
    }

    fn at(&self, index: [usize; 4]) -> f64 {
        let position: usize = index.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
        let covered = index[3] < self.columns;
        self.values.get(position).copied().filter(|_| covered).unwrap_or(f64::NEG_INFINITY)
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Returns the number of keys that are not padding, per batch.
fn valid_keys(call: &Call<'_>, tensor: &Tensor, batch: usize) -> Result<Vec<i64>> {
    if tensor.shape() != [batch] {
        let shape = tensor.shape();
        return Err(broken(
            "C10",
            format!("nonpad_kv_seqlen has shape {shape:?}; it must have one number per batch, [{batch}]"),
        ));
    }
    call.budget.read_indices(tensor)
}

/// Returns the bound of a window. -1 means no bound, and versions before 25 have no window.
fn window(call: &Call<'_>, name: &str) -> Result<Option<i64>> {
    match call.optional_int(name) {
        None | Some(-1) => Ok(None),
        Some(bound) if bound >= 0 => Ok(Some(bound)),
        Some(bound) => Err(broken("C12", format!("{name} is {bound}; it must be -1 (no bound) or not negative"))),
    }
}
