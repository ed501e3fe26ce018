//! What a graph declares of its values: types and shapes, and the values of constants.

use std::collections::HashMap;

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::decode::{self, NoExternalData};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::facts::ValueFact;

/// The most elements of a constant whose value is kept.
const MOST_ELEMENTS: i64 = 1024;

/// The facts of a graph by name, and those of the graphs around it.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    outer: Option<&'a Scope<'a>>,
    facts: HashMap<String, ValueFact>,
}

impl<'a> Scope<'a> {
    /// The scope of a graph. Where `are_defaults`, an initializer that is an input too is only its default.
    pub(crate) fn of_graph(graph: &GraphProto, outer: Option<&'a Scope<'a>>, are_defaults: bool) -> Scope<'a> {
        let mut scope = Scope { outer, facts: HashMap::new() };
        for info in graph.input.iter().chain(&graph.value_info).chain(&graph.output) {
            scope.facts.insert(info.name().to_owned(), of_info(info));
        }
        for tensor in &graph.initializer {
            let is_input = || graph.input.iter().any(|input| input.name() == tensor.name());
            let fact = of_tensor(tensor, !(are_defaults && is_input()));
            scope.facts.insert(tensor.name().to_owned(), fact);
        }
        scope.add_constants(&graph.node);
        scope
    }

    /// The scope of a function's body, whose values have no declared types.
    pub(crate) fn of_function(nodes: &[NodeProto]) -> Scope<'static> {
        let mut scope = Scope { outer: None, facts: HashMap::new() };
        scope.add_constants(nodes);
        scope
    }

    fn add_constants(&mut self, nodes: &[NodeProto]) {
        for node in nodes.iter().filter(|node| node.op_type() == "Constant" && matches!(node.domain(), "" | "ai.onnx"))
        {
            if let (Some(output), Some(tensor)) = (node.output.first(), constant(node)) {
                self.facts.insert(output.clone(), of_value(tensor));
            }
        }
    }

    /// What is known of a value.
    pub(crate) fn find(&self, name: &str) -> Option<ValueFact> {
        match self.facts.get(name) {
            Some(fact) => Some(fact.clone()),
            None => self.outer?.find(name),
        }
    }
}

fn of_info(info: &ValueInfoProto) -> ValueFact {
    let value_type = info.r#type.as_ref().and_then(|declared| decode::value_type(declared).ok());
    ValueFact { value_type, shape: info.r#type.as_ref().and_then(shape), constant: None }
}

/// The declared shape of a tensor.
fn shape(declared: &TypeProto) -> Option<Vec<Dim>> {
    let Some(type_proto::Value::TensorType(tensor)) = &declared.value else { return None };
    let dim = |dimension: Option<&dimension::Value>| match dimension {
        Some(dimension::Value::DimValue(size)) => usize::try_from(*size).map_or(Dim::Unknown, Dim::Size),
        Some(dimension::Value::DimParam(name)) if !name.is_empty() => Dim::Name(name.clone()),
        _ => Dim::Unknown,
    };
    Some(tensor.shape.as_ref()?.dim.iter().map(|dimension| dim(dimension.value.as_ref())).collect())
}

fn of_tensor(tensor: &TensorProto, is_constant: bool) -> ValueFact {
    let elements = tensor.dims.iter().try_fold(1_i64, |count, size| count.checked_mul(*size));
    let is_small = elements.is_some_and(|count| count <= MOST_ELEMENTS) && tensor.external_data.is_empty();
    if is_constant
        && is_small
        && let Ok(value) = decode::tensor(tensor, &NoExternalData)
    {
        return of_value(value);
    }
    let element = onnx_conformance_reference::dtype::ElementType::from_code(tensor.data_type());
    let size = |size: &i64| usize::try_from(*size).map_or(Dim::Unknown, Dim::Size);
    ValueFact {
        value_type: element.map(ValueType::Tensor),
        shape: Some(tensor.dims.iter().map(size).collect()),
        constant: None,
    }
}

fn of_value(tensor: Tensor) -> ValueFact {
    ValueFact {
        value_type: Some(ValueType::Tensor(tensor.element_type())),
        shape: Some(tensor.shape().iter().map(|size| Dim::Size(*size)).collect()),
        constant: Some(Value::Tensor(tensor)),
    }
}

/// The value of a `Constant` node that is a small tensor.
fn constant(node: &NodeProto) -> Option<Tensor> {
    let attribute = node.attribute.first().filter(|attribute| attribute.ref_attr_name().is_empty())?;
    match attribute.name() {
        "value" => {
            let tensor = attribute.t.as_ref()?;
            let elements = tensor.dims.iter().try_fold(1_i64, |count, size| count.checked_mul(*size))?;
            decode::tensor(tensor, &NoExternalData).ok().filter(|_| elements <= MOST_ELEMENTS)
        }
        "value_int" | "value_ints" | "value_float" | "value_floats" | "value_string" | "value_strings" => {
            super::rules::constant_of(attribute)
        }
        _ => None,
    }
}
