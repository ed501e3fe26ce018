//! The models of the probes, their inputs and expectations.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message as _, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, MapKey, Optional, Sequence, Value};

use onnx_conformance_cases::case::Named;
use onnx_conformance_subject::Output;

/// Domain of an operator that no runtime has.
const CANARY: &str = "org.example.canary";

/// The probe whose model tests `optimize`, too.
pub(super) const OPTIMIZED: &str = "two outputs in the right order";

/// A model that tests one property.
pub(super) struct Probe {
    pub(super) about: &'static str,
    pub(super) model: Bytes,
    pub(super) inputs: Vec<Named>,
    pub(super) outputs: Vec<Output>,
    pub(super) expected: Expected,
    /// True if every usable runtime must pass.
    pub(super) is_basic: bool,
}

/// Expectation of a probe.
pub(super) enum Expected {
    /// These values, bit by bit.
    Outputs(Vec<Value>),
    /// An error at `load`.
    NoModel,
    /// An error or a missing feature.
    Failure,
}

/// Nodes with their inputs and the outputs that they must compute.
struct Graph<'a> {
    nodes: Vec<NodeProto>,
    inputs: &'a [(&'a str, &'a Value)],
    outputs: &'a [(&'a str, &'a Value)],
}

/// Returns every probe, simplest first.
pub(super) fn probes() -> Result<Vec<Probe>, TensorError> {
    use ElementType as E;
    let floats = Tensor::of_floats(E::Float, &[2, 2], &[1.5, -0.0, f64::INFINITY, 1e-45])?;
    let others = Tensor::of_floats(E::Float, &[2, 2], &[2.5, 0.0, -3.0, 16_777_216.0])?;
    let integers = Tensor::of_integers(E::Int64, &[3], &[i128::from(i64::MIN), (1 << 53) + 1, -1])?;
    // The largest values of int64 would test another property than the order of outputs.
    let small = Tensor::of_integers(E::Int64, &[3], &[-7, 0, 1_000_000])?;
    let nans = [0x7fc0_0001_u32, 0xffc0_0000].map(u32::to_le_bytes).concat();
    let halves = [0x3f80_u16, 0x8000, 0x7f80, 0x0001].map(u16::to_le_bytes).concat();
    let strings = Tensor::of_strings(&[2, 2], &["", "a\nb", "\u{e9}\u{1f600}", "0"])?;
    let sequence = |items: Vec<Value>| Value::Sequence(Sequence::new(ValueType::Tensor(E::Float), items));
    let optional = |item: Option<Value>| {
        Value::Optional(Optional { item_type: ValueType::Tensor(E::Float), item: item.map(Arc::new) })
    };
    let raw = |element, shape: &[usize], bytes: &[u8]| {
        Tensor::from_bytes(element, shape.to_vec(), Bytes::copy_from_slice(bytes))
    };
    Ok(vec![
        basic(same("a float tensor", 13, floats.clone())),
        basic(same("the same model on other inputs", 13, others.clone())),
        basic(two_outputs(floats.clone(), small)),
        unnamed_output(others.clone()),
        no_model(),
        basic(same("a float tensor after an error", 13, floats.clone())),
        canary(&floats),
        basic(same("a float tensor after an unknown operator", 13, others.clone())),
        same("a tensor without elements", 13, Tensor::of_floats(E::Float, &[0, 3], &[])?),
        same("a tensor without dimensions", 13, Tensor::of_floats(E::Float, &[], &[7.0])?),
        same("NaNs with a payload and a sign", 13, raw(E::Float, &[2], &nans)?),
        same("int64 values that a double cannot hold", 13, integers),
        same("a bool tensor", 13, Tensor::of_integers(E::Bool, &[3], &[1, 0, 1])?),
        same("a string tensor", 13, strings),
        same("a bfloat16 tensor", 13, raw(E::Bfloat16, &[4], &halves)?),
        same("a float8e4m3fn tensor", 19, raw(E::Float8e4m3fn, &[3], &[0x38, 0x80, 0x7f])?),
        same("an int4 tensor with an odd number of elements", 21, Tensor::of_integers(E::Int4, &[3], &[-8, 7, -1])?),
        same("a uint2 tensor", 25, Tensor::of_integers(E::Uint2, &[5], &[3, 0, 1, 2, 3])?),
        same(
            "a sequence of tensors",
            14,
            sequence(vec![floats.clone().into(), Tensor::of_floats(E::Float, &[1], &[1.0])?.into()]),
        ),
        same("a sequence without items", 14, sequence(Vec::new())),
        same("an optional with a value", 16, optional(Some(floats.into()))),
        same("an optional without a value", 16, optional(None)),
        map()?,
    ])
}

fn basic(probe: Probe) -> Probe {
    Probe { is_basic: true, ..probe }
}

/// Passes a value through `Identity`.
pub(super) fn same(about: &'static str, opset: u32, value: impl Into<Value>) -> Probe {
    let value = value.into();
    let nodes = vec![node("", "Identity", &["x"], &["y"])];
    let graph = Graph { nodes, inputs: &[("x", &value)], outputs: &[("y", &value)] };
    Probe::new(about, "", opset, &graph)
}

/// Two outputs in swapped order: `a` is `y` and `b` is `x`.
fn two_outputs(x: Tensor, y: Tensor) -> Probe {
    let (x, y) = (Value::Tensor(x), Value::Tensor(y));
    let nodes = vec![node("", "Identity", &["x"], &["b"]), node("", "Identity", &["y"], &["a"])];
    let graph = Graph { nodes, inputs: &[("x", &x), ("y", &y)], outputs: &[("a", &y), ("b", &x)] };
    Probe::new(OPTIMIZED, "", 13, &graph)
}

/// A node whose second output has no name and is omitted.
fn unnamed_output(x: Tensor) -> Probe {
    let x = Value::Tensor(x);
    let nodes = vec![node("", "Dropout", &["x"], &["y", ""])];
    Probe::new("an output without a name", "", 13, &Graph { nodes, inputs: &[("x", &x)], outputs: &[("y", &x)] })
}

fn no_model() -> Probe {
    let about = "a file that is not a model";
    let model = Bytes::from_static(b"\xff\xff\xff no model");
    Probe { about, model, inputs: Vec::new(), outputs: Vec::new(), expected: Expected::NoModel, is_basic: false }
}

fn canary(x: &Tensor) -> Probe {
    let x = Value::Tensor(x.clone());
    let nodes = vec![node(CANARY, "NoRuntimeHasThis", &["x"], &["y"])];
    let graph = Graph { nodes, inputs: &[("x", &x)], outputs: &[("y", &x)] };
    Probe { expected: Expected::Failure, ..Probe::new("an operator that no runtime has", CANARY, 1, &graph) }
}

/// Scores that `ZipMap` names.
fn map() -> Result<Probe, TensorError> {
    let element = ElementType::Float;
    let x = Value::Tensor(Tensor::of_floats(element, &[1, 2], &[0.25, -0.5])?);
    let value_type = ValueType::Tensor(element);
    let mut entries = BTreeMap::new();
    for (key, value) in [("a", 0.25), ("b", -0.5)] {
        entries.insert(MapKey::String(key.into()), Tensor::of_floats(element, &[], &[value])?.into());
    }
    let scores = Map { key_type: ElementType::String, value_type, entries: Arc::new(entries) };
    let scores = Value::Map(scores);
    let maps = Value::Sequence(Sequence::new(scores.value_type(), vec![scores]));
    let mut zip = node("ai.onnx.ml", "ZipMap", &["x"], &["z"]);
    zip.attribute = vec![AttributeProto {
        name: Some("classlabels_strings".to_owned()),
        r#type: Some(8),
        strings: vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")],
        ..AttributeProto::default()
    }];
    let graph = Graph { nodes: vec![zip], inputs: &[("x", &x)], outputs: &[("z", &maps)] };
    Ok(Probe::new("a sequence of maps", "ai.onnx.ml", 1, &graph))
}

impl Probe {
    /// Creates a probe that passes if the graph computes its outputs from its inputs.
    fn new(about: &'static str, domain: &str, opset: u32, graph: &Graph<'_>) -> Probe {
        let input = |(name, value): &(&str, &Value)| Named { name: (*name).to_owned(), value: (*value).clone() };
        let output = |(name, value): &(&str, &Value)| Output::new(*name, value.value_type(), 0);
        Probe {
            about,
            model: model(domain, opset, graph),
            inputs: graph.inputs.iter().map(input).collect(),
            outputs: graph.outputs.iter().map(output).collect(),
            expected: Expected::Outputs(graph.outputs.iter().map(|(_, value)| (*value).clone()).collect()),
            is_basic: false,
        }
    }
}

fn node(domain: &str, operator: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |names: &[&str]| texts(names.iter().copied());
    NodeProto {
        op_type: Some(operator.into()),
        domain: (!domain.is_empty()).then(|| domain.into()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

/// Creates a model in the lowest IR version that its opset allows.
fn model(domain: &str, opset: u32, graph: &Graph<'_>) -> Bytes {
    let info = |(name, value): &(&str, &Value)| {
        let shape = value.as_tensor().map(Tensor::shape);
        let declared = encode::value_type(&value.value_type(), shape);
        ValueInfoProto { name: Some((*name).to_owned()), r#type: Some(declared), ..ValueInfoProto::default() }
    };
    let import =
        |domain: &str, opset: u32| OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(opset.into()) };
    let lowest_ir = Specs::embedded().releases().ok().and_then(|releases| releases.lowest_ir(domain, opset));
    let mut imports = vec![import(domain, opset)];
    if !domain.is_empty() {
        imports.push(import("", 13));
    }
    let model = ModelProto {
        ir_version: Some(i64::from(lowest_ir.unwrap_or(7).max(7))),
        opset_import: imports,
        producer_name: Some("onnx-conformance".to_owned()),
        graph: Some(GraphProto {
            name: Some("smoke".to_owned()),
            node: graph.nodes.clone(),
            input: graph.inputs.iter().map(info).collect(),
            output: graph.outputs.iter().map(info).collect(),
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    };
    model.encode_to_vec().into()
}
