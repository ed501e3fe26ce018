//! Gather below opset 11, which takes no negative indices.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::axis_of;
use super::body::Body;
use super::rule::{Rule, unchanged};
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::get_int;
use crate::convert::draft::Draft;

/// First opset with Where.
const FIRST_WHERE: i64 = 9;

pub(super) const RULES: &[Rule] =
    &[Rule { operators: &["Gather"], versions: (1, 11), up: unchanged, down: gather_indices }];

/// Checks that constant indices are not negative. Others are replaced, if the target has Where.
fn gather_indices(draft: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    if draft.constant(1).is_none() && draft.onnx_opset() >= FIRST_WHERE {
        return nonnegative_indices(draft, from);
    }
    let indices = draft.known_ints(1, "indices", &format!("{} does not support negative indices", to.version))?;
    if indices.iter().all(|index| *index >= 0) {
        return Ok(());
    }
    impossible(format!("{} does not support negative indices", to.version))
}

/// Replaces negative indices, which count from the end, by the equivalent positions:
/// `Where(indices < 0, indices + size, indices)`.
fn nonnegative_indices(draft: &mut Draft, from: &OpSpec) -> Step {
    let (x, indices, element) = (draft.input(0), draft.input(1), draft.element(1)?);
    let dims = draft.fact(0).shape.clone();
    let axis = match (get_int(&draft.node, "axis")?.unwrap_or(0), &dims) {
        (axis, Some(dims)) => axis_of(axis, dims.len())?,
        (axis, None) if axis >= 0 => usize::try_from(axis).unwrap_or_default(),
        (_, None) => return draft.unknown_fact("rank", 0),
    };
    let mut body = Body::new(draft, from);
    let size = if let Some(Dim::Size(size)) = dims.as_ref().and_then(|dims| dims.get(axis)) {
        body.number(element, *size as f64)?
    } else {
        let shape = body.plain("Shape", &[&x])?;
        let place = body.number(ElementType::Int64, axis as f64)?;
        let size = body.plain("Gather", &[&shape, &place])?;
        body.cast(size, element)?
    };
    let zero = body.number(element, 0.0)?;
    let is_negative = body.plain("Less", &[&indices, &zero])?;
    let moved = body.plain("Add", &[&indices, &size])?;
    let positions = body.plain("Where", &[&is_negative, &moved, &indices])?;
    let fact = body.fact(&positions);
    draft.set_input(1, positions, fact);
    draft.edit("negative indices are replaced by Where(indices < 0, indices + size, indices) before");
    Ok(())
}
