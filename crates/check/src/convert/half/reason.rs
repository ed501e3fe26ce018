//! Reasons why a node computes in float.

use onnx_conformance_reference::dtype::ElementType;

/// Reason why a node with float values stays in float.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum FloatReason {
    /// The operator version does not take the type.
    #[error("{version} does not take {element}{}", opset.map_or(String::new(), |opset| format!("; convert to --opset {opset} first")))]
    Type {
        /// The operator version.
        version: String,
        /// The type.
        element: ElementType,
        /// The first opset at which the operator takes it.
        opset: Option<u32>,
    },
    /// ONNX does not define the operator.
    #[error("{0} is not an operator of ONNX")]
    Foreign(String),
    /// The node calls a function of the model, whose body is not converted.
    #[error("functions of the model are not converted")]
    Call,
    /// The type of an input or output is unknown.
    #[error("the type of '{0}' is unknown")]
    UnknownType(String),
    /// The node is not of the kinds whose subgraphs are converted.
    #[error("subgraphs of {0} are not converted")]
    Subgraph(String),
    /// The node puts a value into a sequence or an optional, or takes one from it.
    #[error("values in sequences and optionals stay in float")]
    Sequence,
    /// The node reads or writes the bits of a value.
    #[error("it depends on the bits of a float")]
    Bits,
    /// The node computes a size, which must be exact.
    #[error("it computes a size from sizes")]
    Size,
    /// A weight has finite elements that the type turns into infinity.
    #[error("weight '{0}' exceeds the range of the type")]
    Weight(String),
    /// The user named the node or its operator.
    #[error("named by --keep")]
    Named,
    /// A run showed an overflow or an error.
    #[error("{0}")]
    Measured(String),
}
