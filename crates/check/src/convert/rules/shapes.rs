//! Shape of some axes, and Scatter, which `ScatterElements` replaced; `CenterCropPad`, Range and Trilu, at opsets that do not have them
//! yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::value::Value;

use super::axes::{as_int, vector};
use super::body::Body;
use super::rule::{Replacement, Rule, unchanged};
use crate::bounded;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_int, get_ints, get_string};
use crate::convert::draft::{Draft, NewNode};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Shape"], versions: (13, 15), up: unchanged, down: slice_of_shape },
    Rule { operators: &["Scatter"], versions: (9, 11), up: to_scatter_elements, down: unchanged },
];

pub(super) const REPLACEMENTS: &[Replacement] = &[
    Replacement { operator: "CenterCropPad", replace: center_crop_pad },
    Replacement { operator: "Range", replace: range },
    Replacement { operator: "ScatterElements", replace: to_scatter },
    Replacement { operator: "Trilu", replace: trilu },
];

/// Computes the whole shape and takes the part with Slice.
fn slice_of_shape(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let (start, end) = (get_int(&draft.node, "start")?.unwrap_or(0), get_int(&draft.node, "end")?);
    if start == 0 && end.is_none() {
        return Ok(());
    }
    for name in ["start", "end"] {
        attributes::remove(&mut draft.node, name);
    }
    let (inner, output) = draft.redirect_output(0)?;
    let end = end.unwrap_or(i64::MAX);
    if draft.onnx_opset() < 10 {
        let bounds = vec![
            attributes::ints("starts", &[start]),
            attributes::ints("ends", &[end]),
            attributes::ints("axes", &[0]),
        ];
        draft.after(
            &output,
            NewNode { op: "Slice", inputs: &[&inner], attributes: bounds, element: Some(ElementType::Int64) },
        )?;
    } else {
        let starts = draft.add_constant("starts", &vector(&[start])?);
        let ends = draft.add_constant("ends", &vector(&[end])?);
        draft.after(
            &output,
            NewNode {
                op: "Slice",
                inputs: &[&inner, &starts, &ends],
                attributes: Vec::new(),
                element: Some(ElementType::Int64),
            },
        )?;
    }
    draft.edit(format!("start and end are replaced by Slice({start}, {end}) after"));
    Ok(())
}

fn to_scatter_elements(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    modernize(draft)
}

/// Replaces a deprecated Scatter.
pub(super) fn modernize(draft: &mut Draft) -> Step {
    draft.node.op_type = Some("ScatterElements".into());
    draft.edit("Scatter, which is deprecated, is replaced by ScatterElements");
    Ok(())
}

fn to_scatter(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if get_string(&draft.node, "reduction")?.is_some_and(|reduction| reduction != "none") {
        return impossible("Scatter has no reduction");
    }
    if draft.known_ints(1, "indices", "Scatter-9 does not support negative indices")?.iter().any(|index| *index < 0) {
        return impossible("Scatter-9 does not support negative indices");
    }
    draft.node.op_type = Some("Scatter".into());
    draft.edit("ScatterElements is replaced by Scatter");
    Ok(())
}

/// `Where(column - row < k, 0, input)` for the upper part, `Where(k < column - row, 0, input)` for the lower one.
fn trilu(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let is_upper = get_int(&draft.node, "upper")?.unwrap_or(1) != 0;
    let element = draft.element(0)?;
    let sizes = match draft.fact(0).shape.as_deref() {
        Some([.., rows, columns]) => [rows.clone(), columns.clone()],
        _ => [Dim::Unknown, Dim::Unknown],
    };
    let (x, k) = (draft.input(0), draft.input(1));
    let mut body = Body::new(draft, from);
    let [rows, columns] = sizes;
    let rows = positions(&mut body, &x, -2, &rows)?;
    let columns = positions(&mut body, &x, -1, &columns)?;
    let rows = body.reshape(&rows, &[-1, 1])?;
    let distance = body.plain("Sub", &[&columns, &rows])?;
    let k = if k.is_empty() { body.number(ElementType::Int64, 0.0)? } else { k };
    let order = if is_upper { [&distance, &k] } else { [&k, &distance] };
    let is_cleared = body.plain("Less", &order.map(String::as_str))?;
    let zero = body.number(element, 0.0)?;
    body.last("Where", &[&is_cleared, &zero, &x], Vec::new());
    Ok(())
}

/// The positions along an axis: 0, 1, 2 and so on.
pub(super) fn positions(body: &mut Body, x: &str, axis: i64, size: &Dim) -> Step<String> {
    if let Dim::Size(size) = size
        && let Ok(count) = bounded::items(as_int(*size))
    {
        // bounded: by `items`.
        let numbers: Vec<i64> = (0..count).map(as_int).collect();
        return body.list(&numbers);
    }
    let shape = body.plain("Shape", &[x])?;
    let index = body.number(ElementType::Int64, axis as f64)?;
    let size = body.plain("Gather", &[&shape, &index])?;
    count_to(body, &size)
}

/// The integers from 0 to a scalar, exclusive.
pub(super) fn count_to(body: &mut Body, size: &str) -> Step<String> {
    let (zero, one) = (body.number(ElementType::Int64, 0.0)?, body.number(ElementType::Int64, 1.0)?);
    body.plain("Range", &[&zero, size, &one])
}

/// Pads and crops to the new sizes, half of the difference at the front, rounded down.
fn center_crop_pad(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (axes, x, sizes) = (get_ints(&draft.node, "axes")?, draft.input(0), draft.input(1));
    let mut body = Body::new(draft, from);
    let old = body.plain("Shape", &[&x])?;
    let mut new = body.cast(sizes, ElementType::Int64)?;
    if let Some(axes) = axes {
        let axes = body.list(&axes)?;
        new = body.node("ScatterElements", &[&old, &axes, &new], vec![attributes::int("axis", 0)])?;
    }
    let two = body.list(&[2])?;
    let padded = body.larger(&old, &new)?;
    let added = body.plain("Sub", &[&padded, &old])?;
    let front = body.plain("Div", &[&added, &two])?;
    let back = body.plain("Sub", &[&added, &front])?;
    let pads = body.node("Concat", &[&front, &back], vec![attributes::int("axis", 0)])?;
    let whole = body.plain("Pad", &[&x, &pads])?;
    let cropped = body.plain("Sub", &[&padded, &new])?;
    let start = body.plain("Div", &[&cropped, &two])?;
    let end = body.plain("Add", &[&start, &new])?;
    body.last("Slice", &[&whole, &start, &end], Vec::new());
    Ok(())
}

/// `start + i * delta` for the positions `i` of the nonzero elements of a list of ones, which are all its positions.
fn range(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    if let Some(Value::Tensor(list)) = draft.outputs.first().cloned().flatten().and_then(|fact| fact.constant) {
        draft.arrange_inputs(&[]);
        draft.set_constant(0, "range", &list);
        draft.node.attribute.clear();
        draft.node.op_type = Some("Identity".into());
        draft.edit("Range of constants is replaced by a constant");
        return Ok(());
    }
    let element = draft.element(0)?;
    if element.is_float() {
        return impossible(format!(
            "Range of {element} needs constants: the function body adds delta in each step, which rounds differently"
        ));
    }
    let [start, limit, delta] = [0, 1, 2].map(|position| draft.input(position));
    let mut body = Body::new(draft, from);
    let int64 = ElementType::Int64;
    let [start, limit, delta] = [start, limit, delta].map(|value| body.cast(value, int64));
    let (start, limit, delta) = (start?, limit?, delta?);
    let scalar = |body: &mut Body, value: &str| body.reshape(value, &[]);
    let (start, limit, delta) = (scalar(&mut body, &start)?, scalar(&mut body, &limit)?, scalar(&mut body, &delta)?);
    let (zero, one) = (body.number(int64, 0.0)?, body.number(int64, 1.0)?);
    // Division rounds toward zero, so a positive distance is raised by one less than the size of delta.
    let distance = body.plain("Sub", &[&limit, &start])?;
    let raised = body.plain("Add", &[&distance, &delta])?;
    let sign = body.plain("Sign", &[&delta])?;
    let raised = body.plain("Sub", &[&raised, &sign])?;
    let count = body.plain("Div", &[&raised, &delta])?;
    let count = body.larger(&count, &zero)?;
    let count = body.reshape(&count, &[1])?;
    let ones = body.node("Expand", &[&one, &count], Vec::new())?;
    let places = body.plain("NonZero", &[&ones])?;
    let places = body.reshape(&places, &[-1])?;
    let distances = body.plain("Mul", &[&places, &delta])?;
    let values = body.plain("Add", &[&start, &distances])?;
    if element == int64 {
        body.last("Identity", &[&values], Vec::new());
    } else {
        body.last_cast(&values, element);
    }
    Ok(())
}
