//! Known facts about values and nodes before a model runs.

use std::collections::BTreeMap;
use std::fmt;

pub use onnx_conformance_reference::infer::{MAX_RANK, ValueFact};
use onnx_conformance_reference::proto::NodeProto;
use serde::Serialize;

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
    /// The outputs of its subgraphs, by the name of the attribute that holds a subgraph.
    pub subgraph_outputs: BTreeMap<String, Vec<ValueFact>>,
}
