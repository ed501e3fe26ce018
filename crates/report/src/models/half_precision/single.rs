//! Runs of one node alone, on the values of a run of the whole model.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::Named;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::half::HalfModel;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    GraphProto, Message as _, ModelProto, NodeProto, TensorProto, ValueInfoProto, encode,
};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Request};

use super::difference::rounded;
use crate::models::single_node::names_read;
use crate::models::trace::{Reference, Seen};

/// Values of the main graph by name, with the inputs of the model.
pub(super) type Values = BTreeMap<String, Value>;

/// A node of a model to run alone.
#[derive(Clone, Copy)]
pub(super) struct SingleNode<'a> {
    /// The model that has the node.
    pub(super) model: &'a ModelProto,
    /// The initializers of its main graph by name.
    pub(super) weights: &'a Weights<'a>,
    pub(super) node: &'a NodeProto,
}

/// Initializers by name.
pub(super) type Weights<'a> = BTreeMap<&'a str, &'a TensorProto>;

/// Returns the initializers of the main graph of a model.
pub(super) fn weights(model: &ModelProto) -> Weights<'_> {
    let tensors = model.graph.iter().flat_map(|graph| &graph.initializer);
    tensors.map(|tensor| (tensor.name(), tensor)).collect()
}

impl SingleNode<'_> {
    /// Runs the node on values of the original model. Returns its outputs by name; `None` if it does not run alone.
    pub(super) fn run(&self, named: &NamedValues, values: &Values, limits: &Limits) -> Option<Values> {
        let mut graph =
            GraphProto { name: Some("alone".to_owned()), node: vec![self.node.clone()], ..GraphProto::default() };
        let mut inputs = Vec::new();
        for read in &named.reads {
            if let Some(weight) = self.weights.get(read.name.as_str()) {
                graph.initializer.push((*weight).clone());
                continue;
            }
            let value = read.value(values)?;
            graph.input.push(declared(read, &value));
            inputs.push(Named { name: read.name.clone(), value });
        }
        let output = |write: &NamedValue| Some(declared(write, &write.value(values)?));
        graph.output = named.writes.iter().map(output).collect::<Option<_>>()?;
        let model = ModelProto {
            ir_version: self.model.ir_version.map(|ir| ir.max(PLAIN_INITIALIZERS)),
            opset_import: self.model.opset_import.clone(),
            graph: Some(graph),
            ..ModelProto::default()
        };
        let bytes = model.encode_to_vec().into();
        let request = Request { id: "", model: &bytes, folder: None, inputs: &inputs, outputs: &[], ask: Ask::RUN };
        let ran = Reference::Builtin(limits.bytes).run(&request, &limits.deadline, &mut Seen::default()).ok()?;
        Some(named.writes.iter().map(|write| write.name.clone()).zip(ran).collect())
    }
}

fn declared(named: &NamedValue, value: &Value) -> ValueInfoProto {
    let shape = value.as_tensor().map(|tensor| tensor.shape().to_vec());
    ValueInfoProto {
        name: Some(named.name.clone()),
        r#type: Some(encode::value_type(&value.value_type(), shape.as_deref())),
        ..ValueInfoProto::default()
    }
}

/// First IR version in which initializers need not be inputs.
const PLAIN_INITIALIZERS: i64 = 4;

/// Values that a node reads and computes.
pub(super) struct NamedValues {
    reads: Vec<NamedValue>,
    writes: Vec<NamedValue>,
}

/// Value in the model of a node.
#[derive(Clone, Debug, PartialEq)]
struct NamedValue {
    name: String,
    /// Its name in the original model.
    original: String,
    /// The type to which it is rounded.
    element: Option<ElementType>,
    /// True if it becomes a float after that.
    is_widened: bool,
}

impl NamedValue {
    /// Returns the rounded value of a run of the reference.
    fn value(&self, values: &Values) -> Option<Value> {
        let value = values.get(&self.original)?;
        let new = self.element.map_or_else(|| value.clone(), |element| rounded(value, element));
        let is_float = |tensor: &Tensor| matches!(tensor.element_type(), ElementType::Float | ElementType::Double);
        let is_widened = self.is_widened && value.as_tensor().is_some_and(is_float);
        Some(if is_widened { rounded(&new, ElementType::Float) } else { new })
    }
}

impl NamedValues {
    /// The values of a node of a half model.
    pub(super) fn of_half(half: &HalfModel, node: &NodeProto) -> NamedValues {
        let named = |name: String| {
            let known = half.values.get(&name);
            let original = known.map_or(&name, |(original, _)| original).clone();
            NamedValue { name, original, element: known.map(|(_, element)| *element), is_widened: false }
        };
        NamedValues::new(node, named)
    }

    /// The values of a node of the original model, rounded like those of the same node in half precision.
    pub(super) fn of_original(half: &HalfModel, node: &NodeProto, before: &NodeProto) -> NamedValues {
        let element = |name: &str| {
            let position = before.input.iter().position(|input| input == name)?;
            half.values.get(node.input.get(position)?.as_str()).map(|(_, element)| *element)
        };
        let is_known = |name: &str| half.values.values().any(|(original, _)| original == name);
        let named = |name: String| {
            let element = element(&name);
            let is_widened = element.is_some() || is_known(&name);
            NamedValue { original: name.clone(), element, is_widened, name }
        };
        NamedValues::new(before, named)
    }

    fn new(node: &NodeProto, named: impl Fn(String) -> NamedValue) -> NamedValues {
        let outputs = node.output.iter().filter(|name| !name.is_empty()).map(ToString::to_string);
        NamedValues { reads: names_read(node).into_iter().map(&named).collect(), writes: outputs.map(&named).collect() }
    }
}
