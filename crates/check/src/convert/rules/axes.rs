//! Axes: attributes that became an input, and negative axes.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Dim;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;

use super::rule::{Rule, unchanged};
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_int, get_ints};
use crate::convert::draft::{Draft, NewNode, NewRank, as_attribute};
use crate::infer::{contradiction, shape_text};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Squeeze", "Unsqueeze"], versions: (11, 13), up: axes_to_input, down: axes_to_attribute },
    Rule { operators: &["Squeeze", "Unsqueeze"], versions: (21, 23), up: axes_to_vector, down: unchanged },
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
        up: unchanged,
        down: nonnegative_axes,
    },
    Rule { operators: &["Unsqueeze"], versions: (1, 11), up: unchanged, down: nonnegative_axes_of_output },
    Rule { operators: &["Concat"], versions: (4, 11), up: unchanged, down: nonnegative_axes },
    Rule { operators: &["Split"], versions: (2, 11), up: unchanged, down: nonnegative_axes },
    Rule { operators: &["Flatten", "Compress"], versions: (9, 11), up: unchanged, down: nonnegative_axes },
    Rule { operators: &["Concat"], versions: (1, 4), up: concat_axis, down: unchanged },
    Rule { operators: &["OneHot"], versions: (9, 11), up: one_hot_known, down: one_hot_indices },
    Rule { operators: &["ArgMax", "ArgMin"], versions: (1, 11), up: check_not_empty, down: nonnegative_axes },
    Rule { operators: &["ArgMax", "ArgMin"], versions: (11, 12), up: unchanged, down: check_not_empty },
    Rule { operators: &["Scan"], versions: (9, 11), up: unchanged, down: scan_axes },
    Rule { operators: &["Scan"], versions: (8, 9), up: scan_batches, down: scan_batches },
    Rule { operators: &["If"], versions: (1, 11), up: unchanged, down: check_branches },
];

/// Moves attribute axes to input 1.
fn axes_to_input(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(axes) = get_ints(&draft.node, "axes")? {
        attributes::remove(&mut draft.node, "axes");
        draft.set_constant(1, "axes", &vector(&axes)?);
        draft.edit(format!("axes moves from an attribute to input 1 of {}", to.version));
    }
    Ok(())
}

/// Moves input 1, a constant, to attribute axes.
fn axes_to_attribute(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(1) {
        let axes = draft.known_ints(1, "axes", &as_attribute("axes", to))?;
        draft.clear_input(1);
        attributes::set(&mut draft.node, attributes::ints("axes", &axes));
        draft.edit(format!("axes moves from input 1 to an attribute of {}", to.version));
    }
    Ok(())
}

/// Like `axes_to_attribute`, for a reduction: without axes it reduces over all axes, or over none.
fn reduction_to_attribute(draft: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    let is_noop = get_int(&draft.node, "noop_with_empty_axes")?.unwrap_or(0) != 0;
    if attributes::remove(&mut draft.node, "noop_with_empty_axes") {
        draft.edit("attribute noop_with_empty_axes is removed");
    }
    let why = as_attribute("axes", to);
    let axes = if draft.has_input(1) { draft.known_ints(1, "axes", &why)? } else { Vec::new() };
    if !axes.is_empty() {
        return axes_to_attribute(draft, from, to);
    }
    if is_noop {
        return impossible(format!(
            "{} reduces over all axes if none is given, but this node reduces over none",
            to.version
        ));
    }
    if draft.has_input(1) {
        draft.clear_input(1);
        draft.edit("input 1 'axes', which is empty, is removed");
    }
    Ok(())
}

/// A one-dimensional int64 tensor.
pub(super) fn vector(values: &[i64]) -> Step<Tensor> {
    tensor(ElementType::Int64, &[values.len()], values)
}

/// An integer tensor.
pub(super) fn tensor(element: ElementType, shape: &[usize], values: &[i64]) -> Step<Tensor> {
    let values: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
    Tensor::of_integers(element, shape, &values).or_else(|error| impossible(error.to_string()))
}

/// Makes a vector of axes of another rank, since the text of the target calls axes one-dimensional.
fn axes_to_vector(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(1) || draft.fact(1).rank().is_none_or(|rank| rank == 1) {
        return Ok(());
    }
    let has_node = draft.change_rank((1, "axes"), NewRank::Vector, |draft| {
        let stem = draft.stem("axes_shape");
        let shape = draft.add_constant(&stem, &vector(&[-1])?);
        let (input, element) = (draft.input(1), draft.element(1).ok());
        draft.before(NewNode { op: "Reshape", inputs: &[&input, &shape], attributes: Vec::new(), element })
    })?;
    let node = if has_node { ": Reshape before" } else { "" };
    draft.edit(format!("the axes become a vector, as {} requires{node}", to.version));
    Ok(())
}

/// Replaces negative axes, which refer to the first input.
fn nonnegative_axes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    use_nonnegative_axes(draft, to, |draft| draft.rank(0))
}

/// Replaces negative axes, which refer to the output.
fn nonnegative_axes_of_output(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    use_nonnegative_axes(draft, to, |draft| {
        Ok(draft.rank(0)? + get_ints(&draft.node, "axes")?.map_or(0, |axes| axes.len()))
    })
}

/// Replaces negative axes by the equivalent nonnegative ones, for a version without negative axes.
pub(super) fn use_nonnegative_axes(draft: &mut Draft, to: &OpSpec, rank: impl Fn(&Draft) -> Step<usize>) -> Step {
    if let Some(axis) = get_int(&draft.node, "axis")?
        && axis < 0
    {
        let axis = as_int(axis_of(axis, rank(draft)?)?);
        attributes::set(&mut draft.node, attributes::int("axis", axis));
        draft.edit(format!("axis is set to {axis}, since {} does not support negative axes", to.version));
    }
    if let Some(axes) = get_ints(&draft.node, "axes")?
        && axes.iter().any(|axis| *axis < 0)
    {
        let rank = rank(draft)?;
        let counted = |axis: &i64| if *axis < 0 { axis_of(*axis, rank).map(as_int) } else { Ok(*axis) };
        let axes = axes.iter().map(counted).collect::<Step<Vec<i64>>>()?;
        draft.edit(format!("axes is set to {axes:?}, since {} does not support negative axes", to.version));
        attributes::set(&mut draft.node, attributes::ints("axes", &axes));
    }
    Ok(())
}

/// Converts a size to ONNX's integer type.
pub(super) fn as_int(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Normalizes a position between axes, counted from the front: 0 to `rank`.
pub(super) fn normalized_axis(axis: i64, rank: usize) -> Step<usize> {
    let counted = if axis < 0 { axis.saturating_add(as_int(rank)) } else { axis };
    match usize::try_from(counted) {
        Ok(counted) if counted <= rank => Ok(counted),
        _ => impossible(format!("axis {axis} is out of range for rank {rank}")),
    }
}

/// Normalizes an axis, counted from the front: 0 to `rank - 1`.
pub(super) fn axis_of(axis: i64, rank: usize) -> Step<usize> {
    match normalized_axis(axis, rank)? {
        counted if counted < rank => Ok(counted),
        _ => impossible(format!("axis {axis} is out of range for rank {rank}")),
    }
}

/// Writes out axis 1, the default of the first version of Concat.
fn concat_axis(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if get_int(&draft.node, "axis")?.is_none() {
        attributes::set(&mut draft.node, attributes::int("axis", 1));
        draft.edit("the default of attribute axis, 1, is set explicitly");
    }
    Ok(())
}

/// Records that the meaning is unchanged if indices are known not to be negative.
fn one_hot_known(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if draft.constant(0).is_some_and(|indices| indices.floats().iter().all(|index| *index >= 0.0)) {
        draft.mark_equivalent();
    }
    Ok(())
}

/// Checks that indices, which must be constant, are not negative.
fn one_hot_indices(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let indices = draft.known(0, "indices", &format!("{} does not support negative indices", to.version))?;
    if indices.floats().iter().all(|index| *index >= 0.0) {
        draft.mark_equivalent();
        return Ok(());
    }
    impossible(format!("{} does not support negative indices", to.version))
}

/// Checks that the input is not empty, as version 11 requires even if the output is empty.
fn check_not_empty(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    match draft.fact(0).sizes() {
        Some(sizes) if sizes.contains(&0) => impossible(format!("{} does not accept an empty input", to.version)),
        _ => Ok(()),
    }
}

/// Replaces negative axes of inputs and outputs.
fn scan_axes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let scanned = get_int(&draft.node, "num_scan_inputs")?.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let states = draft.node.input.len().saturating_sub(scanned);
    for (name, is_input) in [("scan_input_axes", true), ("scan_output_axes", false)] {
        let Some(mut axes) = get_ints(&draft.node, name)?.filter(|axes| axes.iter().any(|axis| *axis < 0)) else {
            continue;
        };
        for (at, axis) in axes.iter_mut().enumerate() {
            let facts = if is_input { &draft.inputs } else { &draft.outputs };
            let rank = facts.get(states + at).and_then(|fact| fact.as_ref()?.rank());
            match rank {
                _ if *axis >= 0 => {}
                Some(rank) => *axis = as_int(axis_of(*axis, rank)?),
                None => return unknown(format!("{name} has negative axes of a value with unknown rank")),
            }
        }
        attributes::set(&mut draft.node, attributes::ints(name, &axes));
        draft.edit(format!("{name} is set to {axes:?}, since {} does not support negative axes", to.version));
    }
    Ok(())
}

fn scan_batches(_: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    impossible(format!("only Scan-8 scans batches of sequences, so {} cannot replace {}", to.version, from.version))
}

/// The branches of If.
const BRANCHES: [&str; 2] = ["then_branch", "else_branch"];

/// Checks that both branches return values of the same shape, as required before version 11. Both branches have the
/// sizes that the model declares for an output of the node.
fn check_branches(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for position in 0..draft.node.output.len() {
        let merged = draft.outputs.get(position).cloned().flatten().unwrap_or_default();
        let is_tensor = merged.value_type.as_ref().is_none_or(|it| matches!(it, ValueType::Tensor(_)));
        if merged.sizes().is_some() || !is_tensor {
            continue;
        }
        let [one, two] = BRANCHES.map(|name| draft.subgraph_output(name, position));
        let is_known = one.shape.as_ref().is_some_and(|shape| !shape.contains(&Dim::Unknown));
        if is_known && one.shape == two.shape {
            continue;
        }
        let [then_shape, else_shape] = [&one, &two].map(|fact| match &fact.shape {
            Some(shape) => format!("shape {}", shape_text(shape)),
            None => "an unknown shape".to_owned(),
        });
        let found = format!("output {position} has {then_shape} in then_branch and {else_shape} in else_branch");
        if contradiction(&one, &two).is_some() {
            return impossible(format!("the branches of {} return equal shapes, but {found}", to.version));
        }
        return unknown(format!(
            "the branches of {} return equal shapes, but {found}; declare the sizes of that output in the model if they are \
             equal",
            to.version
        ));
    }
    Ok(())
}
