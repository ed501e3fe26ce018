//! [rten](https://crates.io/crates/rten) as a runtime of the suite.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use onnx_conformance_subject::adapter::{blamed_operator, elements, missing_type, tensor_of};
use onnx_conformance_subject::reference::value::{Sequence as OnnxSequence, Value as OnnxValue};
use onnx_conformance_subject::{Declaration, ElementType, Request, Response, Runtime, Tensor as OnnxTensor, ValueType};
use rten::{DataType, Model, ModelOptions, NodeId, Sequence, Value, ValueOrView};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

/// rten, which optimizes and runs a model.
pub struct Rten;

impl Runtime for Rten {
    fn declaration(&self) -> Declaration {
        let issues = Some("https://github.com/robertknight/rten/issues".to_owned());
        Declaration { language: Some("Rust".to_owned()), issues, ..Declaration::named("rten", env!("RUNTIME_VERSION")) }
    }

    fn run(&self, request: &Request<'_>) -> Response {
        match run(request) {
            Ok(response) | Err(response) => response,
        }
    }
}

fn run(request: &Request<'_>) -> Result<Response, Response> {
    let model = load(request)?;
    if let Some(missing) = missing_type(request, has) {
        return Err(missing);
    }
    let run_error = |error: rten::RunError| Response::run_error(error.to_string());
    let mut inputs: Vec<(NodeId, ValueOrView)> = Vec::new();
    for input in request.inputs {
        inputs.push((model.node_id(&input.name).map_err(run_error)?, value(&input.value)?.into()));
    }
    let asked = request.outputs.iter().map(|output| model.node_id(&output.name).map_err(run_error));
    let asked = asked.collect::<Result<Vec<_>, _>>()?;
    let ids = if asked.is_empty() { model.output_ids() } else { &asked };
    let outputs = model.run(inputs, ids, None).map_err(|error| failure(request, &error.to_string()))?;
    let outputs = request.outputs.iter().zip(&outputs).map(|(asked, output)| onnx_value(output, &asked.value_type));
    Ok(Response::outputs(outputs.collect::<Result<Vec<_>, _>>()?))
}

fn load(request: &Request<'_>) -> Result<Model, Response> {
    let mut options = ModelOptions::with_all_ops();
    for (name, content) in request.folder.map(external_files).into_iter().flatten() {
        options.external_data(&name, content);
    }
    options.load(request.model.to_vec()).map_err(|error| {
        let message = error.to_string();
        let operator = || blamed_operator(request.model, &message);
        if message.contains("operator not supported or not enabled") {
            // rten looks up operators by name alone.
            let Some(version) = operator() else { return Response::load_error(message) };
            return Response::unsupported(format!("operator {}/{}", version.domain, version.name), message);
        }
        if let Some(missing) = missing_type(request, has) {
            return missing;
        }
        let version = operator().map(|version| version.qualified());
        match (attribute(&message), version) {
            (Some(name), Some(version)) => Response::unsupported(format!("attribute {name} of {version}"), message),
            (None, Some(version)) if message.contains("and later are supported") => {
                Response::unsupported(format!("operator {version}"), message)
            }
            _ => Response::load_error(message),
        }
    })
}

/// Returns the files next to a model, which may have its external data.
fn external_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.path().is_file());
    files.filter_map(|entry| Some((entry.file_name().into_string().ok()?, fs::read(entry.path()).ok()?))).collect()
}

/// Returns the attribute in a message about an unsupported attribute or value.
fn attribute(message: &str) -> Option<&str> {
    let quoted = message.split_once("error in attribute \"").and_then(|(_, rest)| rest.split_once('"'));
    let listed = message
        .split_once("unsupported or duplicated attributes: ")
        .map(|(_, names)| names.split(',').next().unwrap_or(names));
    let valued = quoted.filter(|(_, said)| said.contains("unsupported")).map(|(name, _)| name);
    valued.or(listed.map(str::trim))
}

/// Returns the response for a runtime error. If an operator has no kernel for a type, it is the only input type that is not
/// float. int64, the index type, is ignored if there is another.
fn failure(request: &Request<'_>, message: &str) -> Response {
    let says_so = message.contains("unsupported input type") || message.contains("expected tensor with type");
    let (float, int64) = (ValueType::Tensor(ElementType::Float), ValueType::Tensor(ElementType::Int64));
    let types: BTreeSet<String> = request
        .inputs
        .iter()
        .map(|input| input.value.value_type())
        .filter(|each| *each != float)
        .map(|each| each.to_string())
        .collect();
    let mut others = types.iter().filter(|each| types.len() == 1 || **each != int64.to_string());
    match (others.next(), others.next(), blamed_operator(request.model, message)) {
        (Some(missing), None, Some(version)) if says_so => {
            Response::unsupported(format!("{missing} in {}", version.qualified()), message)
        }
        _ => Response::run_error(message),
    }
}

/// Returns true if rten has the type, or a substitute named in its documentation: `int32` for `int64` and `bool`.
fn has(value_type: &ValueType) -> bool {
    use ElementType as E;
    match value_type {
        ValueType::Tensor(element) => matches!(element, E::Float | E::Int32 | E::Int64 | E::Bool | E::Int8 | E::Uint8),
        ValueType::Sequence(item) => matches!(**item, ValueType::Tensor(_)) && has(item),
        _ => false,
    }
}

fn value(given: &OnnxValue) -> Result<Value, Response> {
    let unsupported = || Response::unsupported(given.value_type().to_string(), "no such value goes in");
    match given {
        OnnxValue::Tensor(tensor) => self::tensor(tensor),
        OnnxValue::Sequence(sequence) => {
            let data_type = match sequence.item_type.element_type() {
                ElementType::Float => DataType::Float,
                ElementType::Int8 => DataType::Int8,
                ElementType::Uint8 => DataType::UInt8,
                _ => DataType::Int32,
            };
            let mut made = Sequence::new(data_type);
            for item in sequence.items.iter() {
                made.insert(made.len(), value(item)?)
                    .map_err(|error| Response::run_error(format!("an item of a sequence: {error:?}")))?;
            }
            Ok(made.into())
        }
        _ => Err(unsupported()),
    }
}

fn tensor(given: &OnnxTensor) -> Result<Value, Response> {
    let shape = given.shape();
    Ok(match given.element_type() {
        ElementType::Float => Tensor::from_data(shape, elements(given, f32::from_le_bytes)).into(),
        ElementType::Int32 => Tensor::from_data(shape, elements(given, i32::from_le_bytes)).into(),
        ElementType::Int8 => Tensor::from_data(shape, elements(given, i8::from_le_bytes)).into(),
        ElementType::Uint8 => Tensor::from_data(shape, elements(given, u8::from_le_bytes)).into(),
        ElementType::Bool => Tensor::from_data(shape, elements(given, |[byte]: [u8; 1]| i32::from(byte != 0))).into(),
        ElementType::Int64 => {
            let narrow = |wide: i64| {
                i32::try_from(wide)
                    .map_err(|_| Response::run_error(format!("rten has int32 in place of int64, and {wide} is none")))
            };
            let narrowed =
                elements(given, i64::from_le_bytes).into_iter().map(narrow).collect::<Result<Vec<i32>, _>>()?;
            Tensor::from_data(shape, narrowed).into()
        }
        other => return Err(Response::unsupported(ValueType::Tensor(other).to_string(), "no such value goes in")),
    })
}

/// Converts an output to an ONNX value. rten has no `int64` and no `bool`: if the model declares one of them, an `int32` is
/// converted to it.
fn onnx_value(output: &Value, declared: &ValueType) -> Result<OnnxValue, Response> {
    let run_error = |error: &dyn std::fmt::Display| Response::run_error(error.to_string());
    let element = declared.element_type();
    let made = match output {
        Value::FloatTensor(tensor) => {
            tensor_of(ElementType::Float, tensor.shape().to_vec(), tensor.to_vec(), f32::to_le_bytes)
        }
        Value::Int8Tensor(tensor) => {
            tensor_of(ElementType::Int8, tensor.shape().to_vec(), tensor.to_vec(), i8::to_le_bytes)
        }
        Value::UInt8Tensor(tensor) => {
            tensor_of(ElementType::Uint8, tensor.shape().to_vec(), tensor.to_vec(), u8::to_le_bytes)
        }
        Value::Int32Tensor(tensor) => integers(tensor, element)?,
        Value::Sequence(sequence) => {
            let ValueType::Sequence(item) = declared else {
                return Err(Response::run_error(format!("rten gave a sequence for a {declared}")));
            };
            let items = sequence.iter().map(|each| onnx_value(&each.to_owned(), item));
            return Ok(OnnxValue::Sequence(OnnxSequence::new((**item).clone(), items.collect::<Result<Vec<_>, _>>()?)));
        }
        other => return Err(Response::run_error(format!("rten gave a {}", other.dtype()))),
    };
    made.map(OnnxValue::Tensor).map_err(|error| run_error(&error))
}

type Made = Result<OnnxTensor, onnx_conformance_subject::reference::tensor::TensorError>;

fn integers(tensor: &Tensor<i32>, declared: ElementType) -> Result<Made, Response> {
    let (shape, values) = (tensor.shape().to_vec(), tensor.to_vec());
    Ok(match declared {
        ElementType::Int64 => tensor_of(declared, shape, values.into_iter().map(i64::from), i64::to_le_bytes),
        ElementType::Bool => match values.iter().find(|value| !matches!(value, 0 | 1)) {
            Some(value) => return Err(Response::run_error(format!("rten gave {value} for a bool"))),
            None => tensor_of(declared, shape, values.into_iter().map(|value| value == 1), |value| [u8::from(value)]),
        },
        _ => tensor_of(ElementType::Int32, shape, values, i32::to_le_bytes),
    })
}
