//! Known facts about values and nodes before a model runs.

use std::fmt;

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::Serialize;

/// Maximum rank of a tracked shape; a tensor of higher rank has unknown dimensions.
pub const MAX_RANK: usize = 1024;

/// Known facts about a value before the model runs. Unknown facts never cause a finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueFact {
    /// The type.
    pub value_type: Option<ValueType>,
    /// The dimensions of a tensor, if its rank is known.
    pub shape: Option<Vec<Dim>>,
    /// The value itself: a constant of at most 1,024 elements.
    pub constant: Option<Value>,
}

impl ValueFact {
    /// A fact with only the type.
    pub fn from_type(value_type: ValueType) -> ValueFact {
        ValueFact { value_type: Some(value_type), ..ValueFact::default() }
    }

    /// A fact with the value itself.
    pub fn from_value(value: Value) -> ValueFact {
        let shape = value.as_tensor().map(|tensor| tensor.shape().iter().map(|&size| Dim::Size(size)).collect());
        ValueFact { value_type: Some(value.value_type()), shape, constant: Some(value) }
    }

    /// The rank of a tensor.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }

    /// The memory of shape and constant in bytes.
    pub(crate) fn size(&self) -> usize {
        let dims = self.shape.as_ref().map_or(0, Vec::len);
        dims.saturating_mul(size_of::<Dim>()).saturating_add(self.constant.as_ref().map_or(0, Value::size))
    }

    /// The dimensions of a tensor, if all sizes are known.
    pub fn sizes(&self) -> Option<Vec<usize>> {
        let size = |dim: &Dim| if let Dim::Size(size) = dim { Some(*size) } else { None };
        self.shape.as_ref()?.iter().map(size).collect()
    }

    /// The elements of an integer constant.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let tensor = self.constant.as_ref()?.as_tensor()?;
        tensor.element_type().is_integer().then(|| tensor.indices())
    }

    /// The join of the facts of two calls or branches: everything that holds in both.
    #[must_use]
    pub fn join(&self, other: &ValueFact) -> ValueFact {
        let both = |one: &Dim, two: &Dim| if one == two { one.clone() } else { Dim::Unknown };
        let shape = match (&self.shape, &other.shape) {
            (Some(one), Some(two)) if one.len() == two.len() => {
                Some(one.iter().zip(two).map(|(one, two)| both(one, two)).collect())
            }
            _ => None,
        };
        ValueFact {
            value_type: self.value_type.clone().filter(|_| self.value_type == other.value_type),
            shape,
            constant: self.constant.clone().filter(|_| self.constant == other.constant),
        }
    }
}

/// Formats a dimension for messages: a size, a name, or `?`.
pub(crate) fn dim_text(dim: &Dim) -> String {
    match dim {
        Dim::Size(size) => size.to_string(),
        Dim::Name(name) => name.to_string(),
        Dim::Unknown => "?".to_owned(),
    }
}

/// Source of a value, and thereby of its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// An input of the main graph, which declares its type.
    GraphInput(String),
    /// An input of a subgraph.
    SubgraphInput(String),
    /// An input of a function; the caller determines its type.
    FunctionInput(String),
    /// An initializer.
    Initializer(String),
    /// An output of a node: `node 'probe' (Cast-13)`.
    Node(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::GraphInput(name) => write!(f, "graph input '{name}'"),
            Origin::SubgraphInput(name) => write!(f, "subgraph input '{name}'"),
            Origin::FunctionInput(name) => write!(f, "function input '{name}'"),
            Origin::Initializer(name) => write!(f, "initializer '{name}'"),
            Origin::Node(node) => f.write_str(node),
        }
    }
}

/// Node with the known facts about its inputs and outputs.
#[derive(Clone, Debug)]
pub struct NodeFacts<'a> {
    /// The node.
    pub node: &'a NodeProto,
    /// The opset of the node's domain, imported by the model or by the enclosing function.
    pub opset: i64,
    /// The inputs by position; an omitted input is `None`.
    pub inputs: Vec<Option<ValueFact>>,
    /// The outputs by position; an omitted output is `None`.
    pub outputs: Vec<Option<ValueFact>>,
}
