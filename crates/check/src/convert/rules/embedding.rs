//! `RotaryEmbedding`, at opsets that do not have it yet.

use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::as_int;
use super::body::Body;
use super::functions::wide;
use super::rule::Replacement;
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_int};
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "RotaryEmbedding", replace: rotary }];

/// Sizes of a `RotaryEmbedding`.
struct Heads {
    /// The number of heads of an input with 3 axes, where they are packed into the last axis.
    split: Option<i64>,
    /// The size of a head.
    size: i64,
    /// The number of its elements that are rotated.
    rotated: i64,
}

fn heads(draft: &Draft) -> Step<Heads> {
    let shape = draft.shape(0)?;
    let Some(Dim::Size(last)) = shape.last() else { return unknown("the size of the last axis of input 0 is unknown") };
    let count = get_int(&draft.node, "num_heads")?.unwrap_or(0);
    let (split, size) = match shape.len() {
        4 => (None, as_int(*last)),
        3 if count > 0 => (Some(count), as_int(*last) / count),
        3 => return impossible("num_heads is missing, which an input with 3 axes requires"),
        rank => return impossible(format!("the input has {rank} axes, not 3 or 4")),
    };
    let rotated = match get_int(&draft.node, "rotary_embedding_dim")?.unwrap_or(0) {
        0 => size,
        rotated => rotated,
    };
    if rotated < 2 || rotated % 2 != 0 || rotated > size {
        return impossible(format!("{rotated} elements of a head of {size} cannot be rotated in pairs"));
    }
    Ok(Heads { split, size, rotated })
}

/// `real = cos * x1 - sin * x2`, `imaginary = sin * x1 + cos * x2`, for the two halves of a head, or its even and odd elements.
fn rotary(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, heads) = (draft.element(0)?, heads(draft)?);
    let wide = wide(element)?;
    let is_interleaved = get_int(&draft.node, "interleaved")?.unwrap_or(0) != 0;
    let [x, cosines, sines, positions] = [0, 1, 2, 3].map(|position| draft.input(position));
    let mut body = Body::new(draft, from);
    let mut value = body.cast(x.clone(), wide)?;
    // The axis of heads: before the sequence with 4 axes, after it with 3.
    let axis = if heads.split.is_some() { 2 } else { 1 };
    if let Some(count) = heads.split {
        value = body.reshape(&value, &[0, 0, count, heads.size])?;
    }
    let [cosine, sine] = [cosines, sines].map(|cache| -> Step<String> {
        let cache = body.cast(cache, wide)?;
        let rows = if positions.is_empty() { cache } else { body.plain("Gather", &[&cache, &positions])? };
        let axes = body.list(&[axis])?;
        body.plain("Unsqueeze", &[&rows, &axes])
    });
    let (cosine, sine) = (cosine?, sine?);
    let half = heads.rotated / 2;
    let (first, second) = if is_interleaved {
        (slice(&mut body, &value, [0, heads.rotated, 2])?, slice(&mut body, &value, [1, heads.rotated, 2])?)
    } else {
        (slice(&mut body, &value, [0, half, 1])?, slice(&mut body, &value, [half, heads.rotated, 1])?)
    };
    let mut product = |a: &str, b: &str| body.plain("Mul", &[a, b]);
    let (cosine_first, sine_second) = (product(&cosine, &first)?, product(&sine, &second)?);
    let (sine_first, cosine_second) = (product(&sine, &first)?, product(&cosine, &second)?);
    let real = body.plain("Sub", &[&cosine_first, &sine_second])?;
    let imaginary = body.plain("Add", &[&sine_first, &cosine_second])?;
    let mut parts = vec![real, imaginary];
    if is_interleaved {
        let mut columns = Vec::new();
        for part in &parts {
            let axes = body.list(&[4])?;
            columns.push(body.plain("Unsqueeze", &[part, &axes])?);
        }
        let pairs = concatenated(&mut body, &columns, 4)?;
        parts = vec![body.reshape(&pairs, &[0, 0, 0, heads.rotated])?];
    }
    if heads.rotated < heads.size {
        parts.push(slice(&mut body, &value, [heads.rotated, heads.size, 1])?);
    }
    let whole = if let [only] = parts.as_slice() { only.clone() } else { concatenated(&mut body, &parts, 3)? };
    let result = body.cast(whole, element)?;
    // Without an effect for an input with 4 axes, whose shape this is.
    let full = body.plain("Shape", &[&x])?;
    body.last("Reshape", &[&result, &full], Vec::new());
    Ok(())
}

/// Adds a Slice of the last of 4 axes: start, end and step.
fn slice(body: &mut Body, value: &str, [start, end, step]: [i64; 3]) -> Step<String> {
    let (starts, ends) = (body.list(&[start])?, body.list(&[end])?);
    let (axes, steps) = (body.list(&[3])?, body.list(&[step])?);
    body.plain("Slice", &[value, &starts, &ends, &axes, &steps])
}

fn concatenated(body: &mut Body, values: &[String], axis: i64) -> Step<String> {
    let names: Vec<&str> = values.iter().map(String::as_str).collect();
    body.node("Concat", &names, vec![attributes::int("axis", axis)])
}
