//! `BatchNormalization`, `InstanceNormalization`, `GroupNormalization` and Dropout: training mode, and the shape of parameters.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::{as_int, vector};
use super::inputs::{numbers, single};
use super::rule::{Rule, unchanged};
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_float, get_int};
use crate::convert::draft::{Draft, NewNode};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["BatchNormalization"], versions: (1, 6), up: unchanged, down: batch_of_images },
    Rule { operators: &["BatchNormalization"], versions: (6, 7), up: batch_outputs, down: batch_is_test },
    Rule { operators: &["BatchNormalization"], versions: (7, 9), up: unchanged, down: batch_of_matrices },
    Rule { operators: &["BatchNormalization"], versions: (9, 14), up: batch_training, down: batch_inference },
    Rule { operators: &["InstanceNormalization"], versions: (1, 6), up: unchanged, down: images_only },
    Rule { operators: &["GroupNormalization"], versions: (18, 21), up: group_per_channel, down: unchanged },
    Rule { operators: &["Dropout"], versions: (6, 7), up: dropout_without_test, down: dropout_is_test },
    Rule { operators: &["Dropout"], versions: (7, 10), up: dropout_mask_up, down: dropout_mask_down },
    Rule { operators: &["Dropout"], versions: (10, 12), up: dropout_ratio_up, down: dropout_ratio_down },
];

fn images_only(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    match draft.rank(0)? {
        4 => Ok(()),
        rank => impossible(format!("{} requires images with 4 axes, not {rank}", to.version)),
    }
}

fn batch_of_images(draft: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    images_only(draft, from, to)?;
    attributes::set(&mut draft.node, attributes::ints("consumed_inputs", &[0, 0, 0, 1, 1]));
    draft.edit(format!("attribute consumed_inputs, which {} requires, is added", to.version));
    Ok(())
}

fn batch_of_matrices(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    match draft.rank(0)? {
        1 => impossible(format!("{} does not accept an input of rank 1", to.version)),
        _ => Ok(()),
    }
}

/// True if outputs after the first are used.
fn has_more_outputs(draft: &Draft) -> bool {
    (1..draft.node.output.len()).any(|position| draft.has_output(position))
}

/// True if the node has outputs after the first, even with empty names: versions 7 to 13 then train.
fn lists_more_outputs(draft: &Draft) -> bool {
    draft.node.output.len() > 1
}

/// Adds unused outputs, which put the version into training mode.
fn request_statistics(draft: &mut Draft, count: usize) {
    for position in 1..count {
        let name = draft.fresh("unused");
        if draft.node.output.len() <= position {
            draft.node.output.push(name);
            draft.outputs.push(None);
        } else if let Some(place) = draft.node.output.get_mut(position).filter(|place| place.is_empty()) {
            *place = name;
        }
    }
}

fn check_spatial(draft: &Draft, to: &OpSpec) -> Step {
    match get_int(&draft.node, "spatial")? {
        Some(0) => impossible(format!("with spatial=0, the parameters of {} have other shapes", to.version)),
        _ => Ok(()),
    }
}

fn batch_outputs(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    check_spatial(draft, to)?;
    let is_test = get_int(&draft.node, "is_test")?.unwrap_or(0) != 0;
    if is_test && has_more_outputs(draft) {
        return impossible(format!("{} runs in training mode if outputs for statistics are requested", to.version));
    }
    if !is_test && !has_more_outputs(draft) {
        request_statistics(draft, 5);
        draft.edit(format!("outputs for statistics are added, which put {} into training mode", to.version));
    }
    if is_test {
        draft.trim_outputs();
    }
    if attributes::remove(&mut draft.node, "is_test") {
        draft.edit(format!("attribute is_test, which {} does not have, is removed", to.version));
    }
    draft.same_default("is_test");
    Ok(())
}

fn batch_is_test(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    check_spatial(draft, to)?;
    if !lists_more_outputs(draft) {
        attributes::set(&mut draft.node, attributes::int("is_test", 1));
        draft.edit(format!("attribute is_test=1 is added, which puts {} into inference mode", to.version));
    }
    Ok(())
}

fn batch_training(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !lists_more_outputs(draft) {
        return Ok(());
    }
    if draft.has_output(3) || draft.has_output(4) {
        return impossible(format!("{} has no outputs saved_mean and saved_var", to.version));
    }
    if draft.has_output(2) {
        return impossible(format!("the running variance of {} is the population variance", to.version));
    }
    attributes::set(&mut draft.node, attributes::int("training_mode", 1));
    draft.edit(format!("attribute training_mode=1 is added, which puts {} into training mode", to.version));
    Ok(())
}

fn batch_inference(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if get_int(&draft.node, "training_mode")?.unwrap_or(0) == 0 {
        draft.trim_outputs();
        return Ok(());
    }
    if draft.has_output(2) {
        return impossible(format!("{} does not define which variance it returns", to.version));
    }
    attributes::remove(&mut draft.node, "training_mode");
    request_statistics(draft, 5);
    draft.edit(format!("outputs for statistics are added, which put {} into training mode", to.version));
    Ok(())
}

/// Replaces one value per group by one value per channel.
fn group_per_channel(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    let Some(groups) = get_int(&draft.node, "num_groups")?.filter(|groups| *groups > 0) else {
        return impossible("num_groups is missing");
    };
    let shape = draft.shape(0)?;
    let Some(Dim::Size(channels)) = shape.get(1) else { return unknown("the number of channels is unknown") };
    let channels = as_int(*channels);
    if channels % groups != 0 {
        return impossible(format!("{channels} channels are not divisible by {groups} groups"));
    }
    if draft.element(0)? == ElementType::Double {
        let code = i64::from(ElementType::Double.code());
        attributes::set(&mut draft.node, attributes::int("stash_type", code));
        draft.edit(format!("attribute stash_type={code} keeps the precision of double"));
    }
    for (position, what) in [(1, "scale"), (2, "bias")] {
        if let Ok(shape) = draft.shape(position) {
            let fits = match shape.as_slice() {
                [Dim::Size(size)] => as_int(*size) == groups,
                [_] => true,
                _ => false,
            };
            if !fits {
                return impossible(format!("{what} is not a vector of {groups} elements, one per group"));
            }
        }
        let element = draft.element(position).ok();
        let column = super::broadcast::unsqueeze(draft, position, &[1])?;
        let spread = draft.add_constant("group_shape", &vector(&[groups, channels / groups])?);
        let block =
            draft.before(NewNode { op: "Expand", inputs: &[&column, &spread], attributes: Vec::new(), element })?;
        let flat = draft.add_constant("channel_shape", &vector(&[-1])?);
        let flat =
            draft.before(NewNode { op: "Reshape", inputs: &[&block, &flat], attributes: Vec::new(), element })?;
        let mut fact = draft.fact(position);
        fact.constant = None;
        fact.shape = usize::try_from(channels).ok().map(|size| vec![Dim::Size(size)]);
        draft.set_input(position, flat, Some(fact));
        draft.edit(format!("{what} is repeated for the channels of each group: Unsqueeze, Expand, Reshape before"));
    }
    Ok(())
}

fn dropout_without_test(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if get_int(&draft.node, "is_test")?.unwrap_or(0) == 0 {
        return impossible(format!("without is_test=1, elements are dropped, which {} does not do", to.version));
    }
    attributes::remove(&mut draft.node, "is_test");
    draft.edit(format!("attribute is_test, which {} does not have, is removed", to.version));
    Ok(())
}

fn dropout_is_test(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    attributes::set(&mut draft.node, attributes::int("is_test", 1));
    draft.edit(format!("attribute is_test=1 keeps {} from dropping elements", to.version));
    Ok(())
}

/// Casts the mask to the type of the input, its type below version 10.
fn dropout_mask_up(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if draft.has_output(1) {
        let element = draft.element(0)?;
        let (inner, output) = draft.redirect_output(1)?;
        let to = super::cast::target(draft, element);
        draft.after(
            &output,
            NewNode { op: "Cast", inputs: &[&inner], attributes: vec![to], element: Some(ElementType::Bool) },
        )?;
        set_output(draft, 1, ElementType::Bool);
        draft.edit(format!("the mask is cast from bool to {element}: Cast after"));
    }
    Ok(())
}

fn dropout_mask_down(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if draft.has_output(1) {
        let element = draft.element(0)?;
        let (inner, output) = draft.redirect_output(1)?;
        let to = super::cast::target(draft, ElementType::Bool);
        draft
            .after(&output, NewNode { op: "Cast", inputs: &[&inner], attributes: vec![to], element: Some(element) })?;
        set_output(draft, 1, element);
        draft.edit(format!("the mask is cast from {element} to bool: Cast after"));
    }
    Ok(())
}

fn set_output(draft: &mut Draft, position: usize, element: ElementType) {
    if let Some(Some(fact)) = draft.outputs.get_mut(position) {
        fact.value_type = Some(onnx_conformance_reference::types::ValueType::Tensor(element));
    }
}

fn dropout_ratio_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(ratio) = get_float(&draft.node, "ratio")? {
        attributes::remove(&mut draft.node, "ratio");
        draft.set_constant(1, "ratio", &numbers(ElementType::Float, &[], &[f64::from(ratio)])?);
        draft.edit(format!("ratio moves from an attribute to input 1 of {}", to.version));
    }
    draft.same_default("ratio");
    Ok(())
}

fn dropout_ratio_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(2) && draft.known(2, "training_mode")?.bools().contains(&true) {
        return impossible(format!("training_mode is true, but {} never drops elements", to.version));
    }
    if draft.has_input(1) {
        if let Some(ratio) = draft.constant(1).and_then(|ratio| single(&ratio, "ratio", to).ok()) {
            attributes::set(&mut draft.node, attributes::float("ratio", ratio));
        }
        draft.edit("ratio, which has no effect without dropping, moves from input 1 to an attribute");
    }
    draft.arrange_inputs(&[Some(0)]);
    if attributes::remove(&mut draft.node, "seed") {
        draft.edit("attribute seed, which has no effect without dropping, is removed");
    }
    Ok(())
}
