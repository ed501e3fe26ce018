//! What is known of values and nodes before a model runs.

use std::fmt;

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::Serialize;

/// Highest rank of a shape that is followed; nothing is known of the dimensions of a tensor of more.
pub const MAX_RANK: usize = 1024;

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
    /// The fact of a value of which only the type is known.
    pub fn of_type(value_type: ValueType) -> ValueFact {
        ValueFact { value_type: Some(value_type), ..ValueFact::default() }
    }

    /// The fact of a value that is known itself.
    pub fn of_value(value: Value) -> ValueFact {
        let shape = value.as_tensor().map(|tensor| tensor.shape().iter().map(|&size| Dim::Size(size)).collect());
        ValueFact { value_type: Some(value.value_type()), shape, constant: Some(value) }
    }

    /// The rank of a tensor.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }

    /// Bytes that shape and constant take.
    pub(crate) fn size(&self) -> usize {
        let dims = self.shape.as_ref().map_or(0, Vec::len);
        dims.saturating_mul(size_of::<Dim>()).saturating_add(self.constant.as_ref().map_or(0, Value::size))
    }

    /// The dimensions of a tensor, where all are known sizes.
    pub fn sizes(&self) -> Option<Vec<usize>> {
        let size = |dim: &Dim| if let Dim::Size(size) = dim { Some(*size) } else { None };
        self.shape.as_ref()?.iter().map(size).collect()
    }

    /// The elements of a constant of integers.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let tensor = self.constant.as_ref()?.as_tensor()?;
        tensor.element_type().is_integer().then(|| tensor.indices())
    }

    /// What holds of both: the join of the facts of two calls or branches.
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

/// A dimension as messages spell it: a size, a name, or `?`.
pub(crate) fn dim_text(dim: &Dim) -> String {
    match dim {
        Dim::Size(size) => size.to_string(),
        Dim::Name(name) => name.to_string(),
        Dim::Unknown => "?".to_owned(),
    }
}

/// Where a value comes from, and with it its type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// An input of the main graph, which declares its type.
    GraphInput(String),
    /// An input of a subgraph.
    SubgraphInput(String),
    /// An input of a function, which has the type that the caller gives it.
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
