//! Result of converting one node to another opset.

use onnx_conformance_reference::proto::{NodeProto, TensorProto};

use crate::bounded::OverLimit;

/// Outcome for a node when its model imports another opset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The node keeps its meaning unchanged.
    AsIs,
    /// The node keeps its meaning after these edits, one sentence each.
    Edits(Vec<String>),
    /// The other opset cannot express the node, for this reason.
    Impossible(String),
    /// The outcome depends on this, which is unknown before the model runs.
    Unknown(String),
}

/// Reason why a node cannot be converted to another opset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The other version cannot express the node.
    #[error("{0}")]
    Impossible(String),
    /// The conversion needs information that is unknown.
    #[error("{0}")]
    Unknown(String),
}

impl From<OverLimit> for Obstacle {
    fn from(error: OverLimit) -> Obstacle {
        Obstacle::Impossible(error.to_string())
    }
}

/// Replacement of a node at another opset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fragment {
    /// The nodes, in order.
    pub nodes: Vec<NodeProto>,
    /// The position of the edited node itself among them.
    pub node_position: usize,
    /// Constants that a `Constant` node of that opset cannot hold.
    pub initializers: Vec<TensorProto>,
    /// The edits, one sentence each; empty if the node is unchanged.
    pub edits: Vec<String>,
}

/// The result of a step of a conversion.
pub(crate) type Step<T = ()> = Result<T, Obstacle>;

/// Fails because the other version cannot express the node.
pub(crate) fn impossible<T>(reason: impl Into<String>) -> Step<T> {
    Err(Obstacle::Impossible(reason.into()))
}

/// Fails because something is unknown.
pub(crate) fn unknown<T>(what: impl Into<String>) -> Step<T> {
    Err(Obstacle::Unknown(what.into()))
}
