//! What becomes of one node at another opset.

use onnx_conformance_reference::proto::{NodeProto, TensorProto};

use crate::bounded::OverLimit;

/// What becomes of a node when its model imports another opset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The node means the same there as it is.
    AsIs,
    /// The node means the same there after these edits, each one sentence.
    Edits(Vec<String>),
    /// Nothing there means what the node means, because of this.
    Impossible(String),
    /// Whether and how it can be said there depends on this, which is not known before the model runs.
    Unknown(String),
}

/// Why a node cannot be brought to another opset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The other version cannot say what the node means.
    #[error("{0}")]
    Impossible(String),
    /// Something would have to be known that is not.
    #[error("{0}")]
    Unknown(String),
}

impl From<OverLimit> for Obstacle {
    fn from(error: OverLimit) -> Obstacle {
        Obstacle::Impossible(error.to_string())
    }
}

/// What takes the place of a node at another opset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fragment {
    /// The nodes, in order.
    pub nodes: Vec<NodeProto>,
    /// The position among them of the node itself, as it is now.
    pub kept: usize,
    /// Constants that no `Constant` node of that opset can hold.
    pub initializers: Vec<TensorProto>,
    /// What was done, each one sentence; nothing where the node is as it was.
    pub edits: Vec<String>,
}

/// The result of a step of a conversion.
pub(crate) type Step<T = ()> = Result<T, Obstacle>;

/// An obstacle that no knowledge removes.
pub(crate) fn impossible<T>(reason: impl Into<String>) -> Step<T> {
    Err(Obstacle::Impossible(reason.into()))
}

/// An obstacle that is one because something is not known.
pub(crate) fn unknown<T>(what: impl Into<String>) -> Step<T> {
    Err(Obstacle::Unknown(what.into()))
}
