//! What is known of values and nodes before a model runs.

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

/// What is known of a value before the model runs. What is not known is never a finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueFact {
    /// The type.
    pub value_type: Option<ValueType>,
    /// The dimensions of a tensor, where its rank is known.
    pub shape: Option<Vec<Dim>>,
    /// The value itself: a constant of at most 1,024 elements.
    pub constant: Option<Value>,
}

impl ValueFact {
    /// The rank of a tensor.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }
}

/// A node with what is known around it.
#[derive(Clone, Debug)]
pub struct NodeFacts<'a> {
    /// The node.
    pub node: &'a NodeProto,
    /// The opset that the model, or the function the node stands in, imports of the node's domain.
    pub opset: i64,
    /// The inputs by position; an input left out is `None`.
    pub inputs: Vec<Option<ValueFact>>,
    /// The outputs by position; an output left out is `None`.
    pub outputs: Vec<Option<ValueFact>>,
}
