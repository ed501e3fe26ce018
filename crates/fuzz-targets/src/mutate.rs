//! Mutation of models that keeps most of their structure: extreme attributes, dims and elements, and other types,
//! lengths, names and operators.

use std::sync::LazyLock;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message, ModelProto, NodeProto, TensorProto, Text, Texts, ValueInfoProto,
};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::pick::{pick, place};
use crate::{Random, text};

const INTEGERS: [i64; 16] = [
    0,
    -1,
    1,
    2,
    3,
    -2,
    7,
    64,
    1000,
    1 << 20,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 40,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
];

const FLOATS: [f32; 10] =
    [0.0, -0.0, 1.0, -1.0, 0.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE];

/// Maximum number of items of a list.
const MAX_ITEMS: usize = 1 << 12;

static VERSIONS: LazyLock<Vec<OperatorVersion>> = LazyLock::new(|| Specs::embedded().all().collect());

/// Mutates a model with a few changes; sometimes the result is not a model.
pub(crate) fn model(random: &mut Random, input: &[u8]) -> Vec<u8> {
    if random.below(16) == 0 {
        return text::mutate(random, input);
    }
    let Ok(mut model) = ModelProto::decode(input) else { return text::mutate(random, input) };
    for _ in 0..=random.below(3) {
        change(random, &mut model);
    }
    model.encode_to_vec()
}

/// The newest opset of ONNX's own domain, and the newest IR version.
static NEWEST: LazyLock<(i64, i64)> = LazyLock::new(|| {
    let specs = Specs::embedded();
    let ir = specs.releases().ok().and_then(|releases| releases.newest()).map_or(1, |release| release.ir);
    (specs.newest_opset("").unwrap_or(1).into(), ir.into())
});

fn change(random: &mut Random, model: &mut ModelProto) {
    match random.below(24) {
        0 => {
            let at = place(random, model.opset_import.len());
            if let Some(import) = model.opset_import.get_mut(at) {
                import.version = Some(if random.below(4) == 0 { integer(random) } else { random.between(1, NEWEST.0) });
            }
        }
        1 => model.ir_version = Some(random.between(2, NEWEST.1)),
        2 | 3 => {
            if let Some(graph) = graph(random, model) {
                change_infos(random, graph);
            }
        }
        4..=8 => {
            if let Some(tensor) = tensor(random, model) {
                change_tensor(random, tensor);
            }
        }
        9..=11 => {
            if let Some(nodes) = nodes(random, model) {
                change_nodes(random, nodes);
            }
        }
        _ => {
            let Some(nodes) = nodes(random, model) else { return };
            let at = place(random, nodes.len());
            if let Some(node) = nodes.get_mut(at) {
                change_node(random, node);
            }
        }
    }
}

fn integer(random: &mut Random) -> i64 {
    pick(random, &INTEGERS).copied().unwrap_or(0)
}

/// Selects the main graph or a subgraph of a node in it.
fn graph<'a>(random: &mut Random, model: &'a mut ModelProto) -> Option<&'a mut GraphProto> {
    let graph = model.graph.as_mut()?;
    let has_inner = |node: &NodeProto| node.attribute.iter().any(|attribute| attribute.g.is_some());
    let inner: Vec<usize> = (0..graph.node.len()).filter(|&at| graph.node.get(at).is_some_and(has_inner)).collect();
    match pick(random, &inner) {
        Some(&at) if random.below(2) == 0 => {
            graph.node.get_mut(at)?.attribute.iter_mut().find_map(|attribute| attribute.g.as_deref_mut())
        }
        _ => Some(graph),
    }
}

fn nodes<'a>(random: &mut Random, model: &'a mut ModelProto) -> Option<&'a mut Vec<NodeProto>> {
    if !model.functions.is_empty() && random.below(2) == 0 {
        let at = place(random, model.functions.len());
        return model.functions.get_mut(at).map(|function| &mut function.node);
    }
    graph(random, model).map(|graph| &mut graph.node)
}

/// Selects an initializer, or the tensor of an attribute.
fn tensor<'a>(random: &mut Random, model: &'a mut ModelProto) -> Option<&'a mut TensorProto> {
    let graph = graph(random, model)?;
    let sparse = graph.sparse_initializer.iter_mut().flat_map(|sparse| [&mut sparse.values, &mut sparse.indices]);
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    let inside = attributes.flat_map(AttributeProto::all_tensors_mut);
    let mut tensors: Vec<&mut TensorProto> =
        graph.initializer.iter_mut().chain(sparse.flatten()).chain(inside).collect();
    if tensors.is_empty() { None } else { Some(tensors.swap_remove(place(random, tensors.len()))) }
}

fn change_tensor(random: &mut Random, tensor: &mut TensorProto) {
    match random.below(8) {
        0 => change_dims(random, &mut tensor.dims),
        1 => tensor.data_type = Some(i32::try_from(random.between(0, 30)).unwrap_or(0)),
        2 => change_elements(random, tensor),
        // The shape and the elements change together, so that the tensor remains valid.
        3..=6 => reshape(random, tensor),
        _ => {
            let mut raw = tensor.raw_data.clone().unwrap_or_default().to_vec();
            raw.truncate(place(random, raw.len() + 1));
            tensor.raw_data = Some(Bytes::from(raw));
        }
    }
}

fn change_dims(random: &mut Random, dims: &mut Vec<i64>) {
    let at = place(random, dims.len() + 1);
    match random.below(4) {
        0 if at < dims.len() => drop(dims.remove(at)),
        1 => dims.insert(at, integer(random)),
        2 => dims.resize(place(random, 40), 1),
        _ => {
            if let Some(dim) = dims.get_mut(at) {
                *dim = integer(random);
            }
        }
    }
}

/// Sets some elements to extreme values.
fn change_elements(random: &mut Random, tensor: &mut TensorProto) {
    let mut raw = tensor.raw_data.clone().unwrap_or_default().to_vec();
    let width = ElementType::from_code(tensor.data_type()).map_or(1, |element| element.size().max(1));
    let bits = match random.below(4) {
        0 => pick(random, &FLOATS).map_or(0, |value| u64::from(value.to_bits())),
        1 => pick(random, &FLOATS).map_or(0, |value| f64::from(*value).to_bits()),
        2 => random.next_bits(),
        _ => integer(random).cast_unsigned(),
    };
    let all = random.below(4) == 0;
    let chosen = place(random, raw.len() / width);
    for (at, element) in raw.chunks_exact_mut(width).enumerate() {
        if all || at == chosen {
            element.iter_mut().zip(bits.to_le_bytes()).for_each(|(byte, other)| *byte = other);
        }
    }
    if !raw.is_empty() {
        tensor.raw_data = Some(Bytes::from(raw));
    }
    if let Some(text) = tensor.string_data.first_mut() {
        *text = Bytes::from(text::mutate(random, text));
    }
}

/// Changes the shape to another one with small sizes, including 0, and repeats the old elements.
fn reshape(random: &mut Random, tensor: &mut TensorProto) {
    let Some(element) = ElementType::from_code(tensor.data_type()) else { return };
    match random.below(4) {
        0 if !tensor.dims.is_empty() => {
            let at = place(random, tensor.dims.len());
            tensor.dims.remove(at);
        }
        1 => {
            let at = place(random, tensor.dims.len() + 1);
            let size = random.between(0, 3);
            tensor.dims.insert(at, size);
        }
        2 => tensor.dims = vec![0, random.between(1, 4), i64::MAX],
        _ => {
            let at = place(random, tensor.dims.len());
            let size = random.between(0, 9);
            tensor.dims.iter_mut().skip(at).take(1).for_each(|dim| *dim = size);
        }
    }
    let count = tensor.dims.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim)).unwrap_or(0);
    let count = usize::try_from(count).unwrap_or(0).min(MAX_ITEMS);
    if element == ElementType::String {
        let text = tensor.string_data.first().cloned().unwrap_or_default();
        tensor.string_data.resize(count, text);
        return;
    }
    let bits = count * usize::try_from(element.bits()).unwrap_or(8);
    let old = tensor.raw_data.take().filter(|raw| !raw.is_empty()).unwrap_or_else(|| Bytes::from_static(&[0]));
    tensor.raw_data = Some(old.iter().copied().cycle().take(bits.div_ceil(8)).collect::<Vec<u8>>().into());
}

fn change_infos(random: &mut Random, graph: &mut GraphProto) {
    let list = match random.below(2) {
        0 => &mut graph.input,
        _ => &mut graph.output,
    };
    let at = place(random, list.len());
    match random.below(6) {
        0 if at < list.len() => drop(list.remove(at)),
        1 => {
            if let Some(copy) = list.get(at).cloned() {
                list.push(copy);
            }
        }
        _ => {
            if let Some(info) = list.get_mut(at) {
                change_info(random, info);
            }
        }
    }
}

fn change_info(random: &mut Random, info: &mut ValueInfoProto) {
    let Some(type_proto::Value::TensorType(tensor)) = info.r#type.as_mut().and_then(|declared| declared.value.as_mut())
    else {
        return info.r#type = None;
    };
    match random.below(3) {
        0 => tensor.elem_type = Some(i32::try_from(random.between(0, 30)).unwrap_or(0)),
        1 => tensor.shape = None,
        _ => {
            let value = Some(dimension::Value::DimValue(integer(random)));
            tensor.shape.get_or_insert_default().dim.push(Dimension { denotation: None, value });
        }
    }
}

fn change_nodes(random: &mut Random, nodes: &mut Vec<NodeProto>) {
    let (at, other) = (place(random, nodes.len()), place(random, nodes.len()));
    match random.below(4) {
        0 if at < nodes.len() => drop(nodes.remove(at)),
        1 if at < nodes.len() => nodes.swap(at, other),
        2 => {
            if let Some(mut copy) = nodes.get(at).cloned() {
                for output in &mut copy.output {
                    *output = format!("{output}_").into();
                }
                nodes.insert(at + 1, copy);
            }
        }
        // Another operator, perhaps with the same number of inputs.
        _ => {
            let version = pick(random, &VERSIONS);
            if let (Some(node), Some(version)) = (nodes.get_mut(at), version) {
                node.op_type = Some(version.name.as_str().into());
            }
        }
    }
}

fn change_node(random: &mut Random, node: &mut NodeProto) {
    match random.below(12) {
        0 | 1 => change_names(random, &mut node.input),
        2 => change_names(random, &mut node.output),
        3 => add_attribute(random, node),
        4 => {
            let at = place(random, node.attribute.len());
            if at < node.attribute.len() {
                node.attribute.remove(at);
            }
        }
        _ => {
            let at = place(random, node.attribute.len());
            match node.attribute.get_mut(at) {
                Some(attribute) => change_attribute(random, attribute),
                None => add_attribute(random, node),
            }
        }
    }
}

fn change_names(random: &mut Random, names: &mut Texts) {
    let (at, other) = (place(random, names.len()), place(random, names.len()));
    match random.below(5) {
        0 if at < names.len() => drop(names.remove(at)),
        1 if at < names.len() => names.swap(at, other),
        2 => names.push(Text::new()),
        3 => {
            if let Some(name) = names.get(other).cloned() {
                names.insert(at, name);
            }
        }
        _ => {
            if let Some(name) = names.get_mut(at) {
                *name = Text::new();
            }
        }
    }
}

/// Adds an attribute of any version of the operator.
fn add_attribute(random: &mut Random, node: &mut NodeProto) {
    let specs = Specs::embedded();
    let domain = if node.domain().is_empty() { "ai.onnx" } else { node.domain() };
    let versions: Vec<u32> = specs.versions(domain, node.op_type()).collect();
    let spec = pick(random, &versions).and_then(|&since| specs.find(domain, node.op_type(), i64::from(since)).ok());
    let attributes: Vec<_> = spec.into_iter().flat_map(|spec| &spec.attributes).collect();
    if let Some((name, declared)) = pick(random, &attributes) {
        let mut attribute = AttributeProto {
            name: Some((*name).clone()),
            r#type: Some(declared.kind.code()),
            ..AttributeProto::default()
        };
        change_attribute(random, &mut attribute);
        node.attribute.push(attribute);
    }
}

fn change_attribute(random: &mut Random, attribute: &mut AttributeProto) {
    use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType as P;
    if random.below(20) == 0 {
        attribute.r#type = Some(i32::try_from(random.between(0, 16)).unwrap_or(0));
    }
    match P::try_from(attribute.r#type.unwrap_or(0)).unwrap_or(P::Undefined) {
        P::Float => attribute.f = pick(random, &FLOATS).copied(),
        P::Int => attribute.i = Some(integer(random)),
        P::String => {
            let old = attribute.s.clone().unwrap_or_default();
            attribute.s = Some(text::mutate(random, &old).into());
        }
        P::Tensor => change_tensor(random, attribute.t.get_or_insert_default()),
        P::Floats => {
            let value = pick(random, &FLOATS).copied().unwrap_or(0.0);
            change_list(random, &mut attribute.floats, value);
        }
        P::Ints => {
            let value = integer(random);
            change_list(random, &mut attribute.ints, value);
        }
        P::Strings => {
            let old = pick(random, &attribute.strings).cloned().unwrap_or_default();
            let mut value = text::mutate(random, &old);
            value.truncate(256);
            let value = Bytes::from(value);
            change_list(random, &mut attribute.strings, value);
        }
        P::Graph => {
            let graph = attribute.g.get_or_insert_default();
            if random.below(2) == 0 { change_infos(random, graph) } else { change_nodes(random, &mut graph.node) }
        }
        _ => attribute.ref_attr_name = Some("outer".to_owned()),
    }
}

/// Sets, adds, removes or repeats an item.
fn change_list<T: Clone>(random: &mut Random, items: &mut Vec<T>, value: T) {
    let at = place(random, items.len() + 1);
    match random.below(6) {
        0 => items.insert(at, value),
        1 if at < items.len() => drop(items.remove(at)),
        2 => items.clear(),
        3 => items.resize(place(random, MAX_ITEMS), value),
        _ => {
            if let Some(item) = items.get_mut(at) {
                *item = value;
            }
        }
    }
}
