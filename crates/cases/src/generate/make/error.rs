//! Error of making a case.

use onnx_conformance_reference::model::text::TextError;
use onnx_conformance_reference::types::ValueType;

use crate::generate::file::literal::LiteralError;

/// Error of making a planned case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MakeError {
    /// The text of a subgraph is invalid.
    #[error("graph '{name}': {error}")]
    Graph {
        /// The attribute.
        name: String,
        /// The problem.
        error: TextError,
    },
    /// An output equals an input that does not exist.
    #[error("same_as names '{0}', which is not an input of the case")]
    SameAs(String),
    /// A type cannot hold an output as written.
    #[error("{value_type} cannot hold the output '{name}' as written")]
    Output {
        /// The output.
        name: String,
        /// Its type.
        value_type: ValueType,
    },
    /// The accuracy depends on sums of absolute terms, which the kernel does not compute.
    #[error("the accuracy is a sum, but the kernel does not compute magnitudes")]
    NoMagnitude,
    /// The sign of zeros is checked, but the accuracy is not exact.
    #[error("zero_sign requires `accuracy: exact`")]
    ZeroSign,
    /// A tensor cannot be created.
    #[error(transparent)]
    Literal(#[from] LiteralError),
}
