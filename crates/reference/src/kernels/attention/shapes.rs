//! Shapes of attention: heads are an axis of inputs with 4 axes, and packed into the last of inputs with 3.

use crate::infer::{NodeView, Shape};
use crate::model::graph::Dim;

/// Query, key or value as `[batch, heads, length, size]`.
fn by_heads(view: &NodeView<'_, '_>, position: usize, heads: &str) -> Option<[Dim; 4]> {
    let shape = view.shape(position)?;
    match shape.as_slice() {
        [batch, heads, length, size] => Some([batch, heads, length, size].map(Dim::clone)),
        [batch, length, packed] => {
            let heads = view.int(heads).map_or(Dim::Unknown, Dim::from_int);
            let size = if heads == Dim::Size(0) { Dim::Unknown } else { packed.over(&heads) };
            Some([batch.clone(), heads, length.clone(), size])
        }
        _ => None,
    }
}

/// `Attention`: the result, present key and value, and the scores.
pub(super) fn attention(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let [query, key, value] = [(0, "q_num_heads"), (1, "kv_num_heads"), (2, "kv_num_heads")]
        .map(|(position, heads)| by_heads(view, position, heads));
    let present = |past: usize, new: &Option<[Dim; 4]>| {
        let [batch, heads, length, size] = new.clone()?;
        let before = if view.is_given(past) { view.dim(past, 2)? } else { Dim::Size(0) };
        Some(vec![batch, heads, before.plus(&length), size])
    };
    let (keys, values) = (present(4, &key), present(5, &value));
    let result = || {
        let [batch, heads, queries, _] = query.clone()?;
        let size = value.as_ref().map_or(Dim::Unknown, |[.., size]| size.clone());
        Some(match view.rank(0)? {
            3 => vec![batch, queries, heads.times(&size)],
            _ => vec![batch, heads, queries, size],
        })
    };
    let scores = || {
        let [batch, heads, queries, _] = query.clone()?;
        let keys = keys.as_ref().and_then(|keys| keys.get(2).cloned()).unwrap_or(Dim::Unknown);
        Some(vec![batch, heads, queries, keys])
    };
    vec![result(), keys.clone(), values, scores()]
}

/// `FlexAttention`: `[batch, heads of Q, length of Q, size of V]`.
pub(super) fn flex(view: &NodeView<'_, '_>) -> Option<Shape> {
    let ([batch, heads, queries, _], [.., size]) =
        (by_heads(view, 0, "q_num_heads")?, by_heads(view, 2, "kv_num_heads")?);
    Some(vec![batch, heads, queries, size])
}

/// `LinearAttention`: `[batch, tokens, heads of Q * size of V]`, and the state `[batch, heads, size of K, size of V]`.
pub(super) fn linear(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let [query_heads, heads] =
        ["q_num_heads", "kv_num_heads"].map(|name| view.int(name).map_or(Dim::Unknown, Dim::from_int));
    let per_head = |position: usize, heads: &Dim| match view.dim(position, 2) {
        Some(packed) if *heads != Dim::Size(0) => packed.over(heads),
        _ => Dim::Unknown,
    };
    let (key_size, value_size) = (per_head(1, &heads), per_head(2, &heads));
    let result = || Some(vec![view.dim(0, 0)?, view.dim(0, 1)?, query_heads.times(&value_size)]);
    let state = || Some(vec![view.dim(0, 0)?, heads.clone(), key_size.clone(), value_size.clone()]);
    vec![result(), state()]
}
