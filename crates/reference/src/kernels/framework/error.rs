//! Errors of kernels.

use std::fmt;

use crate::spec::OperatorVersion;
use crate::tensor::TensorError;
use crate::tensor::shape::{AxisError, ShapeMismatch};

/// Reason why a kernel returns no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The operator's text excludes these inputs or attributes.
    #[error("{message}{}", in_brackets(rule.as_deref()))]
    Invalid {
        /// The error and, if known, a valid alternative.
        message: String,
        /// Rule in the operator's op.yaml that is violated, if there is one. The kernel sets the id, `C9`, and the
        /// executor adds the operator, `Resize/C9`.
        rule: Option<String>,
        /// True if no other sizes and no other elements make it valid: attributes, ranks, or the given elements of a list of sizes are
        /// invalid.
        for_all_sizes: bool,
    },
    /// The standard defines this, but the executor does not support it.
    #[error("{message}")]
    Unsupported {
        /// Kind of the missing feature.
        what: Missing,
        /// The missing feature, and a workaround.
        message: String,
    },
    /// The run would exceed a limit.
    #[error("{0}")]
    Limit(String),
    /// Graphs and functions nest too deeply.
    #[error("subgraphs and function calls nest deeper than the limit of {0}")]
    Depth(usize),
    /// The deadline of the run has passed.
    #[error("the time limit of the run is exceeded")]
    Deadline,
    /// The kernel violated its own contract, as the message explains.
    #[error("internal error of the reference, please report it: {0}")]
    Internal(String),
    /// An invalid tensor.
    #[error(transparent)]
    Tensor(TensorError),
    /// Shapes that do not broadcast.
    #[error(transparent)]
    Shape(#[from] ShapeMismatch),
    /// An axis that is out of range for the rank.
    #[error("{error}{}", in_brackets(rule.as_deref()))]
    Axis {
        /// The axis and the rank.
        error: AxisError,
        /// Rule that forbids it, as in [`KernelError::Invalid`].
        rule: Option<String>,
    },
    /// An error inside a node: its own, or one from a subgraph or function body.
    #[error("{place}: {source}")]
    At {
        /// The node and its inputs.
        place: String,
        /// The node's operator, if it is part of the standard.
        operator: Option<OperatorVersion>,
        /// The error inside the node.
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

/// Kind of feature that a runtime does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The operator, in any version.
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
    /// Returns the unsupported feature in a form that is the same for every node that needs it: `operator ai.onnx/Abs`.
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

    /// Assigns this refusal to a rule of the running operator. An error that already names a rule is unchanged, and so
    /// is one that does not refuse this operator's inputs or attributes.
    #[must_use]
    pub(crate) fn rule<'r>(self, id: impl Into<Option<&'r str>>) -> KernelError {
        let Some(id) = id.into() else { return self };
        let rule = Some(id.to_owned());
        match self {
            KernelError::Invalid { message, rule: None, for_all_sizes } => {
                KernelError::Invalid { message, rule, for_all_sizes }
            }
            KernelError::Shape(error) => {
                KernelError::Invalid { message: error.to_string(), rule, for_all_sizes: false }
            }
            KernelError::Axis { error, rule: None } => KernelError::Axis { error, rule },
            other => other,
        }
    }

    /// Marks a refusal that no sizes and no other values of the inputs would avoid, as [`broken_for_all_sizes`] does.
    #[must_use]
    pub(crate) fn for_all_sizes(self) -> KernelError {
        match self {
            KernelError::Invalid { message, rule, .. } => KernelError::Invalid { message, rule, for_all_sizes: true },
            other => other,
        }
    }

    /// Puts the operator's name before the rule id.
    #[must_use]
    pub(crate) fn of_operator(self, name: &str) -> KernelError {
        match self {
            KernelError::Invalid { message, rule: Some(id), for_all_sizes } => {
                KernelError::Invalid { message, rule: Some(format!("{name}/{id}")), for_all_sizes }
            }
            KernelError::Axis { error, rule: Some(id) } => {
                KernelError::Axis { error, rule: Some(format!("{name}/{id}")) }
            }
            other => other,
        }
    }

    /// Returns the innermost error, without its location.
    pub fn root(&self) -> &KernelError {
        match self {
            KernelError::At { source, .. } => source.root(),
            other => other,
        }
    }
}

/// Assigns the refusals of a step to a rule.
pub(crate) trait Ruled<T> {
    /// Applies [`KernelError::rule`] to the error.
    fn rule<'r>(self, id: impl Into<Option<&'r str>>) -> Result<T, KernelError>;
}

impl<T, E: Into<KernelError>> Ruled<T> for Result<T, E> {
    fn rule<'r>(self, id: impl Into<Option<&'r str>>) -> Result<T, KernelError> {
        self.map_err(|error| error.into().rule(id))
    }
}

/// Returns an error about inputs or attributes that no rule of an op.yaml names.
pub fn invalid(message: impl Into<String>) -> KernelError {
    KernelError::Invalid { message: message.into(), rule: None, for_all_sizes: false }
}

/// Returns an error about inputs or attributes that violate a rule of the running operator. The id is from its op.yaml.
pub(crate) fn broken(rule: &str, message: impl Into<String>) -> KernelError {
    KernelError::Invalid { message: message.into(), rule: Some(rule.to_owned()), for_all_sizes: false }
}

/// Returns an error as [`broken`], about attributes that no sizes and no values of the inputs make valid.
pub(crate) fn broken_for_all_sizes(rule: &str, message: impl Into<String>) -> KernelError {
    KernelError::Invalid { message: message.into(), rule: Some(rule.to_owned()), for_all_sizes: true }
}

fn in_brackets(rule: Option<&str>) -> String {
    rule.map(|rule| format!(" ({rule})")).unwrap_or_default()
}

/// Returns an error about a feature that this executor does not support.
pub fn unsupported(what: Missing, message: impl Into<String>) -> KernelError {
    KernelError::Unsupported { what, message: message.into() }
}
