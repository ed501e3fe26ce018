//! Why a kernel gives no result.

use crate::tensor::TensorError;
use crate::tensor::shape::{AxisError, ShapeMismatch};

/// Why a kernel gives no result.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The inputs or attributes are what the operator's text excludes.
    #[error("{0}")]
    Invalid(String),
    /// The standard gives it a meaning, but this executor does not have it.
    #[error("{message}")]
    Unsupported {
        /// What is missing.
        what: Missing,
        /// Which one, and what to do instead.
        message: String,
    },
    /// The run would use more than it may.
    #[error("{0}")]
    Limit(String),
    /// The time of the run is over.
    #[error("the time for this run is over")]
    Deadline,
    /// The kernel broke its own contract; the message says how.
    #[error("the reference itself is wrong here, please report it: {0}")]
    Internal(String),
    /// A tensor that cannot be.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Shapes that do not broadcast.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
    /// An axis outside the rank.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// Something inside a node: its own failure, or one of a subgraph or function body.
    #[error("{place}: {source}")]
    At {
        /// The node and its inputs.
        place: String,
        /// What happened there.
        source: Box<KernelError>,
    },
}

/// What a runtime does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The operator in any version.
    Operator,
    /// This version of the operator.
    Version,
    /// This element or value type.
    Type,
    /// This attribute, or this value of it.
    Attribute,
}

impl KernelError {
    /// The innermost error: what happened, without where.
    pub fn root(&self) -> &KernelError {
        match self {
            KernelError::At { source, .. } => source.root(),
            other => other,
        }
    }
}

/// An error of the inputs or attributes.
pub fn invalid(message: impl Into<String>) -> KernelError {
    KernelError::Invalid(message.into())
}

/// An error of this executor, which does not have something.
pub fn unsupported(what: Missing, message: impl Into<String>) -> KernelError {
    KernelError::Unsupported { what, message: message.into() }
}
