//! `BatchNormalization`, `InstanceNormalization`, `GroupNormalization` and Dropout: training mode, and the shape of parameters.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::{as_int, axis_of, vector};
use super::body::Body;
use super::functions::wide;
use super::inputs::{numbers, single};
use super::rule::{Replacement, Rule, unchanged};
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_float, get_int, get_ints};
use crate::convert::draft::{Draft, NewNode};

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["BatchNormalization"], versions: (1, 6), up: unchanged, down: batch_of_images },
    Rule { operators: &["BatchNormalization"], versions: (6, 7), up: batch_outputs, down: batch_is_test },
    Rule { operators: &["BatchNormalization"], versions: (7, 9), up: unchanged, down: batch_of_matrices },
    Rule { operators: &["BatchNormalization"], versions: (9, 14), up: batch_training, down: batch_inference },
    Rule { operators: &["InstanceNormalization"], versions: (1, 6), up: unchanged, down: images_only },
    Rule { operators: &["GroupNormalization"], versions: (18, 21), up: group_per_channel, down: group_by_channel },
    Rule { operators: &["Dropout"], versions: (6, 7), up: dropout_without_test, down: dropout_is_test },
    Rule { operators: &["Dropout"], versions: (7, 10), up: dropout_mask_up, down: dropout_mask_down },
    Rule { operators: &["Dropout"], versions: (10, 12), up: dropout_ratio_up, down: dropout_ratio_down },
];

pub(super) const REPLACEMENTS: &[Replacement] = &[
    Replacement { operator: "GroupNormalization", replace: group_by_group },
    Replacement { operator: "LayerNormalization", replace: layer },
    Replacement { operator: "MeanVarianceNormalization", replace: mean_variance },
    Replacement { operator: "RMSNormalization", replace: root_mean_square },
];

/// The type of the first stage of a normalization, from attribute `stash_type`.
fn stash(draft: &Draft) -> Step<ElementType> {
    let code = get_int(&draft.node, "stash_type")?.unwrap_or(1);
    match i32::try_from(code).ok().and_then(ElementType::from_code) {
        Some(element @ (ElementType::Float | ElementType::Double)) => Ok(element),
        Some(other) => {
            impossible(format!("with stash_type {other}, every step of the function body would round to it"))
        }
        None => impossible(format!("stash_type {code} is not the number of a type")),
    }
}

/// Constant that a normalization adds before the square root, in the type of that stage.
#[derive(Clone, Copy)]
struct Epsilon {
    value: f32,
    element: ElementType,
}

/// Adds the nodes of `(x - mean) / sqrt(variance + epsilon)` over some axes.
fn normalized(body: &mut Body, x: &str, axes: &[i64], epsilon: Epsilon) -> Step<String> {
    let mean = body.mean(x, axes)?;
    let deviation = body.plain("Sub", &[x, &mean])?;
    let square = body.plain("Mul", &[&deviation, &deviation])?;
    let variance = body.mean(&square, axes)?;
    divided(body, &deviation, &variance, epsilon)
}

/// Adds the nodes of `sqrt(square + epsilon)`.
fn root(body: &mut Body, square: &str, epsilon: Epsilon) -> Step<String> {
    let epsilon = body.number(epsilon.element, f64::from(epsilon.value))?;
    let raised = body.plain("Add", &[square, &epsilon])?;
    body.plain("Sqrt", &[&raised])
}

/// Adds the nodes of `x / sqrt(square + epsilon)`.
fn divided(body: &mut Body, x: &str, square: &str, epsilon: Epsilon) -> Step<String> {
    let root = root(body, square, epsilon)?;
    body.plain("Div", &[x, &root])
}

/// `(x - mean) / (sqrt(variance) + 1e-9)`.
fn mean_variance(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, x) = (draft.element(0)?, draft.input(0));
    let (wide, mut axes) = (wide(element)?, get_ints(&draft.node, "axes")?.unwrap_or_else(|| vec![0, 2, 3]));
    if axes.iter().any(|axis| *axis < 0) {
        let rank = draft.rank(0)?;
        axes = axes.iter().map(|axis| axis_of(*axis, rank).map(as_int)).collect::<Step<_>>()?;
    }
    let mut body = Body::new(draft, from);
    let x = body.cast(x, wide)?;
    let mean = body.mean(&x, &axes)?;
    let deviation = body.plain("Sub", &[&x, &mean])?;
    let square = body.plain("Mul", &[&deviation, &deviation])?;
    let variance = body.mean(&square, &axes)?;
    let root = body.plain("Sqrt", &[&variance])?;
    let epsilon = body.number(wide, 1e-9)?;
    let root = body.plain("Add", &[&root, &epsilon])?;
    if wide == element {
        body.last("Div", &[&deviation, &root], Vec::new());
        return Ok(());
    }
    let result = body.plain("Div", &[&deviation, &root])?;
    body.last_cast(&result, element);
    Ok(())
}

/// Ends a body by the second stage, `normalized * scale + bias`, computed in a type that does not round between the two.
fn scale_and_shift(mut body: Body, normalized: String, [scale, bias]: [String; 2], element: ElementType) -> Step {
    let wide = wide(element)?;
    let normalized = body.cast(normalized, wide)?;
    let scale = body.cast(scale, wide)?;
    let (mut op, mut inputs) = ("Mul", [normalized, scale]);
    if !bias.is_empty() {
        let [normalized, scale] = &inputs;
        let scaled = body.plain("Mul", &[normalized, scale])?;
        (op, inputs) = ("Add", [scaled, body.cast(bias, wide)?]);
    }
    let [first, second] = &inputs;
    if wide == element {
        body.last(op, &[first, second], Vec::new());
        return Ok(());
    }
    let result = body.plain(op, &[first, second])?;
    body.last_cast(&result, element);
    Ok(())
}

/// The axes from attribute `axis` on, the last one by default.
fn axes_to_the_last(draft: &Draft) -> Step<Vec<i64>> {
    let (rank, axis) = (draft.rank(0)?, get_int(&draft.node, "axis")?.unwrap_or(-1));
    Ok((axis_of(axis, rank)?..rank).map(as_int).collect())
}

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, over the axes from `axis` on.
fn layer(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, stash, axes) = (draft.element(0)?, stash(draft)?, axes_to_the_last(draft)?);
    let epsilon = get_float(&draft.node, "epsilon")?.unwrap_or(1e-5);
    let [x, scale, bias] = [0, 1, 2].map(|position| draft.input(position));
    let mut body = Body::new(draft, from);
    let x = body.cast(x, stash)?;
    let mean = body.mean(&x, &axes)?;
    let deviation = body.plain("Sub", &[&x, &mean])?;
    let square = body.plain("Mul", &[&deviation, &deviation])?;
    let variance = body.mean(&square, &axes)?;
    let root = root(&mut body, &variance, Epsilon { value: epsilon, element: stash })?;
    let normalized = body.plain("Div", &[&deviation, &root])?;
    body.later_output(1, &mean, stash)?;
    if body.draft.has_output(2) {
        let inverse = body.plain("Reciprocal", &[&root])?;
        body.later_output(2, &inverse, stash)?;
    }
    let normalized = body.cast(normalized, element)?;
    scale_and_shift(body, normalized, [scale, bias], element)
}

/// `x / sqrt(mean of x^2 + epsilon) * scale`, over the axes from `axis` on. The result has the type of scale.
fn root_mean_square(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, scaled, stash) = (draft.element(0)?, draft.element(1)?, stash(draft)?);
    let (axes, epsilon) = (axes_to_the_last(draft)?, get_float(&draft.node, "epsilon")?.unwrap_or(1e-5));
    let [x, scale] = [0, 1].map(|position| draft.input(position));
    let mut body = Body::new(draft, from);
    let x = body.cast(x, stash)?;
    let square = body.plain("Mul", &[&x, &x])?;
    let square = body.mean(&square, &axes)?;
    let normalized = divided(&mut body, &x, &square, Epsilon { value: epsilon, element: stash })?;
    let normalized = body.cast(normalized, element)?;
    scale_and_shift(body, normalized, [scale, String::new()], scaled)
}

/// The attributes of a `GroupNormalization`, and the shape of three axes whose second one has the groups.
fn groups(draft: &Draft) -> Step<(f32, [i64; 3])> {
    let Some(groups) = get_int(&draft.node, "num_groups")?.filter(|groups| *groups > 0) else {
        return impossible("num_groups is missing");
    };
    let epsilon = get_float(&draft.node, "epsilon")?.unwrap_or(1e-5);
    let sizes =
        draft.fact(0).shape.and_then(|shape| shape.iter().skip(1).map(Dim::size).collect::<Option<Vec<usize>>>());
    let inner = sizes.and_then(|sizes| {
        let count = sizes.iter().try_fold(1_usize, |count, size| count.checked_mul(*size))?;
        i64::try_from(count).ok().map(|count| count / groups)
    });
    Ok((epsilon, [0, groups, inner.unwrap_or(-1)]))
}

/// Expands version 18: one value of scale and bias per group, and no `stash_type`.
fn group_by_group(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, (epsilon, shape)) = (draft.element(0)?, groups(draft)?);
    let wide = wide(element)?;
    let inputs = [0, 1, 2].map(|position| draft.input(position));
    let mut body = Body::new(draft, from);
    let [x, scale, bias] = inputs;
    let flat = body.cast(x.clone(), wide)?;
    let flat = body.reshape(&flat, &shape)?;
    let normalized = normalized(&mut body, &flat, &[2], Epsilon { value: epsilon, element: wide })?;
    let scale = body.cast(scale, wide)?;
    let bias = body.cast(bias, wide)?;
    let (scale, bias) = (body.reshape(&scale, &[-1, 1])?, body.reshape(&bias, &[-1, 1])?);
    let scaled = body.plain("Mul", &[&normalized, &scale])?;
    let shifted = body.plain("Add", &[&scaled, &bias])?;
    let result = body.cast(shifted, element)?;
    let full = body.plain("Shape", &[&x])?;
    body.last("Reshape", &[&result, &full], Vec::new());
    Ok(())
}

/// Expands version 21: one value of scale and bias per channel. Version 18, which is deprecated, has one per group.
fn group_by_channel(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (element, stash, (epsilon, shape)) = (draft.element(0)?, stash(draft)?, groups(draft)?);
    let spatial = draft.rank(0)?.saturating_sub(2);
    // bounded: by the rank of the input.
    let ones = std::iter::repeat_n(1, spatial);
    let column: Vec<i64> = std::iter::once(-1).chain(ones).collect();
    let [x, scale, bias] = [0, 1, 2].map(|position| draft.input(position));
    let mut body = Body::new(draft, from);
    let flat = body.cast(x.clone(), stash)?;
    let flat = body.reshape(&flat, &shape)?;
    let normalized = normalized(&mut body, &flat, &[2], Epsilon { value: epsilon, element: stash })?;
    let normalized = body.cast(normalized, element)?;
    let full = body.plain("Shape", &[&x])?;
    let normalized = body.plain("Reshape", &[&normalized, &full])?;
    let (scale, bias) = (body.reshape(&scale, &column)?, body.reshape(&bias, &column)?);
    scale_and_shift(body, normalized, [scale, bias], element)
}

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
            draft.node.output.push(name.into());
            draft.outputs.push(None);
        } else if let Some(place) = draft.node.output.get_mut(position).filter(|place| place.is_empty()) {
            *place = name.into();
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
    if draft.has_input(2)
        && draft.known(2, "training_mode", &format!("{} never drops elements", to.version))?.bools().contains(&true)
    {
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
