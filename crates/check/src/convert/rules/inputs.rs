//! Parameters that became inputs: of Pad, Clip, Slice, `TopK`, Reshape, Tile and Split.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::infer::Size;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::tensor::Tensor;

use super::axes::{as_int, axis_of, tensor, use_nonnegative_axes, vector};
use super::rule::{Rule, unchanged};
use crate::bounded;
use crate::convert::answer::{Step, impossible, unknown};
use crate::convert::attributes::{self, get_float, get_int, get_ints};
use crate::convert::draft::{Draft, NewNode, as_attribute};
use crate::facts::ValueFact;

pub(super) const RULES: &[Rule] = &[
    Rule { operators: &["Pad"], versions: (1, 2), up: pads_renamed, down: paddings },
    Rule { operators: &["Pad"], versions: (2, 11), up: pad_up, down: pad_down },
    Rule { operators: &["Pad"], versions: (13, 18), up: unchanged, down: pad_all_axes },
    Rule { operators: &["Clip"], versions: (1, 6), up: clip_limits, down: clip_defaults },
    Rule { operators: &["Clip"], versions: (6, 11), up: clip_up, down: clip_down },
    Rule { operators: &["Slice"], versions: (1, 10), up: slice_up, down: slice_down },
    Rule { operators: &["Slice"], versions: (10, 11), up: unchanged, down: slice_axes },
    Rule { operators: &["TopK"], versions: (1, 10), up: top_k_up, down: top_k_down },
    Rule { operators: &["TopK"], versions: (10, 11), up: unchanged, down: top_k_axis },
    Rule { operators: &["Reshape"], versions: (1, 5), up: reshape_up, down: reshape_down },
    Rule { operators: &["Reshape"], versions: (13, 14), up: unchanged, down: reshape_zero },
    Rule { operators: &["Tile"], versions: (1, 6), up: tile_up, down: tile_down },
    Rule { operators: &["Split"], versions: (1, 2), up: split_axis, down: unchanged },
    Rule { operators: &["Split"], versions: (11, 13), up: split_up, down: split_down },
    Rule { operators: &["Split"], versions: (13, 18), up: split_number, down: split_lengths },
];

/// A tensor of numbers, each rounded once to the type.
pub(super) fn numbers(element: ElementType, shape: &[usize], values: &[f64]) -> Step<Tensor> {
    if element.is_float() {
        return Tensor::of_floats(element, shape, values).or_else(|error| impossible(error.to_string()));
    }
    let mut integers = Vec::new();
    for value in values {
        #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
        let integer = *value as i64;
        if integer as f64 != *value {
            return impossible(format!("{value} cannot be represented in {element}"));
        }
        integers.push(integer);
    }
    tensor(element, shape, &integers)
}

/// The value of a one-element constant as a 32-bit float, the type of attributes; fails if it is not exact.
pub(super) fn single(tensor: &Tensor, what: &str, to: &OpSpec) -> Step<f32> {
    let Some(value) = tensor.floats().first().copied().filter(|_| tensor.len() == 1) else {
        return impossible(format!("{what} is not a single number"));
    };
    #[expect(clippy::cast_possible_truncation, reason = "checked by the comparison")]
    let narrow = value as f32;
    if f64::from(narrow) == value || value.is_nan() {
        return Ok(narrow);
    }
    impossible(format!("attribute {what} of {} is a 32-bit float, which cannot represent {value}", to.version))
}

/// Moves a list input, which must be constant, to an attribute.
fn list_to_attribute(draft: &mut Draft, position: usize, name: &str, to: &OpSpec) -> Step {
    if draft.has_input(position) {
        let values = draft.known_ints(position, name, &as_attribute(name, to))?;
        attributes::set(&mut draft.node, attributes::ints(name, &values));
        draft.edit(format!("{name} moves from input {position} to an attribute of {}", to.version));
    }
    Ok(())
}

/// Moves an attribute of integers to a list input.
fn list_to_input(draft: &mut Draft, name: &str, position: usize, to: &OpSpec) -> Step {
    if let Some(values) = get_ints(&draft.node, name)? {
        attributes::remove(&mut draft.node, name);
        draft.set_constant(position, name, &vector(&values)?);
        draft.edit(format!("{name} moves from an attribute to input {position} of {}", to.version));
    }
    Ok(())
}

fn pads_renamed(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if let Some(pads) = get_ints(&draft.node, "paddings")? {
        attributes::remove(&mut draft.node, "paddings");
        attributes::set(&mut draft.node, attributes::ints("pads", &pads));
        draft.edit("attribute paddings is renamed to pads");
    }
    Ok(())
}

fn paddings(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(pads) = get_ints(&draft.node, "pads")? {
        if pads.iter().any(|pad| *pad < 0) {
            return impossible(format!("{} does not support negative pads", to.version));
        }
        attributes::remove(&mut draft.node, "pads");
        attributes::set(&mut draft.node, attributes::ints("paddings", &pads));
        draft.edit("attribute pads is renamed to paddings");
    }
    Ok(())
}

fn pad_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    list_to_input(draft, "pads", 1, to)?;
    let Some(value) = get_float(&draft.node, "value")? else { return Ok(()) };
    attributes::remove(&mut draft.node, "value");
    if value.to_bits() == 0 {
        draft.edit("attribute value, which has its default 0, is removed");
        return Ok(());
    }
    let element = draft.element(0)?;
    draft.set_constant(2, "constant_value", &numbers(element, &[], &[f64::from(value)])?);
    draft.edit(format!("value moves from an attribute to input 2 'constant_value' of {}", to.version));
    Ok(())
}

fn pad_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(2) {
        let value = single(&draft.known(2, "constant_value", &as_attribute("value", to))?, "value", to)?;
        attributes::set(&mut draft.node, attributes::float("value", value));
        draft.edit(format!("constant_value moves from input 2 to attribute value of {}", to.version));
    }
    list_to_attribute(draft, 1, "pads", to)?;
    draft.arrange_inputs(&[Some(0)]);
    Ok(())
}

/// Replaces pads of some axes by pads of all axes.
fn pad_all_axes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(3) {
        return Ok(());
    }
    let why = format!("pads are listed for all axes in {}", to.version);
    let (pads, axes) = (draft.known_ints(1, "pads", &why)?, draft.known_ints(3, "axes", &why)?);
    let rank = draft.rank(0)?;
    let mut all = bounded::repeated(0, 2 * rank)?;
    for (at, axis) in axes.iter().enumerate() {
        let axis = axis_of(*axis, rank)?;
        for (target, source) in [(axis, at), (rank + axis, axes.len() + at)] {
            if let (Some(place), Some(pad)) = (all.get_mut(target), pads.get(source)) {
                *place = *pad;
            }
        }
    }
    draft.clear_input(3);
    draft.set_constant(1, "pads", &vector(&all)?);
    draft.edit(format!("pads are listed for all axes, since {} has no input axes", to.version));
    Ok(())
}

/// The largest float16 number.
const FLOAT16_MAX: f32 = 65504.0;

/// The first opset in which Max and Min broadcast.
const BROADCASTING: i64 = 8;

/// Writes out limits. An omitted limit is the largest finite number of the type in version 1, and of float in version
/// 6. No attribute can represent the largest double, so Max before the node and Min after it clamp infinities.
fn clip_limits(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let element = draft.element(0)?;
    for (name, sign, op) in [("min", -1.0, "Max"), ("max", 1.0, "Min")] {
        draft.same_default(name);
        if get_float(&draft.node, name)?.is_some() {
            continue;
        }
        let limit = match element {
            ElementType::Double => f32::INFINITY * sign,
            ElementType::Float16 => FLOAT16_MAX * sign,
            _ => continue,
        };
        if element == ElementType::Double && draft.onnx_opset() < BROADCASTING {
            return impossible(format!(
                "{} clamps to {name} as a 32-bit float, and no other node clamps infinities",
                to.version
            ));
        }
        attributes::set(&mut draft.node, attributes::float(name, limit));
        if element == ElementType::Float16 {
            draft.edit(format!("attribute {name}={limit} keeps {} from returning infinities", to.version));
            continue;
        }
        draft
            .edit(format!("attribute {name}={limit} keeps {} from clamping doubles to the range of float", to.version));
        let largest = draft.add_constant(name, &numbers(element, &[], &[f64::MAX * f64::from(sign)])?);
        if name == "min" {
            let data = draft.input(0);
            let raised = draft.before(NewNode {
                op,
                inputs: &[&data, &largest],
                attributes: Vec::new(),
                element: Some(element),
            })?;
            let fact = draft.fact(0);
            draft.set_input(0, raised, Some(ValueFact { constant: None, ..fact }));
            draft.edit("infinities are clamped to the lowest double: Max before");
        } else {
            let (inner, output) = draft.redirect_output(0)?;
            let element = Some(element);
            draft.after(&output, NewNode { op, inputs: &[&inner, &largest], attributes: Vec::new(), element })?;
            draft.edit("infinities are clamped to the largest double: Min after");
        }
    }
    Ok(())
}

/// Omitted limits are the lowest and the largest float in both versions; for other types they are written out.
fn clip_defaults(draft: &mut Draft, _: &OpSpec, _: &OpSpec) -> Step {
    if draft.element(0)? == ElementType::Float {
        draft.same_default("min");
        draft.same_default("max");
    }
    Ok(())
}

fn clip_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for (position, name, limit) in [(1, "min", f32::MIN), (2, "max", f32::MAX)] {
        let value = get_float(&draft.node, name)?.unwrap_or(limit);
        attributes::remove(&mut draft.node, name);
        if value.is_infinite() && value.is_sign_negative() == limit.is_sign_negative() {
            draft.edit(format!("attribute {name}, which has no effect, is removed"));
            continue;
        }
        let element = draft.element(0)?;
        draft.set_constant(position, name, &numbers(element, &[], &[f64::from(value)])?);
        draft.edit(format!("{name} moves from an attribute to input {position} of {}", to.version));
    }
    Ok(())
}

fn clip_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for (position, name, limit) in [(1, "min", f32::NEG_INFINITY), (2, "max", f32::INFINITY)] {
        let why = as_attribute(name, to);
        let value =
            if draft.has_input(position) { single(&draft.known(position, name, &why)?, name, to)? } else { limit };
        attributes::set(&mut draft.node, attributes::float(name, value));
        draft.edit(format!("{name} moves from input {position} to attribute {name}={value} of {}", to.version));
    }
    draft.arrange_inputs(&[Some(0)]);
    Ok(())
}

fn slice_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    for (position, name) in [(1, "starts"), (2, "ends"), (3, "axes")] {
        list_to_input(draft, name, position, to)?;
    }
    Ok(())
}

fn slice_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(4) {
        let steps = draft.known_ints(4, "steps", &format!("{} has only steps of 1", to.version))?;
        if steps.len() != draft.known_ints(1, "starts", &as_attribute("starts", to))?.len() {
            return impossible("steps and starts differ in their number of elements");
        }
        if steps.iter().any(|step| *step != 1) {
            return impossible(format!("{} does not support steps", to.version));
        }
    }
    for (position, name) in [(1, "starts"), (2, "ends"), (3, "axes")] {
        list_to_attribute(draft, position, name, to)?;
    }
    draft.arrange_inputs(&[Some(0)]);
    use_nonnegative_axes(draft, to, |draft| draft.rank(0))
}

/// Replaces negative axes, which must be constant.
fn slice_axes(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(3) {
        return Ok(());
    }
    let axes = draft.known(3, "axes", &format!("{} does not support negative axes", to.version))?;
    if axes.indices().iter().all(|axis| *axis >= 0) {
        return Ok(());
    }
    let rank = draft.rank(0)?;
    let mut counted = Vec::new();
    for axis in axes.indices() {
        counted.push(as_int(axis_of(axis, rank)?));
    }
    draft.set_constant(3, "axes", &tensor(axes.element_type(), axes.shape(), &counted)?);
    draft.edit(format!("axes is set to {counted:?}, since {} does not support negative axes", to.version));
    Ok(())
}

fn top_k_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if let Some(k) = get_int(&draft.node, "k")? {
        attributes::remove(&mut draft.node, "k");
        draft.set_constant(1, "k", &vector(&[k])?);
        draft.edit(format!("k moves from an attribute to input 1 'K' of {}", to.version));
    }
    Ok(())
}

fn top_k_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let k = draft.known_ints(1, "K", &as_attribute("k", to))?;
    let [k] = k.as_slice() else { return impossible("K is not a single number") };
    attributes::set(&mut draft.node, attributes::int("k", *k));
    draft.clear_input(1);
    draft.edit(format!("K moves from input 1 to attribute k of {}", to.version));
    Ok(())
}

/// Selects the largest elements, sorted, along a nonnegative axis. With sorted=0 any order is allowed, so a sorted one is, too.
fn top_k_axis(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if get_int(&draft.node, "sorted")? == Some(0) {
        attributes::remove(&mut draft.node, "sorted");
        draft.edit(format!("attribute sorted=0 is removed, since {} always sorts", to.version));
    }
    if get_int(&draft.node, "axis")? == Some(-1) {
        return Ok(());
    }
    use_nonnegative_axes(draft, to, |draft| draft.rank(0))
}

fn reshape_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    list_to_input(draft, "shape", 1, to)
}

fn reshape_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    list_to_attribute(draft, 1, "shape", to)?;
    draft.arrange_inputs(&[Some(0)]);
    Ok(())
}

/// Removes allowzero if each entry of the shape is other than 0, or the size of the same axis of the input: a 0 there means the
/// same without it.
fn reshape_zero(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if get_int(&draft.node, "allowzero")?.unwrap_or(0) == 0 {
        return Ok(());
    }
    let (shape, entries) = (draft.fact(0).shape.unwrap_or_default(), shape_entries(draft));
    let Some(entries) = entries else {
        return unknown(format!(
            "the number of entries of the shape is unknown, and with allowzero=1, which {} does not have, a 0 is a size",
            to.version
        ));
    };
    for (axis, entry) in entries.iter().enumerate() {
        let is_copied = entry.is_some() && shape.get(axis).and_then(Size::from_dim) == *entry;
        match entry {
            Some(entry) if is_copied || entry.is_positive() || entry.value() == Some(-1) => {}
            Some(entry) if entry.value() == Some(0) => {
                return impossible(format!(
                    "entry {axis} of the shape is 0, a size with allowzero=1; {} replaces it by the size of the input",
                    to.version
                ));
            }
            _ => {
                return unknown(format!(
                    "entry {axis} of the shape is computed at run time and may be 0, a size with allowzero=1; {} replaces it \
                     by the size of the input",
                    to.version
                ));
            }
        }
    }
    attributes::remove(&mut draft.node, "allowzero");
    let constant = draft.constant(1).is_some();
    draft.edit(if constant && !entries.contains(&Some(Size::constant(0))) {
        "attribute allowzero is removed, since the shape has no 0"
    } else {
        "attribute allowzero is removed, since an entry of the shape is 0 only where the input has that size"
    });
    Ok(())
}

/// The known entries of the shape of a Reshape; `None` if their number is unknown.
fn shape_entries(draft: &Draft) -> Option<Vec<Option<Size>>> {
    if let Some(shape) = draft.constant(1) {
        return Some(shape.indices().into_iter().map(|entry| Some(Size::constant(entry))).collect());
    }
    draft.fact(1).symbolic_elements()
}

/// Replaces tiles and axis by a repeat count for each axis.
fn tile_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let why = format!("{} has a number of repeats for each axis instead", to.version);
    let (tiles, axis) = (draft.known(1, "tiles", &why)?, draft.known(2, "axis", &why)?);
    let rank = draft.rank(0)?;
    let (tiles, axis) = (integer(&tiles)?, axis_of(integer(&axis)?, rank)?);
    let repeats: Vec<i64> = (0..rank).map(|at| if at == axis { tiles } else { 1 }).collect();
    draft.clear_input(2);
    draft.set_constant(1, "repeats", &vector(&repeats)?);
    draft.edit(format!("tiles and axis are replaced by input 1 'repeats' of {}", to.version));
    Ok(())
}

/// The integer value of a one-element constant of any type.
fn integer(tensor: &Tensor) -> Step<i64> {
    let value = tensor.floats().first().copied().filter(|value| value.fract() == 0.0 && value.abs() < 9e15);
    #[expect(clippy::cast_possible_truncation, reason = "an integer in range")]
    match value.filter(|_| tensor.len() == 1) {
        Some(value) => Ok(value as i64),
        None => unknown("the input is not a single integer"),
    }
}

fn tile_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let repeats = draft.known_ints(1, "repeats", &format!("{} repeats along one axis only", to.version))?;
    let mut tiled = repeats.iter().enumerate().filter(|(_, count)| **count != 1);
    if repeats.is_empty() {
        return impossible(format!("{} repeats along an axis, but a scalar has none", to.version));
    }
    let (axis, count) = tiled.next().map_or((0, 1), |(axis, count)| (axis, *count));
    if tiled.next().is_some() {
        return impossible(format!("{} repeats along one axis only", to.version));
    }
    let element = draft.element(0)?;
    let number = |value: i64| numbers(element, &[], &[value as f64]);
    draft.set_constant(1, "tiles", &number(count)?);
    draft.set_constant(2, "axis", &number(as_int(axis))?);
    draft.edit(format!("repeats is replaced by the inputs tiles and axis of {}", to.version));
    Ok(())
}

/// The first version also has the lengths as an input, and its default axis is 0.
fn split_axis(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if draft.has_input(1) {
        let lengths = draft.known(1, "split", &as_attribute("split", to))?;
        let mut values = Vec::new();
        for value in lengths.floats() {
            values.push(integer(&numbers(ElementType::Double, &[1], &[value])?)?);
        }
        draft.clear_input(1);
        attributes::set(&mut draft.node, attributes::ints("split", &values));
        draft.edit(format!("split moves from input 1 to an attribute of {}", to.version));
    }
    if get_int(&draft.node, "axis")?.is_none() {
        attributes::set(&mut draft.node, attributes::int("axis", 0));
        draft.edit("the default of attribute axis, 0, is set explicitly");
    }
    Ok(())
}

fn split_up(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    list_to_input(draft, "split", 1, to)
}

fn split_down(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    list_to_attribute(draft, 1, "split", to)?;
    draft.arrange_inputs(&[Some(0)]);
    Ok(())
}

fn split_number(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    if !draft.has_input(1) {
        let number = as_int(draft.node.output.len());
        attributes::set(&mut draft.node, attributes::int("num_outputs", number));
        draft.edit(format!("attribute num_outputs={number}, which {} requires without split, is added", to.version));
    }
    Ok(())
}

/// Writes out lengths that are not equal; without `num_outputs` the parts would be.
fn split_lengths(draft: &mut Draft, _: &OpSpec, to: &OpSpec) -> Step {
    let Some(number) = get_int(&draft.node, "num_outputs")? else { return Ok(()) };
    attributes::remove(&mut draft.node, "num_outputs");
    draft.edit(format!("attribute num_outputs, which {} does not have, is removed", to.version));
    let (shape, axis) = (draft.shape(0)?, get_int(&draft.node, "axis")?.unwrap_or(0));
    let Some(onnx_conformance_reference::model::graph::Dim::Size(size)) = shape.get(axis_of(axis, shape.len())?) else {
        return unknown("the size of the split axis is unknown");
    };
    let size = as_int(*size);
    if number < 1 || size % number == 0 {
        return Ok(());
    }
    let part = size / number + 1;
    let mut lengths = Vec::new();
    let mut left = size;
    for _ in 0..bounded::items(number)? {
        let length = part.min(left);
        lengths.push(length);
        left -= length;
    }
    draft.set_constant(1, "split", &vector(&lengths)?);
    draft.edit(format!("split is set to {lengths:?}, since the parts have different lengths"));
    Ok(())
}
