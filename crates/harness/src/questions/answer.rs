//! Parts that the answers of this project share.

use onnx_conformance_check::Limits;
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_subject::{Request, Response};

/// Answers with the model of a request, or says that it is not a model.
pub(super) fn about_model(request: &Request<'_>, answer: impl FnOnce(&ModelProto, &Limits) -> Response) -> Response {
    match decode::model(request.model.clone()) {
        Ok(model) => answer(&model, &Limits::default()),
        Err(error) => Response::load_error(error.to_string()),
    }
}

/// Returns a model as an answer.
pub(super) fn encoded(model: &ModelProto) -> Response {
    Response::Model(model.encode_to_vec().into())
}
