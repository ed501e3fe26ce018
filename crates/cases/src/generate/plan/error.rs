//! Errors of planning a case.

use onnx_conformance_reference::spec::OperatorVersion;

use crate::generate::file::alternatives::AlternativeError;
use crate::generate::file::expression::ExpressionError;
use crate::generate::plan::graph_text::GraphTextError;
use crate::generate::plan::settings::SettingError;
use crate::generate::plan::types::CaseTypesError;
use crate::generate::plan::value_plan::ValueError;

/// Reason why a case or a refusal does not fit a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FitError {
    /// The case is for other versions.
    #[error("it does not apply to {0}")]
    OtherVersion(OperatorVersion),
    /// The case names a parameter that the version does not have.
    #[error("{version} has no {kind} '{name}'")]
    UnknownParameter {
        /// The version.
        version: OperatorVersion,
        /// The kind of parameter, such as `input`.
        kind: &'static str,
        /// The name in the case.
        name: String,
    },
    /// The case does not give a parameter that the version requires.
    #[error("{version} requires {kind} '{name}'")]
    MissingParameter {
        /// The version.
        version: OperatorVersion,
        /// The kind of parameter: `input` or `attribute`.
        kind: &'static str,
        /// The name in the version.
        name: String,
    },
    /// A node of the case is of an operator that does not exist at the opset.
    #[error("there is no {operator} at opset {opset}")]
    UnknownOperator {
        /// The operator.
        operator: String,
        /// The opset.
        opset: u32,
    },
    /// A refusal omits a parameter that its control does not give.
    #[error("its control has no '{0}' to omit")]
    NothingToOmit(String),
    /// A refusal is for no version.
    #[error("since and until exclude all versions")]
    NoVersion,
}

/// Error of planning a case at a version.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    /// An input of a graph of several nodes has several values.
    #[error("the graph input '{0}' must be a single value")]
    SeveralValues(String),
    /// The text of the nodes is invalid.
    #[error(transparent)]
    Nodes(#[from] GraphTextError),
    /// A type cannot hold a literal value.
    #[error("its types cannot represent its values")]
    OutOfRange,
    /// The inputs of a second run have alternatives, or replace inputs that have some.
    #[error("neither the inputs of a second run nor those that they replace may have alternatives")]
    SecondAlternatives,
    /// The case does not fit the version.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The types of the case are invalid.
    #[error(transparent)]
    Types(#[from] CaseTypesError),
    /// A value is invalid.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A setting is invalid.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Alternatives are invalid.
    #[error(transparent)]
    Alternative(#[from] AlternativeError),
    /// A size under `let` has no value.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}
