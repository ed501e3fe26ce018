//! `CausalConvWithState`, at opsets that do not have it yet.

use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::proto::encode;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::as_int;
use super::body::Body;
use super::functions::wide;
use super::inputs::numbers;
use super::rule::Replacement;
use crate::convert::answer::{Step, unknown};
use crate::convert::attributes::{self, get_string};
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] =
    &[Replacement { operator: "CausalConvWithState", replace: causal_convolution }];

/// A convolution of each channel over the past state, or zeros, and the input; the last inputs are the new state.
fn causal_convolution(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, weight_shape) = (draft.element(0)?, draft.shape(1)?);
    let [Dim::Size(channels), _, Dim::Size(kernel)] = weight_shape.as_slice() else {
        return unknown("the number of channels or the size of the kernel of input 1 'weight' is unknown");
    };
    let (channels, kept) = (as_int(*channels), as_int(*kernel) - 1);
    let is_silu = get_string(&draft.node, "activation")?.is_some_and(|activation| activation != "none");
    let (wide, inputs) = (wide(element)?, [0, 1, 2, 3].map(|position| draft.input(position)));
    let [x, weight, bias, mut past] = inputs;
    let mut body = Body::new(draft, from);
    if past.is_empty() {
        let (start, end, kept) = (body.list(&[0])?, body.list(&[2])?, body.list(&[kept])?);
        let shape = body.plain("Shape", &[&x])?;
        let sizes = body.plain("Slice", &[&shape, &start, &end])?;
        let shape = body.node("Concat", &[&sizes, &kept], vec![attributes::int("axis", 0)])?;
        let zero = encode::tensor(&numbers(element, &[1], &[0.0])?, "");
        past = body.node("ConstantOfShape", &[&shape], vec![attributes::tensor("value", zero)])?;
    }
    let all = body.node("Concat", &[&past, &x], vec![attributes::int("axis", 2)])?;
    if body.draft.has_output(1) {
        let start = if kept == 0 { i64::MAX } else { -kept };
        let (start, end, axis) = (body.list(&[start])?, body.list(&[i64::MAX])?, body.list(&[2])?);
        let state = body.plain("Slice", &[&all, &start, &end, &axis])?;
        body.later_output(1, &state, element)?;
    }
    let mut operands = vec![body.cast(all, wide)?, body.cast(weight, wide)?];
    if !bias.is_empty() {
        operands.push(body.cast(bias, wide)?);
    }
    let names: Vec<&str> = operands.iter().map(String::as_str).collect();
    let mut result = body.node("Conv", &names, vec![attributes::int("group", channels)])?;
    if is_silu {
        // The function body rounds the sum to the type of the input before the activation.
        let sum = body.cast(result, element)?;
        result = body.cast(sum, wide)?;
        let gate = body.plain("Sigmoid", &[&result])?;
        result = body.plain("Mul", &[&result, &gate])?;
    }
    if wide == element {
        body.last("Identity", &[&result], Vec::new());
    } else {
        body.last_cast(&result, element);
    }
    Ok(())
}
