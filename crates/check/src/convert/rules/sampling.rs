//! `AffineGrid`, at opsets that do not have it yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::as_int;
use super::body::Body;
use super::rule::Replacement;
use super::shapes::count_to;
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_int};
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] = &[Replacement { operator: "AffineGrid", replace: affine_grid }];

/// The number of spatial axes, by the shape of theta, `[N, 2, 3]` or `[N, 3, 4]`, or the length of size.
fn spatial_axes(draft: &Draft) -> Step<usize> {
    let rows = draft.fact(0).shape.and_then(|shape| shape.get(1).and_then(Dim::size));
    let length = draft.fact(1).shape.and_then(|shape| shape.first().and_then(Dim::size));
    match rows.or(length.map(|length| length.saturating_sub(2))) {
        Some(count @ (2 | 3)) => Ok(count),
        Some(count) => impossible(format!("{count} spatial axes are not 2 or 3")),
        None => unknown("the number of rows of theta and of elements of size is unknown"),
    }
}

/// `theta * (x, y, z, 1)` for each point of an even grid from -1 to 1.
fn affine_grid(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, rank) = (draft.element(0)?, spatial_axes(draft)?);
    let is_aligned = get_int(&draft.node, "align_corners")?.unwrap_or(0) != 0;
    let (theta, size) = (draft.input(0), draft.input(1));
    let mut body = Body::new(draft, from);
    let (start, end) = (body.list(&[2])?, body.list(&[as_int(rank + 2)])?);
    let spatial = body.plain("Slice", &[&size, &start, &end])?;
    // The coordinates of a point begin with the last axis.
    let mut coordinates = Vec::new();
    for axis in (0..rank).rev() {
        let line = line(&mut body, &size, element, (as_int(axis + 2), is_aligned, rank == 3 && axis == 0))?;
        // bounded: by the number of axes, at most 3.
        let mut shape: Vec<i64> = (0..rank).map(|_| 1).collect();
        shape.get_mut(axis).into_iter().for_each(|entry| *entry = -1);
        let line = body.reshape(&line, &shape)?;
        let whole = body.plain("Expand", &[&line, &spatial])?;
        coordinates.push(body.with_axes("Unsqueeze", &whole, &[as_int(rank)])?);
    }
    let one = body.number(element, 1.0)?;
    let ones = body.plain("Expand", &[&one, &spatial])?;
    coordinates.push(body.with_axes("Unsqueeze", &ones, &[as_int(rank)])?);
    let names: Vec<&str> = coordinates.iter().map(String::as_str).collect();
    let points = body.node("Concat", &names, vec![attributes::int("axis", as_int(rank))])?;
    // The rows of theta become columns, the same for all points of an image.
    let columns = body.node("Transpose", &[&theta], vec![attributes::ints("perm", &[0, 2, 1])])?;
    let axes: Vec<i64> = (1..as_int(rank)).collect();
    let columns = body.with_axes("Unsqueeze", &columns, &axes)?;
    body.last("MatMul", &[&points, &columns], Vec::new());
    Ok(())
}

/// Even points along an axis of size: from the centres of the first to the last element if corners are aligned, else between the
/// edges. Each step is rounded to the type, as in the function body. An aligned depth of 1 has no step.
fn line(
    body: &mut Body,
    size: &str,
    element: ElementType,
    (axis, is_aligned, is_depth): (i64, bool, bool),
) -> Step<String> {
    let axis = body.number(ElementType::Int64, axis as f64)?;
    let length = body.plain("Gather", &[size, &axis])?;
    let places = count_to(body, &length)?;
    let (places, count) = (body.cast(places, element)?, body.cast(length, element)?);
    let [one, two, start] = [1.0, 2.0, -1.0].map(|value| body.number(element, value));
    let (one, two, mut start) = (one?, two?, start?);
    let mut step;
    if is_aligned {
        let gaps = body.plain("Sub", &[&count, &one])?;
        step = body.plain("Div", &[&two, &gaps])?;
        if is_depth {
            let (is_many, zero) = (body.plain("Less", &[&one, &count])?, body.number(element, 0.0)?);
            step = body.plain("Where", &[&is_many, &step, &zero])?;
        }
    } else {
        step = body.plain("Div", &[&two, &count])?;
        let half = body.plain("Div", &[&step, &two])?;
        start = body.plain("Add", &[&start, &half])?;
    }
    let steps = body.plain("Mul", &[&places, &step])?;
    body.plain("Add", &[&start, &steps])
}
