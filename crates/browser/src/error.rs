//! Errors of requests, as the page shows them.

use onnx_conformance_cases::generate::GenerateError;
use onnx_conformance_reference::executor::RunError;
use onnx_conformance_reference::model::ModelError;
use onnx_conformance_report::site::InputsError;

/// Reason why a request has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The request ends before the length of its JSON text.
    #[error("the request is truncated")]
    Truncated,
    /// The JSON text is not a known request.
    #[error("the request is invalid: {0}")]
    Invalid(#[from] serde_json::Error),
    /// The file is not a model.
    #[error("the file is not a model: {0}")]
    NotAModel(String),
    /// The model does not import the domain.
    #[error("the model imports no opset of {0}")]
    NotImported(String),
    /// The text of the model cannot be parsed.
    #[error("model: {0}")]
    ModelText(String),
    /// The text of the inputs cannot be parsed.
    #[error("inputs: {0}")]
    InputText(#[from] InputsError),
    /// The model cannot be loaded.
    #[error(transparent)]
    Load(#[from] ModelError),
    /// The model cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The case cannot be made.
    #[error("the case cannot be made: {0}")]
    Case(#[from] GenerateError),
    /// A limit of time or memory is exceeded.
    #[error("{0}")]
    Limit(String),
}
