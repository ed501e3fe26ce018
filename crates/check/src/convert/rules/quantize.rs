//! `DynamicQuantizeLinear` and Bernoulli, at opsets that do not have them yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;

use super::body::Body;
use super::rule::Replacement;
use crate::convert::answer::Step;
use crate::convert::attributes;
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] =
    &[Replacement { operator: "DynamicQuantizeLinear", replace: dynamic_quantize }];

/// `scale = (max - min) / 255`, `zero point = -min / scale`, rounded by a `QuantizeLinear` with scale 1, which also clamps it. The
/// range includes 0. A range of 0 has scale 1.
fn dynamic_quantize(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (float, x) = (ElementType::Float, draft.input(0));
    let mut body = Body::new(draft, from);
    let without_axes = || vec![attributes::int("keepdims", 0)];
    let (zero, one, most) = (body.number(float, 0.0)?, body.number(float, 1.0)?, body.number(float, 255.0)?);
    let min = body.node("ReduceMin", &[&x], without_axes())?;
    let min = body.plain("Min", &[&min, &zero])?;
    let max = body.node("ReduceMax", &[&x], without_axes())?;
    let max = body.plain("Max", &[&max, &zero])?;
    let range = body.plain("Sub", &[&max, &min])?;
    let is_positive = body.plain("Greater", &[&range, &zero])?;
    let scale = body.plain("Div", &[&range, &most])?;
    let scale = body.plain("Where", &[&is_positive, &scale, &one])?;
    let shift = body.plain("Div", &[&min, &scale])?;
    let shift = body.plain("Sub", &[&zero, &shift])?;
    let origin = body.number(ElementType::Uint8, 0.0)?;
    let zero_point = body.plain("QuantizeLinear", &[&shift, &one, &origin])?;
    body.later_output(1, &scale, float)?;
    body.later_output(2, &zero_point, ElementType::Uint8)?;
    body.last("QuantizeLinear", &[&x, &scale, &zero_point], Vec::new());
    Ok(())
}
