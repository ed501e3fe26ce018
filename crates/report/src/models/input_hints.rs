//! Hints for inputs in the nodes and constants of a model: sizes of dimensions, and ranges of positions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, NodeProto, TensorProto, Text, ValueInfoProto};

/// Number of ways with small sizes, each with its own.
const SMALL_WAYS: usize = 6;

/// Heights and widths of images to try: multiples of the factors that networks reduce them by.
const IMAGE_SIZES: [usize; 3] = [32, 64, 224];

/// Maximum number of known sizes to try.
const MAX_SIZES: usize = 12;

/// Largest size of a dimension that may come from a constant.
const MAX_SIZE: i64 = 4096;

/// Maximum number of unknown dimensions that get separate sizes.
const MAX_DIMENSIONS: usize = 4;

/// Maximum number of ways.
const MAX_WAYS: usize = 48;

/// Maximum number of nodes between an input and the node that reads positions from it.
pub(super) const MAX_STEPS: usize = 8;

/// Maximum number of elements of a constant that is read.
const MAX_ELEMENTS: i64 = 64;

/// A way to generate inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) sizes: Sizes,
    pub(super) integers: Integers,
}

/// Sizes of the unknown dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sizes {
    /// 1 to 4, by the number of the way.
    Small(usize),
    /// The same for all.
    All(usize),
    /// 1 for the first dimension, which is usually the batch, and this for the others.
    Image(usize),
    /// A size for the dimension of this name, and 2 for the others.
    One(String, usize),
}

/// Values of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Integers {
    /// 0 to 3, or positions in their range.
    Small,
    /// The same for all.
    Same(i64),
}

/// Lists ways to choose sizes and integers, the most likely ones first.
pub(super) fn ways(graph: &GraphProto, wanted: &[&ValueInfoProto]) -> Vec<Way> {
    let way = |sizes| Way { sizes, integers: Integers::Small };
    let dims = || wanted.iter().flat_map(|input| tensor_dims(input).unwrap_or_default());
    let is_unknown = |dim: &&Dimension| !matches!(dim.value, Some(dimension::Value::DimValue(size)) if size >= 0);
    let mut all = vec![way(Sizes::Small(0))];
    if dims().any(|dim| is_unknown(&dim)) {
        let sizes = known_sizes(graph);
        let is_image = |dims: &[Dimension]| dims.len() == 4 && dims.iter().skip(1).filter(is_unknown).count() > 1;
        if wanted.iter().filter_map(|input| tensor_dims(input)).any(is_image) {
            all.extend(IMAGE_SIZES.map(|size| way(Sizes::Image(size))));
        }
        all.extend(sizes.first().map(|size| way(Sizes::All(*size))));
        all.extend((1..SMALL_WAYS).map(|number| way(Sizes::Small(number))));
        all.extend(sizes.iter().skip(1).map(|size| way(Sizes::All(*size))));
        let mut names: Vec<&String> = Vec::new();
        for dim in dims() {
            if let Some(dimension::Value::DimParam(name)) = &dim.value
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        let each =
            |name: &&String| sizes.iter().map(|size| way(Sizes::One((*name).clone(), *size))).collect::<Vec<_>>();
        all.extend(names.iter().take(MAX_DIMENSIONS).flat_map(each));
    }
    let is_integer = |input: &&&ValueInfoProto| {
        matches!(&input.r#type.as_ref().and_then(|it| it.value.as_ref()), Some(type_proto::Value::TensorType(tensor))
            if ElementType::from_code(tensor.elem_type()).is_some_and(ElementType::is_integer))
    };
    all.truncate(MAX_WAYS);
    if wanted.iter().any(|input| is_integer(&input)) {
        let with = |integers| move |way: &Way| Way { integers, ..way.clone() };
        let first: Vec<Way> = all.iter().take(SMALL_WAYS).cloned().collect();
        all.extend(first.iter().map(with(Integers::Same(1))));
        all.extend(first.iter().map(with(Integers::Same(0))));
    }
    all
}

/// Returns the dimensions of a tensor that a declaration describes.
pub(super) fn tensor_dims(info: &ValueInfoProto) -> Option<&[Dimension]> {
    match &info.r#type.as_ref()?.value {
        Some(type_proto::Value::TensorType(tensor)) => Some(&tensor.shape.as_ref()?.dim),
        _ => None,
    }
}

/// Returns distinct sizes that occur in the model: entries of shapes that nodes read, then dimensions, those of
/// constants last.
fn known_sizes(graph: &GraphProto) -> Vec<usize> {
    let constants = constants(graph);
    let shapes = graph.node.iter().filter(|node| matches!(node.op_type(), "Reshape" | "Expand" | "Resize" | "Tile"));
    let entries = shapes.flat_map(|node| node.input.iter().skip(1)).filter_map(|name| constants.get(name.as_str()));
    let parts = constants.values().filter(|values| values.len() == 1);
    let declared = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
    let dims = declared.flat_map(|info| tensor_dims(info).unwrap_or_default()).filter_map(|dim| match &dim.value {
        Some(dimension::Value::DimValue(size)) => Some(*size),
        _ => None,
    });
    let weights = graph.initializer.iter().flat_map(|tensor| tensor.dims.iter().copied());
    let attributes = graph.node.iter().filter(|node| node.op_type() == "Constant").flat_map(|node| &node.attribute);
    let tensors =
        attributes.filter_map(|attribute| attribute.t.as_deref()).flat_map(|tensor| tensor.dims.iter().copied());
    let mut seen = BTreeSet::new();
    let all = entries.flatten().copied().chain(dims).chain(weights).chain(parts.flatten().copied()).chain(tensors);
    let new = all.filter(|size| (1..=MAX_SIZE).contains(size) && seen.insert(*size));
    new.take(MAX_SIZES).filter_map(|size| usize::try_from(size).ok()).collect()
}

/// Returns the small integer constants of a graph by name.
fn constants(graph: &GraphProto) -> BTreeMap<&str, Vec<i64>> {
    let of_tensor = |tensor: &TensorProto| {
        let count = tensor.dims.iter().try_fold(1_i64, |count, size| count.checked_mul(*size))?;
        let is_integer = ElementType::from_code(tensor.data_type()).is_some_and(ElementType::is_integer);
        if !is_integer || count > MAX_ELEMENTS {
            return None;
        }
        let indices = decode::tensor(tensor, &NoExternalData).ok()?.indices();
        Some(indices.into_iter().collect::<Vec<i64>>())
    };
    let of_node = |node: &NodeProto| {
        let attribute = node.attribute.first()?;
        match attribute.name() {
            "value" => of_tensor(attribute.t.as_deref()?),
            "value_int" => Some(vec![attribute.i()]),
            "value_ints" => Some(attribute.ints.clone()),
            _ => None,
        }
    };
    let nodes = graph.node.iter().filter(|node| node.op_type() == "Constant");
    let nodes = nodes.filter_map(|node| Some((node.output.first()?.as_str(), of_node(node)?)));
    let tensors = graph.initializer.iter().filter_map(|tensor| Some((tensor.name(), of_tensor(tensor)?)));
    nodes.chain(tensors).collect()
}

/// Returns the number of valid positions for each input whose elements are positions in a tensor of known size.
pub(super) fn positions(graph: &GraphProto) -> BTreeMap<&str, i64> {
    let makers: HashMap<&str, &NodeProto> =
        graph.node.iter().flat_map(|node| node.output.iter().map(move |name| (name.as_str(), node))).collect();
    let dims: HashMap<&str, &[i64]> =
        graph.initializer.iter().map(|tensor| (tensor.name(), tensor.dims.as_slice())).collect();
    let constants = constants(graph);
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for node in &graph.node {
        let Some((at, count)) = read_positions(node, &dims, &constants) else { continue };
        let Some(mut name) = node.input.get(at).map(Text::as_str) else { continue };
        for _ in 0..MAX_STEPS {
            let Some(maker) = makers.get(name).filter(|maker| keeps_elements(maker.op_type())) else { break };
            name = maker.input.first().map_or("", Text::as_str);
        }
        let least = counts.get(name).map_or(count, |other| count.min(*other));
        counts.insert(name, least);
    }
    counts
}

/// Returns the input of a node that holds positions, and their number, if it is known.
fn read_positions(
    node: &NodeProto,
    dims: &HashMap<&str, &[i64]>,
    constants: &BTreeMap<&str, Vec<i64>>,
) -> Option<(usize, i64)> {
    let data = node.input.first().and_then(|name| dims.get(name.as_str()));
    match node.op_type() {
        "Gather" | "GatherElements" | "ScatterElements" | "Scatter" => {
            let axis = node.attribute.iter().find(|it| it.name() == "axis").map_or(0, AttributeProto::i);
            let data = data?;
            let rank = i64::try_from(data.len()).ok()?;
            let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
            Some((1, *data.get(usize::try_from(axis).ok()?)?))
        }
        "GatherND" | "ScatterND" => Some((1, *data?.iter().min()?)),
        "OneHot" => Some((0, *constants.get(node.input.get(1)?.as_str())?.first()?)),
        // The first input are ids of words, and the third is their table.
        "EmbedLayerNormalization" => Some((0, *dims.get(node.input.get(2)?.as_str())?.first()?)),
        _ => None,
    }
}

/// Returns true if an operator's output has the elements of its first input.
pub(super) fn keeps_elements(operator: &str) -> bool {
    matches!(
        operator,
        "Cast"
            | "Identity"
            | "Reshape"
            | "Unsqueeze"
            | "Squeeze"
            | "Flatten"
            | "Transpose"
            | "Expand"
            | "Slice"
            | "Split"
    )
}
