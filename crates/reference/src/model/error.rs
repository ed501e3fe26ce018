//! Errors of reading a model.

use crate::proto::decode::DecodeError;
use crate::proto::measure::MeasureError;
use crate::spec::{LookupError, SignatureError};

/// Error of a model that cannot be read or breaks a rule of the format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A message is malformed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Reading the model would exceed the limits.
    #[error("the model is over the limits of loading: {0}")]
    Limit(#[from] MeasureError),
    /// A rule of the format is broken.
    #[error("{place}: {rule}")]
    Rule {
        /// The graph, node or tensor, by name.
        place: String,
        /// The problem, and the allowed values.
        rule: String,
    },
    /// A node names an operator that ONNX does not have at the imported opset.
    #[error("{node}: {source}")]
    Operator {
        /// The node.
        node: String,
        /// The failed lookup.
        source: LookupError,
    },
    /// A node breaks the signature of its operator.
    #[error("{node}: {source}")]
    Signature {
        /// The node.
        node: String,
        /// The broken rule of the signature.
        source: Box<SignatureError>,
    },
}

pub(crate) fn broken(place: impl Into<String>, rule: impl Into<String>) -> ModelError {
    ModelError::Rule { place: place.into(), rule: rule.into() }
}
