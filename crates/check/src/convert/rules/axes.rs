//! Axes: those that became an input, and those that may count from the back.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;

use super::{Rule, keep};
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_int, get_ints};
use crate::convert::draft::Draft;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Squeeze", "Unsqueeze"], versions: (11, 13), up: axes_to_input, down: axes_to_attribute },
    Rule { operators: &["ReduceSum"], versions: (11, 13), up: axes_to_input, down: reduction_to_attribute },
    Rule {
        operators: &[
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSum",
            "ReduceLogSumExp",
            "ReduceMax",
            "ReduceMean",
            "ReduceMin",
            "ReduceProd",
            "ReduceSumSquare",
        ],
        versions: (13, 18),
        up: axes_to_input,
        down: reduction_to_attribute,
    },
    Rule {
        operators: &[
            "ArgMax",
            "ArgMin",
            "Hardmax",
            "LogSoftmax",
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSum",
            "ReduceLogSumExp",
            "ReduceMax",
            "ReduceMean",
            "ReduceMin",
            "ReduceProd",
            "ReduceSum",
            "ReduceSumSquare",
            "Softmax",
            "Squeeze",
        ],
        versions: (1, 11),
        up: keep,
        down: from_front,
    },
    Rule { operators: &["Unsqueeze"], versions: (1, 11), up: keep, down: from_front_of_output },
    Rule { operators: &["Concat"], versions: (4, 11), up: keep, down: from_front },
    Rule { operators: &["Split"], versions: (2, 11), up: keep, down: from_front },
    Rule { operators: &["Flatten", "Compress"], versions: (9, 11), up: keep, down: from_front },
    Rule { operators: &["Concat"], versions: (1, 4), up: concat_axis, down: keep },
    Rule { operators: &["Gather"], versions: (1, 11), up: keep, down: gather_indices },
    Rule { operators: &["OneHot"], versions: (9, 11), up: keep, down: one_hot_indices },
];

/// Attribute axes becomes input 1.
fn axes_to_input(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(axes) = get_ints(&draft.node, "axes")? {
        attributes::remove(&mut draft.node, "axes");
        draft.set_constant(1, "axes", &vector(&axes)?);
        draft.edit(format!("axes moves from attribute to input 1 of {}", to.version));
    }
    Ok(())
}

/// Input 1, a constant, becomes attribute axes.
fn axes_to_attribute(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(1) {
        let axes = draft.known_ints(1, "axes")?;
        draft.clear_input(1);
        attributes::set(&mut draft.node, attributes::ints("axes", &axes));
        draft.edit(format!("axes moves from input 1 to an attribute of {}", to.version));
    }
    Ok(())
}

/// As `axes_to_attribute`, for a reduction, which over no axis reduces over all, or over none.
fn reduction_to_attribute(draft: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    let is_noop = get_int(&draft.node, "noop_with_empty_axes")?.unwrap_or(0) != 0;
    if attributes::remove(&mut draft.node, "noop_with_empty_axes") {
        draft.edit("attribute noop_with_empty_axes is removed");
    }
    let axes = if draft.has_input(1) { draft.known_ints(1, "axes")? } else { Vec::new() };
    if !axes.is_empty() {
        return axes_to_attribute(draft, from, to);
    }
    if is_noop {
        return impossible(format!(
            "{} reduces over all axes where none is named, and here none is reduced",
            to.version
        ));
    }
    if draft.has_input(1) {
        draft.clear_input(1);
        draft.edit("input 1 'axes', which names no axis, is removed");
    }
    Ok(())
}

/// A one-dimensional tensor of int64.
pub(super) fn vector(values: &[i64]) -> Step<Tensor> {
    tensor(ElementType::Int64, &[values.len()], values)
}

/// A tensor of integers.
pub(super) fn tensor(element: ElementType, shape: &[usize], values: &[i64]) -> Step<Tensor> {
    let values: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
    Tensor::of_integers(element, shape, &values).or_else(|error| impossible(error.to_string()))
}

/// Negative axes of a node whose axes are those of its first input.
fn from_front(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    count_from_front(draft, to, |draft| draft.rank(0))
}

/// Negative axes of a node whose axes are those of its output.
fn from_front_of_output(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    count_from_front(
        draft,
        to,
        |draft| Ok(draft.rank(0)? + get_ints(&draft.node, "axes")?.map_or(0, |axes| axes.len())),
    )
}

/// Writes negative axes as the ones they are, for a version whose axes count from the front.
pub(super) fn count_from_front(draft: &mut Draft, to: &OpSpec, rank: impl Fn(&Draft) -> Step<usize>) -> Step {
    if let Some(axis) = get_int(&draft.node, "axis")?
        && axis < 0
    {
        let axis = axis + as_int(rank(draft)?);
        attributes::set(&mut draft.node, attributes::int("axis", axis));
        draft.edit(format!("axis is written {axis}, since those of {} count from the front", to.version));
    }
    if let Some(axes) = get_ints(&draft.node, "axes")?
        && axes.iter().any(|axis| *axis < 0)
    {
        let rank = as_int(rank(draft)?);
        let axes: Vec<i64> = axes.iter().map(|axis| if *axis < 0 { axis + rank } else { *axis }).collect();
        draft.edit(format!("axes is written {axes:?}, since those of {} count from the front", to.version));
        attributes::set(&mut draft.node, attributes::ints("axes", &axes));
    }
    Ok(())
}

/// A size as ONNX counts.
pub(super) fn as_int(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// The axis that a number stands for, counted from the front.
pub(super) fn normal(axis: i64, rank: usize) -> Step<usize> {
    let counted = if axis < 0 { axis + as_int(rank) } else { axis };
    match usize::try_from(counted) {
        Ok(counted) if counted <= rank => Ok(counted),
        _ => impossible(format!("axis {axis} is none of {rank}")),
    }
}

/// The first version of Concat takes axis 1 when none is given.
fn concat_axis(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if get_int(&draft.node, "axis")?.is_none() {
        attributes::set(&mut draft.node, attributes::int("axis", 1));
        draft.edit("attribute axis, 1 when left out, is written out");
    }
    Ok(())
}

/// Indices that count from the front.
fn gather_indices(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let indices = draft.known_ints(1, "indices")?;
    if indices.iter().all(|index| *index >= 0) {
        return Ok(());
    }
    impossible(format!("{} has no indices that count from the back", to.version))
}

/// Indices that count from the front, or are out of range on both sides.
fn one_hot_indices(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let indices = draft.known(0, "indices")?;
    if indices.floats().iter().all(|index| *index >= 0.0) {
        return Ok(());
    }
    impossible(format!("{} has no indices that count from the back", to.version))
}
