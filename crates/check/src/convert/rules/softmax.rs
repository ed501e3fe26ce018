//! Softmax, `LogSoftmax` and Hardmax: along one axis since version 13, before that over all axes from one on.

use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::{as_int, axis_of, normalized_axis};
use super::rule::Rule;
use crate::convert::answer::Step;
use crate::convert::attributes::{self, get_int};
use crate::convert::draft::{Draft, NewNode};
use crate::facts::ValueFact;

pub(super) const RULES: &[Rule] =
    &[Rule { operators: &["Hardmax", "LogSoftmax", "Softmax"], versions: (11, 13), up: flatten, down: transpose }];

/// Merges the axes from `axis` on into one: Flatten before, Reshape after.
fn flatten(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let axis = get_int(&draft.node, "axis")?.unwrap_or(1);
    if let Ok(rank) = draft.rank(0)
        && normalized_axis(axis, rank)? + 1 == rank
    {
        return Ok(());
    }
    let sizes = draft.shape(0).unwrap_or_default();
    if sizes.contains(&Dim::Size(0)) {
        attributes::set(&mut draft.node, attributes::int("axis", -1));
        draft.edit("axis is set to -1, since the input has no elements");
        return Ok(());
    }
    // Without allowzero, Reshape replaces a size of 0 by the size of its input's axis, and Flatten has changed the
    // axes.
    let may_be_empty = sizes.is_empty() || sizes.iter().any(|size| !matches!(size, Dim::Size(_)));
    let zero = (may_be_empty && draft.onnx_opset() >= 14).then(|| attributes::int("allowzero", 1));
    let (data, element) = (draft.input(0), draft.element(0).ok());
    let shape = draft.before(NewNode { op: "Shape", inputs: &[&data], attributes: Vec::new(), element })?;
    let flat = draft.before(NewNode {
        op: "Flatten",
        inputs: &[&data],
        attributes: vec![attributes::int("axis", axis)],
        element,
    })?;
    let value_type = draft.fact(0).value_type;
    draft.set_input(0, flat, Some(ValueFact { value_type, ..ValueFact::default() }));
    attributes::set(&mut draft.node, attributes::int("axis", -1));
    let (inner, output) = draft.redirect_output(0)?;
    draft.after(
        &output,
        NewNode { op: "Reshape", inputs: &[&inner, &shape], attributes: zero.into_iter().collect(), element },
    )?;
    draft.edit(format!("the axes from {axis} on are merged: Flatten(axis={axis}) before, axis=-1, Reshape after"));
    Ok(())
}

/// Moves the axis to the end and back: Transpose before and after.
fn transpose(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let axis = get_int(&draft.node, "axis")?.unwrap_or(-1);
    if axis == -1 {
        return Ok(());
    }
    let rank = draft.rank(0)?;
    let (at, last) = (axis_of(axis, rank)?, rank.saturating_sub(1));
    if at == last {
        return Ok(());
    }
    let swapped = |axis: usize| {
        if axis == at {
            last
        } else if axis == last {
            at
        } else {
            axis
        }
    };
    let order: Vec<i64> = (0..rank).map(swapped).map(as_int).collect();
    let (data, element) = (draft.input(0), draft.element(0).ok());
    let perm = || vec![attributes::ints("perm", &order)];
    let moved = draft.before(NewNode { op: "Transpose", inputs: &[&data], attributes: perm(), element })?;
    let mut fact = draft.fact(0);
    fact.shape = fact.shape.map(|shape| {
        let at = |axis: &i64| usize::try_from(*axis).ok().and_then(|axis| shape.get(axis)).cloned();
        order.iter().filter_map(at).collect()
    });
    draft.set_input(0, moved, Some(fact));
    attributes::set(&mut draft.node, attributes::int("axis", as_int(last)));
    let (inner, output) = draft.redirect_output(0)?;
    draft.after(&output, NewNode { op: "Transpose", inputs: &[&inner], attributes: perm(), element })?;
    draft.edit(format!("axis {axis} is moved to the end: Transpose(perm={order:?}) before and after, axis={last}"));
    Ok(())
}
