//! Runs of a text model with several versions of an operator side by side.

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};
use onnx_conformance_reference::spec::canonical_domain;
use onnx_conformance_reference::value::Value;
use onnx_conformance_report::site::{read_inputs, value_text};
use serde::Deserialize;
use serde_json::json;

use crate::error::RequestError;

/// Model, inputs and operator versions to run.
#[derive(Debug, Deserialize)]
pub(crate) struct RunRequest {
    /// The model in ONNX's text syntax.
    model: String,
    /// The inputs in the same syntax: `float[2] x = {1, 2}, float y = {3}`.
    inputs: String,
    /// The operator whose versions are compared: `ai.onnx/Sum`.
    operator: String,
    /// The opsets of its domain at which to run the model.
    versions: Vec<u32>,
}

/// Returns the outputs of the model at each opset, or the error there.
pub(crate) fn run(request: &RunRequest, deadline: &Deadline) -> Result<serde_json::Value, RequestError> {
    let model = parse_model(&request.model).map_err(|error| RequestError::ModelText(error.to_string()))?;
    let inputs = read_inputs(&request.inputs)?;
    let domain = request.operator.split_once('/').map_or("", |(domain, _)| domain);
    let mut runs = Vec::new();
    for version in &request.versions {
        let ran = at_opset(&model, domain, i64::from(*version))
            .and_then(|model| run_model(&Bytes::from(model.encode_to_vec()), &inputs, deadline));
        let names = model.graph.iter().flat_map(|graph| &graph.output).map(|output| output.name().to_owned());
        runs.push(match ran {
            Ok(values) => {
                let shown = names.zip(&values).map(|(name, value)| json!({ "name": name, "value": value_text(value) }));
                json!({ "version": version, "outputs": shown.collect::<Vec<_>>() })
            }
            Err(error) => json!({ "version": version, "error": error.to_string() }),
        });
    }
    Ok(json!({ "runs": runs }))
}

/// Returns the model with another opset of a domain.
fn at_opset(model: &ModelProto, domain: &str, opset: i64) -> Result<ModelProto, RequestError> {
    let mut model = model.clone();
    let import =
        model.opset_import.iter_mut().find(|import| canonical_domain(import.domain()) == canonical_domain(domain));
    let import = import.ok_or_else(|| RequestError::NotImported(domain.to_owned()))?;
    import.version = Some(opset);
    Ok(model)
}

/// Returns the outputs of a model without external data.
pub(crate) fn run_model(model: &Bytes, inputs: &[Named], deadline: &Deadline) -> Result<Vec<Value>, RequestError> {
    let loading = LoadLimits { deadline: deadline.clone(), ..LoadLimits::default() };
    let model = read_model(model.clone(), &decode::NoExternalData, &loading)?;
    let inputs = inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    let limits = ExecutionLimits { deadline: deadline.clone(), ..ExecutionLimits::default() };
    Ok(executor::run(&model, inputs, limits)?)
}
