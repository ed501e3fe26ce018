//! Hostile models: the model of a case with one property inflated at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::proto::onnx::type_proto;
use onnx_conformance::reference::proto::{Message as _, ModelProto};
use onnx_conformance::reference::tensor::Tensor;
use onnx_conformance::reference::value::{Sequence, Value};
use onnx_conformance_cases::case::Case;

/// Approximate number of elements of the largest input.
const ELEMENTS: usize = 1 << 22;

/// A size that fits in memory, even as a window size, and one that overflows computations.
const EXTREMES: [i64; 2] = [1 << 11, i64::MAX];

/// A model and its inputs.
pub(crate) struct Hostile {
    /// The inflated property.
    pub(crate) what: String,
    pub(crate) model: Bytes,
    pub(crate) inputs: BTreeMap<String, Value>,
}

/// Creates hostile models from a case. With `all`, each axis of each input is inflated, too.
pub(crate) fn hostile(case: &Case, all: bool) -> Vec<Hostile> {
    let Some(data) = case.data.first() else { return Vec::new() };
    let Ok(model) = ModelProto::decode(case.model.clone()) else { return Vec::new() };
    let model = without_shapes(model);
    let bytes = || Bytes::from(model.encode_to_vec());
    let inputs: BTreeMap<String, Value> =
        data.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    let mut made = Vec::new();
    let mut large = if all { large_inputs(&inputs) } else { Vec::new() };
    let largest = all_dimensions(&inputs);
    large.extend(largest.clone());
    for (what, inputs) in large.into_iter().chain(extreme_inputs(&inputs)) {
        made.push(Hostile { what, model: bytes(), inputs });
    }
    for (what, extreme, model) in extreme_attributes(&model) {
        let model = Bytes::from(model.encode_to_vec());
        // Overflow needs no large inputs.
        let large = largest.clone().map(|(_, inputs)| (format!("{what}, large inputs"), inputs));
        let large = large.filter(|_| all || extreme == EXTREMES[0]);
        let small = (what, inputs.clone());
        for (what, inputs) in [small].into_iter().filter(|_| all || extreme != EXTREMES[0]).chain(large) {
            made.push(Hostile { what, model: model.clone(), inputs });
        }
    }
    made
}

/// Removes the declared shapes from the model, so that any shape fits.
fn without_shapes(mut model: ModelProto) -> ModelProto {
    if let Some(graph) = &mut model.graph {
        for info in graph.input.iter_mut().chain(&mut graph.output) {
            if let Some(type_proto::Value::TensorType(tensor)) =
                info.r#type.as_mut().and_then(|value_type| value_type.value.as_mut())
            {
                tensor.shape = None;
            }
        }
    }
    model
}

type Inputs = BTreeMap<String, Value>;

/// Enlarges each dimension until the largest input has about [`ELEMENTS`] elements: once by size, so that dimensions that must
/// agree still do, and once by position.
fn large_inputs(inputs: &Inputs) -> Vec<(String, Inputs)> {
    let tensors = || inputs.iter().filter_map(|(name, value)| Some((name, value.as_tensor()?)));
    let mut made = Vec::new();
    let sizes: BTreeSet<usize> =
        tensors().flat_map(|(_, tensor)| tensor.shape().iter().copied()).filter(|&size| size > 0).collect();
    let scale = |tensor: &Tensor, matches: &dyn Fn(usize, usize) -> bool, factor: usize| {
        let dims = tensor.shape().iter().enumerate();
        let shape = dims.map(|(axis, &size)| if matches(axis, size) { size * factor } else { size }).collect();
        tiled(tensor, shape)
    };
    for &size in &sizes {
        let count = |tensor: &Tensor| tensor.shape().iter().filter(|&&other| other == size).count();
        let room = |tensor: &Tensor| root(ELEMENTS / tensor.len().max(1), count(tensor));
        let with_size = tensors().map(|(_, tensor)| tensor).filter(|tensor| count(tensor) > 0);
        let factor = with_size.map(room).min().unwrap_or(1);
        let change = |value: &Value| match value {
            Value::Tensor(tensor) => Value::Tensor(scale(tensor, &|_, other| other == size, factor)),
            Value::Sequence(sequence) => Value::Sequence(longer(sequence)),
            other => other.clone(),
        };
        let large = inputs.iter().map(|(name, value)| (name.clone(), change(value))).collect();
        made.push((format!("dimensions of {size} times {factor}"), large));
    }
    for (name, tensor) in tensors() {
        for axis in 0..tensor.rank() {
            let mut large = inputs.clone();
            let factor = (ELEMENTS / tensor.len().max(1)).max(1);
            large.insert(name.clone(), scale(tensor, &|other, _| other == axis, factor).into());
            made.push((format!("axis {axis} of {name} times {factor}"), large));
        }
    }
    made
}

/// Enlarges all dimensions of all inputs until the largest has about [`ELEMENTS`] elements.
fn all_dimensions(inputs: &Inputs) -> Option<(String, Inputs)> {
    let room = |tensor: &Tensor| root(ELEMENTS / tensor.len().max(1), tensor.rank());
    let factor = inputs.values().filter_map(Value::as_tensor).map(room).min()?;
    let change = |value: &Value| match value {
        Value::Tensor(tensor) => {
            let shape = tensor.shape().iter().map(|&size| if size > 1 { size * factor } else { size }).collect();
            Value::Tensor(tiled(tensor, shape))
        }
        Value::Sequence(sequence) => Value::Sequence(longer(sequence)),
        other => other.clone(),
    };
    let large = inputs.iter().map(|(name, value)| (name.clone(), change(value))).collect();
    Some((format!("all dimensions times {factor}"), large))
}

/// Returns the largest number, at least 1, whose power is at most `room`.
fn root(room: usize, power: usize) -> usize {
    let power = u32::try_from(power).unwrap_or(u32::MAX).max(1);
    let fits = |number: &usize| number.checked_pow(power).is_some_and(|product| product <= room);
    if power == 1 { room.max(1) } else { (1..=room).take_while(fits).last().unwrap_or(1) }
}

/// Sets each small input of integers or floats to each of the extremes.
fn extreme_inputs(inputs: &Inputs) -> Vec<(String, Inputs)> {
    let mut made = Vec::new();
    for (name, value) in inputs {
        let Some(tensor) = value.as_tensor().filter(|tensor| tensor.len() <= 16) else { continue };
        if tensor.element_type() == ElementType::String {
            let mut long = inputs.clone();
            let text = "ab ".repeat(1 << 20);
            let strings: Arc<[Arc<str>]> = tensor.strings().iter().map(|_| Arc::from(text.as_str())).collect();
            let strings = Tensor::from_strings(tensor.shape().to_vec(), strings).unwrap();
            long.insert(name.clone(), strings.into());
            made.push((format!("{name} of long strings"), long));
            continue;
        }
        for extreme in EXTREMES {
            let mut changed = inputs.clone();
            let values: Vec<i128> = (0..tensor.len()).map(|_| i128::from(extreme)).collect();
            let all = Tensor::of_integers(tensor.element_type(), tensor.shape(), &values).unwrap();
            changed.insert(name.clone(), all.into());
            made.push((format!("{name} of {extreme}"), changed));
        }
    }
    made
}

/// Sets each attribute of each node to each of the extremes.
fn extreme_attributes(model: &ModelProto) -> Vec<(String, i64, ModelProto)> {
    let mut made = Vec::new();
    let nodes = model.graph.as_ref().map_or(&[][..], |graph| &graph.node);
    for (at, node) in nodes.iter().enumerate() {
        for (place, attribute) in node.attribute.iter().enumerate() {
            for extreme in EXTREMES {
                let mut changed = model.clone();
                let slot = changed.graph.as_mut().and_then(|graph| graph.node.get_mut(at));
                let Some(slot) = slot.and_then(|node| node.attribute.get_mut(place)) else { continue };
                if let Some(value) = &mut slot.i {
                    *value = extreme;
                }
                if let Some(value) = &mut slot.f {
                    *value = extreme as f32;
                }
                slot.ints.iter_mut().for_each(|value| *value = extreme);
                slot.floats.iter_mut().for_each(|value| *value = extreme as f32);
                if slot != attribute {
                    made.push((format!("{} of node {at} as {extreme}", attribute.name()), extreme, changed));
                }
            }
        }
    }
    made
}

/// Repeats the elements of a tensor to fill another shape.
fn tiled(tensor: &Tensor, shape: Vec<usize>) -> Tensor {
    let count: usize = shape.iter().product();
    if tensor.element_type() == ElementType::String {
        let strings = tensor.strings().iter().cycle().take(count).cloned().collect();
        return Tensor::from_strings(shape, strings).unwrap();
    }
    let length = count * tensor.element_type().size();
    let mut bytes = tensor.bytes().repeat(length.div_ceil(tensor.bytes().len().max(1)));
    bytes.truncate(length);
    Tensor::from_bytes(tensor.element_type(), shape, bytes.into()).unwrap()
}

/// Repeats the items of a sequence many times.
fn longer(sequence: &Sequence) -> Sequence {
    let items = sequence.items.iter().cycle().take(if sequence.items.is_empty() { 0 } else { 1 << 16 }).cloned();
    Sequence { item_type: sequence.item_type.clone(), items: Arc::new(items.collect()) }
}
