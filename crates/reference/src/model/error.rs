//! Why a model cannot be read.

use crate::proto::decode::DecodeError;
use crate::proto::measure::MeasureError;
use crate::spec::{LookupError, SignatureError};

/// A model that cannot be read or breaks a rule of the format.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A message inside is broken.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The model would use more than reading it may.
    #[error("the model is over the limits of loading: {0}")]
    Limit(#[from] MeasureError),
    /// A rule of the format is broken.
    #[error("{place}: {rule}")]
    Rule {
        /// Where: the graph, the node, the tensor, by name.
        place: String,
        /// What is wrong, and what is allowed.
        rule: String,
    },
    /// A node names an operator that ONNX does not have at the imported opset.
    #[error("{node}: {source}")]
    Operator {
        /// The node.
        node: String,
        /// Why there is none.
        source: LookupError,
    },
    /// A node breaks the signature of its operator.
    #[error("{node}: {source}")]
    Signature {
        /// The node.
        node: String,
        /// How.
        source: Box<SignatureError>,
    },
}

pub(crate) fn broken(place: impl Into<String>, rule: impl Into<String>) -> ModelError {
    ModelError::Rule { place: place.into(), rule: rule.into() }
}
