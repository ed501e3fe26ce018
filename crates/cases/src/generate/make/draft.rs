//! A node with the values of its inputs, from which a model is made.

use std::sync::Arc;

use bytes::Bytes;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::model::text::parse_graph;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, encode};
use onnx_conformance_reference::spec::AttributeType;
use onnx_conformance_reference::value::{Optional, Sequence, SparseTensor, Value};

use crate::case::{DrawnTensor, Named};
use crate::generate::file::literal::LiteralError;
use crate::generate::make::error::MakeError;
use crate::generate::make::fill::{drawn, filled};
use crate::generate::plan::node_plan::{AttributePlan, InputPlan, NodePlan};
use crate::generate::plan::value_plan::ValuePlan;

/// A node with the values of its inputs.
#[derive(Clone, Debug)]
pub(crate) struct NodeDraft {
    /// The names of the node's inputs; `""` for an omitted one.
    pub(crate) input_names: Vec<String>,
    /// The values of the inputs that are given.
    pub(crate) inputs: Vec<Named>,
    /// The draws that make some of these values.
    pub(crate) drawn: Vec<DrawnTensor>,
    /// The attributes.
    pub(crate) attributes: Vec<AttributeProto>,
    /// The names of the node's outputs; `""` for one that is not requested.
    pub(crate) output_names: Vec<String>,
    /// The nodes of the graph, if there are several.
    pub(crate) nodes: Vec<NodeProto>,
}

impl NodeDraft {
    /// Makes the node of a plan. Each fill uses the random stream of `seed` and the input's name.
    pub(crate) fn new(plan: &NodePlan, seed: &str) -> Result<NodeDraft, MakeError> {
        let stream = |input: &InputPlan| format!("{seed}#{}", input.stream);
        let input = |input: &InputPlan| {
            let value = value_of(&input.value, &stream(input))?;
            Ok(Named { name: input.name.clone(), value })
        };
        let draws = |input: &InputPlan| match &input.value {
            ValuePlan::Filled(plan) => drawn(plan, &stream(input)),
            _ => None,
        };
        Ok(NodeDraft {
            input_names: plan.input_names.clone(),
            inputs: plan.inputs.iter().map(input).collect::<Result<_, LiteralError>>()?,
            drawn: plan.inputs.iter().filter_map(draws).collect(),
            attributes: plan.attributes.iter().map(attribute).collect::<Result<_, MakeError>>()?,
            output_names: plan.output_names.clone(),
            nodes: plan.nodes.clone(),
        })
    }
}

/// Makes a value. Its fills use the random streams whose names begin with `stream`.
pub(crate) fn value_of(plan: &ValuePlan, stream: &str) -> Result<Value, LiteralError> {
    Ok(match plan {
        ValuePlan::Written(value) => value.clone(),
        ValuePlan::Filled(plan) => Value::Tensor(filled(plan, stream)?),
        ValuePlan::Sparse(plan) => {
            let values = filled(&plan.values, stream)?;
            let (indices, shape) = (plan.indices.clone(), plan.shape.clone());
            Value::Sparse(Arc::new(SparseTensor { values, indices, shape }))
        }
        ValuePlan::Sequence(item_type, items) => {
            let item = |(index, item): (usize, &ValuePlan)| value_of(item, &format!("{stream}.{index}"));
            let items = items.iter().enumerate().map(item).collect::<Result<Vec<Value>, LiteralError>>()?;
            Value::Sequence(Sequence::new(item_type.clone(), items))
        }
        ValuePlan::Optional(item_type, item) => {
            let item = Some(Arc::new(value_of(item, stream)?));
            Value::Optional(Optional { item_type: item_type.clone(), item })
        }
    })
}

/// Makes the message of an attribute. A subgraph is parsed from its text.
fn attribute(plan: &AttributePlan) -> Result<AttributeProto, MakeError> {
    match plan {
        AttributePlan::Value(name, value) => Ok(attribute_message(name, value)),
        AttributePlan::Graph(name, text) => {
            let graph = parse_graph(text).map_err(|error| MakeError::Graph { name: name.clone(), error })?;
            Ok(AttributeProto {
                name: Some(name.clone()),
                r#type: Some(AttributeType::Graph.code()),
                g: Some(Box::new(graph)),
                ..AttributeProto::default()
            })
        }
    }
}

/// Makes the message of an attribute with a value of its own.
fn attribute_message(name: &str, value: &Attribute) -> AttributeProto {
    let kind: AttributeType = value.attribute_type();
    let mut proto =
        AttributeProto { name: Some(name.to_owned()), r#type: Some(kind.code()), ..AttributeProto::default() };
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    match value {
        Attribute::Float(value) => proto.f = Some(*value),
        Attribute::Int(value) => proto.i = Some(*value),
        Attribute::String(value) => proto.s = Some(bytes(value)),
        Attribute::Floats(values) => proto.floats = values.to_vec(),
        Attribute::Ints(values) => proto.ints = values.to_vec(),
        Attribute::Strings(values) => proto.strings = values.iter().map(|value| bytes(value)).collect(),
        Attribute::Tensor(Value::Tensor(tensor)) => proto.t = Some(Box::new(encode::tensor(tensor, ""))),
        Attribute::SparseTensor(Value::Sparse(sparse)) => {
            proto.sparse_tensor = Some(Box::new(encode::sparse_tensor(sparse, "")));
        }
        Attribute::Type(value_type) => proto.tp = Some(Box::new(encode::value_type(value_type, None))),
        _ => {}
    }
    proto
}
