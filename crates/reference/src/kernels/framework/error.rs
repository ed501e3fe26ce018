//! Why a kernel gives no result.

use std::fmt;

use crate::spec::OperatorVersion;
use crate::tensor::TensorError;
use crate::tensor::shape::{AxisError, ShapeMismatch};

/// Why a kernel gives no result.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The inputs or attributes are what the operator's text excludes.
    #[error("{message}{}", in_brackets(rule.as_deref()))]
    Invalid {
        /// What is wrong, and where it is known, what is right.
        message: String,
        /// The rule in the op.yaml of the operator that forbids it, where one does: the kernel gives its id, `C9`, and the
        /// executor the operator, `Resize/C9`.
        rule: Option<String>,
    },
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
    /// Graphs and functions nest too deeply.
    #[error("subgraphs and function calls nest deeper than the limit of {0}")]
    Depth(usize),
    /// The time of the run is over.
    #[error("the time for this run is over")]
    Deadline,
    /// The kernel broke its own contract; the message says how.
    #[error("the reference itself is wrong here, please report it: {0}")]
    Internal(String),
    /// A tensor that cannot be.
    #[error(transparent)]
    Tensor(TensorError),
    /// Shapes that do not broadcast.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
    /// An axis outside the rank.
    #[error("{error}{}", in_brackets(rule.as_deref()))]
    Axis {
        /// The axis and the rank.
        error: AxisError,
        /// The rule that forbids it, as of [`KernelError::Invalid`].
        rule: Option<String>,
    },
    /// Something inside a node: its own failure, or one of a subgraph or function body.
    #[error("{place}: {source}")]
    At {
        /// The node and its inputs.
        place: String,
        /// The node's operator, where it is one of the standard's.
        operator: Option<OperatorVersion>,
        /// What happened there.
        source: Box<KernelError>,
    },
}

impl From<TensorError> for KernelError {
    fn from(error: TensorError) -> KernelError {
        match error {
            TensorError::Bytes(_) => KernelError::Limit(error.to_string()),
            TensorError::Deadline => KernelError::Deadline,
            error => KernelError::Tensor(error),
        }
    }
}

impl From<AxisError> for KernelError {
    fn from(error: AxisError) -> KernelError {
        KernelError::Axis { error, rule: None }
    }
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

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Missing::Operator => "operator",
            Missing::Version => "version",
            Missing::Type => "type of",
            Missing::Attribute => "attribute of",
        })
    }
}

impl KernelError {
    /// What the executor does not have, in a form that is the same for every node that needs it: `operator ai.onnx/Abs`.
    pub fn missing(&self) -> Option<String> {
        self.missing_in(None)
    }

    fn missing_in(&self, innermost: Option<&OperatorVersion>) -> Option<String> {
        match self {
            KernelError::At { operator, source, .. } => source.missing_in(operator.as_ref().or(innermost)),
            KernelError::Unsupported { what, .. } => Some(match (what, innermost) {
                (_, None) => what.to_string(),
                (Missing::Operator, Some(version)) => format!("{what} {}/{}", version.domain, version.name),
                (_, Some(version)) => format!("{what} {}", version.qualified()),
            }),
            _ => None,
        }
    }

    /// The same refusal, for a rule of the operator that runs; one that names a rule already stays as it is, and so does what is no
    /// refusal of this operator's inputs and attributes.
    #[must_use]
    pub(crate) fn rule<'r>(self, id: impl Into<Option<&'r str>>) -> KernelError {
        let Some(id) = id.into() else { return self };
        let message = match self {
            KernelError::Invalid { message, rule: None } => message,
            KernelError::Shape(error) => error.to_string(),
            KernelError::Axis { error, rule: None } => return KernelError::Axis { error, rule: Some(id.to_owned()) },
            other => return other,
        };
        KernelError::Invalid { message, rule: Some(id.to_owned()) }
    }

    /// The same error of a kernel that ran for this operator, whose name it puts before the id of a rule.
    #[must_use]
    pub(crate) fn of_operator(self, name: &str) -> KernelError {
        match self {
            KernelError::Invalid { message, rule: Some(id) } => {
                KernelError::Invalid { message, rule: Some(format!("{name}/{id}")) }
            }
            KernelError::Axis { error, rule: Some(id) } => {
                KernelError::Axis { error, rule: Some(format!("{name}/{id}")) }
            }
            other => other,
        }
    }

    /// The innermost error: what happened, without where.
    pub fn root(&self) -> &KernelError {
        match self {
            KernelError::At { source, .. } => source.root(),
            other => other,
        }
    }
}

/// Names the rule for which a step of a kernel may refuse.
pub(crate) trait Ruled<T> {
    /// The same result, with [`KernelError::rule`] of its error.
    fn rule<'r>(self, id: impl Into<Option<&'r str>>) -> Result<T, KernelError>;
}

impl<T, E: Into<KernelError>> Ruled<T> for Result<T, E> {
    fn rule<'r>(self, id: impl Into<Option<&'r str>>) -> Result<T, KernelError> {
        self.map_err(|error| error.into().rule(id))
    }
}

/// An error of the inputs or attributes that no rule of an op.yaml names.
pub fn invalid(message: impl Into<String>) -> KernelError {
    KernelError::Invalid { message: message.into(), rule: None }
}

/// An error of inputs or attributes that break a rule of the operator that runs, by the id that its op.yaml gives the rule.
pub(crate) fn broken(rule: &str, message: impl Into<String>) -> KernelError {
    KernelError::Invalid { message: message.into(), rule: Some(rule.to_owned()) }
}

fn in_brackets(rule: Option<&str>) -> String {
    rule.map(|rule| format!(" ({rule})")).unwrap_or_default()
}

/// An error of this executor, which does not have something.
pub fn unsupported(what: Missing, message: impl Into<String>) -> KernelError {
    KernelError::Unsupported { what, message: message.into() }
}
