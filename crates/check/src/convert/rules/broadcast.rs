//! Broadcasting: first on request and along axes given by `axis`, later as in `NumPy`.

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::{as_int, normalized_axis, vector};
use super::rule::{Rule, unchanged};
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_int};
use crate::convert::draft::{Draft, NewNode};
use crate::facts::ValueFact;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Add", "Div", "Mul", "Sub"], versions: (6, 7), up: align, down: request },
    Rule {
        operators: &["And", "Equal", "Greater", "Less", "Or", "Pow", "Xor"],
        versions: (1, 7),
        up: align,
        down: request,
    },
    Rule { operators: &["Max", "Mean", "Min", "Sum"], versions: (6, 8), up: same_ranks, down: same_shapes },
    Rule { operators: &["Gemm"], versions: (9, 11), up: unchanged, down: gemm_with_c },
    Rule { operators: &["Gemm"], versions: (6, 7), up: gemm_up, down: gemm_down },
    Rule { operators: &["PRelu"], versions: (6, 7), up: slope_up, down: slope_down },
];

/// Appends axes to B, so that its end is aligned with the end of A.
fn align(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let (axis, broadcast) = (get_int(&draft.node, "axis")?, get_int(&draft.node, "broadcast")?);
    let removed = ["axis", "broadcast"].map(|name| attributes::remove(&mut draft.node, name));
    if removed.contains(&true) {
        draft.edit(format!("attributes axis and broadcast, which {} does not have, are removed", to.version));
    }
    if broadcast.unwrap_or(0) == 0 {
        return check_same_ranks(draft);
    }
    if let (Some(rank), Some(own)) = (draft.fact(0).rank(), draft.fact(1).rank())
        && own > rank
    {
        return impossible(format!(
            "{} would add axes of B, which has {own}, to those of A, which has {rank}",
            to.version
        ));
    }
    let Some(axis) = axis else { return Ok(()) };
    let (rank, own) = (draft.rank(0)?, draft.rank(1)?);
    let axis = normalized_axis(axis, rank)?;
    match rank.checked_sub(axis + own) {
        Some(0) => Ok(()),
        _ if own == 0 => Ok(()),
        Some(behind) => append_axes(draft, own, behind),
        None => impossible(format!("B with {own} axes does not fit at axis {axis} of A, which has {rank} axes")),
    }
}

/// Checks that inputs that are not broadcast have the same rank, because an invalid node must not become valid.
fn same_ranks(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    check_same_ranks(draft)
}

fn check_same_ranks(draft: &Draft) -> Step {
    let ranks = (0..draft.node.input.len()).filter_map(|position| draft.fact(position).rank());
    let ranks: Vec<usize> = ranks.collect();
    match ranks.iter().find(|rank| Some(*rank) != ranks.first()) {
        Some(other) => impossible(format!(
            "ranks {} and {other} are invalid before the conversion, but broadcast after it",
            ranks.first().unwrap_or(other)
        )),
        None => Ok(()),
    }
}

/// Appends `behind` axes of size 1 after the `own` axes of input 1.
fn append_axes(draft: &mut Draft, own: usize, behind: usize) -> Step {
    let axes: Vec<i64> = (own..own + behind).map(as_int).collect();
    let mut fact = draft.fact(1);
    fact.constant = None;
    if let Some(shape) = &mut fact.shape {
        // bounded: by the highest rank of a shape.
        shape.extend(std::iter::repeat_n(Dim::Size(1), behind));
    }
    let name = unsqueeze(draft, 1, &axes)?;
    draft.set_input(1, name, Some(fact));
    draft.edit(format!("trailing axes are added to input 1: Unsqueeze(axes={axes:?}) before"));
    Ok(())
}

/// Adds an Unsqueeze of an input before the node.
pub(super) fn unsqueeze(draft: &mut Draft, position: usize, axes: &[i64]) -> Step<String> {
    along_axes(draft, "Unsqueeze", position, axes)
}

/// Adds a Squeeze of an input before the node.
pub(super) fn squeeze(draft: &mut Draft, position: usize, axes: &[i64]) -> Step<String> {
    along_axes(draft, "Squeeze", position, axes)
}

fn along_axes(draft: &mut Draft, op: &str, position: usize, axes: &[i64]) -> Step<String> {
    let (input, element) = (draft.input(position), draft.element(position).ok());
    if draft.onnx_opset() < 13 {
        let attributes = vec![attributes::ints("axes", axes)];
        return draft.before(NewNode { op, inputs: &[&input], attributes, element });
    }
    let stem = draft.stem("axes");
    let axes = draft.add_constant(&stem, &vector(axes)?);
    draft.before(NewNode { op, inputs: &[&input, &axes], attributes: Vec::new(), element })
}

/// Operators whose inputs may be swapped.
const COMMUTATIVE: &[&str] = &["Add", "And", "Equal", "Mul", "Or", "Xor"];

/// Requests that B is broadcast to A, if the shapes allow it.
fn request(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let (a, b) = (draft.shape(0)?, draft.shape(1)?);
    if are_same(&a, &b)? {
        return Ok(());
    }
    if fits_into(&b, &a)? {
        return request_broadcast(draft, &a, &b, to);
    }
    if COMMUTATIVE.contains(&to.version.name.as_str()) && fits_into(&a, &b)? {
        draft.arrange_inputs(&[Some(1), Some(0)]);
        draft.edit(format!("the inputs are swapped, since {} broadcasts only the second", to.version));
        return request_broadcast(draft, &b, &a, to);
    }
    impossible(format!("{} broadcasts only the second input", to.version))
}

/// True if two shapes are known to be equal; fails if that is unknown.
fn are_same(a: &[Dim], b: &[Dim]) -> Step<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    let mut same = true;
    for (one, other) in a.iter().zip(b) {
        match (one, other) {
            (Dim::Size(one), Dim::Size(other)) => same &= one == other,
            (Dim::Name(one), Dim::Name(other)) if one == other => {}
            _ => return unknown("the shapes of the inputs are unknown"),
        }
    }
    Ok(same)
}

/// True if `b` broadcasts to `a` without changing it.
fn fits_into(b: &[Dim], a: &[Dim]) -> Step<bool> {
    let Some(start) = a.len().checked_sub(b.len()) else { return Ok(false) };
    for (own, other) in b.iter().zip(a.iter().skip(start)) {
        match (own, other) {
            (Dim::Size(1), _) => {}
            (Dim::Size(own), Dim::Size(other)) if own == other => {}
            (Dim::Name(own), Dim::Name(other)) if own == other => {}
            (Dim::Size(_), Dim::Size(_)) => return Ok(false),
            _ => return unknown("the shapes of the inputs are unknown"),
        }
    }
    Ok(true)
}

/// Aligns B by its axes other than 1; the leading and trailing axes of size 1 are removed.
fn request_broadcast(draft: &mut Draft, a: &[Dim], b: &[Dim], to: &OpSpec) -> Step {
    attributes::set(&mut draft.node, attributes::int("broadcast", 1));
    let start = a.len() - b.len();
    let is_one = |dim: &Dim| *dim == Dim::Size(1);
    let Some(first) = b.iter().position(|dim| !is_one(dim)) else {
        draft.edit(format!("attribute broadcast=1 is set, since {} does not broadcast by default", to.version));
        return Ok(());
    };
    let last = b.iter().rposition(|dim| !is_one(dim)).unwrap_or(first);
    let inner = b.iter().zip(a.iter().skip(start)).take(last + 1).skip(first);
    if inner.into_iter().any(|(own, other)| is_one(own) && !is_one(other)) {
        return impossible(format!("{} does not broadcast an inner axis", to.version));
    }
    // bounded: by the axes of B.
    let ones: Vec<i64> = (0..first).chain(last + 1..b.len()).map(as_int).collect();
    if !ones.is_empty() {
        let mut fact = draft.fact(1);
        fact.constant = None;
        fact.shape = b.get(first..=last).map(<[Dim]>::to_vec);
        let name = squeeze(draft, 1, &ones)?;
        draft.set_input(1, name, Some(fact));
        draft.edit(format!("axes of size 1 are removed from input 1: Squeeze(axes={ones:?}) before"));
    }
    let axis = start + first;
    attributes::set(&mut draft.node, attributes::int("axis", as_int(axis)));
    draft.edit(format!(
        "attributes broadcast=1 and axis={axis} are set, since {} does not broadcast by default",
        to.version
    ));
    Ok(())
}

/// Checks that all inputs have the same shape, as required before version 8.
fn same_shapes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let first = draft.shape(0)?;
    for position in 1..draft.node.input.len() {
        if !are_same(&first, &draft.shape(position)?)? {
            return impossible(format!("{} does not broadcast", to.version));
        }
    }
    Ok(())
}

/// Replaces an omitted C, which is required before version 11, by a scalar 0.
fn gemm_with_c(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(2) {
        let zero = super::inputs::numbers(draft.element(0)?, &[], &[0.0])?;
        draft.set_constant(2, "c", &zero);
        draft.edit(format!("a scalar 0 is added as input 2 'C', which {} requires", to.version));
        // Without C, beta has no effect; an infinite one times 0 would be NaN.
        if attributes::remove(&mut draft.node, "beta") {
            draft.edit("attribute beta, which has no effect without C, is removed");
        }
    }
    Ok(())
}

fn gemm_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if attributes::remove(&mut draft.node, "broadcast") {
        draft.edit(format!("attribute broadcast, which {} does not have, is removed", to.version));
    }
    Ok(())
}

fn gemm_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    attributes::set(&mut draft.node, attributes::int("broadcast", 1));
    draft.edit(format!("attribute broadcast=1 is set, since {} does not broadcast by default", to.version));
    Ok(())
}

/// A slope with one value per channel is aligned with axis 1.
fn slope_up(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let slope = draft.shape(1)?;
    if slope.iter().all(|dim| *dim == Dim::Size(1)) {
        draft.mark_equivalent();
        return if draft.rank(0)? == 0 && !slope.is_empty() { shrink_slope(draft, slope.len()) } else { Ok(()) };
    }
    let (rank, own) = (draft.rank(0)?, slope.len());
    match rank.checked_sub(1 + own) {
        Some(behind) if behind > 0 && own == 1 => append_axes(draft, own, behind),
        _ => Ok(()),
    }
}

/// Converts a slope of one element to a scalar, as a scalar X requires.
fn shrink_slope(draft: &mut Draft, rank: usize) -> Step {
    let axes: Vec<i64> = (0..rank).map(as_int).collect();
    let fact = ValueFact { shape: Some(Vec::new()), constant: None, ..draft.fact(1) };
    let name = squeeze(draft, 1, &axes)?;
    draft.set_input(1, name, Some(fact));
    draft.edit(format!("axes of size 1 are removed from input 1: Squeeze(axes={axes:?}) before"));
    Ok(())
}

/// Converts a slope of one value, or of one value per channel.
fn slope_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let (data, slope) = (draft.shape(0)?, draft.shape(1)?);
    let is_one = |dim: &Dim| *dim == Dim::Size(1);
    let larger: Vec<usize> = slope.iter().enumerate().filter(|(_, dim)| !is_one(dim)).map(|(axis, _)| axis).collect();
    let channel = match larger.as_slice() {
        [] => slope.len().saturating_sub(1),
        // Aligned at the end, this is the channel axis.
        [axis] if axis + data.len() == 1 + slope.len() => *axis,
        _ => return impossible(format!("{} requires a single slope or one per channel", to.version)),
    };
    draft.mark_equivalent();
    let ones: Vec<i64> = (0..slope.len()).filter(|axis| *axis != channel).map(as_int).collect();
    if ones.is_empty() {
        return Ok(());
    }
    let mut fact = draft.fact(1);
    fact.constant = None;
    fact.shape = slope.get(channel).map(|dim| vec![dim.clone()]);
    let name = squeeze(draft, 1, &ones)?;
    draft.set_input(1, name, Some(fact));
    draft.edit(format!("axes of size 1 are removed from input 1: Squeeze(axes={ones:?}) before"));
    Ok(())
}
