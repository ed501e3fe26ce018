//! [candle-onnx](https://crates.io/crates/candle-onnx) as a runtime of the suite.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};
use candle_onnx::onnx::ModelProto;
use half::f16;
use onnx_conformance_subject::adapter::{blamed_attribute, blamed_operator, elements, missing_type, tensor_of};
use onnx_conformance_subject::{Declaration, ElementType, Request, Response, Runtime, Tensor as OnnxTensor, Value, ValueType};
use prost::Message as _;

/// candle-onnx, which evaluates the nodes of a model in order.
pub struct Candle;

impl Runtime for Candle {
    fn declaration(&self) -> Declaration {
        let issues = Some("https://github.com/huggingface/candle/issues".to_owned());
        Declaration {
            language: Some("Rust".to_owned()),
            issues,
            ..Declaration::named("candle", env!("RUNTIME_VERSION"))
        }
    }

    fn run(&self, request: &Request<'_>) -> Response {
        match run(request) {
            Ok(response) | Err(response) => response,
        }
    }
}

fn run(request: &Request<'_>) -> Result<Response, Response> {
    let model = ModelProto::decode(request.model.as_ref()).map_err(|error| Response::load_error(error.to_string()))?;
    if let Some(missing) = missing_type(request, has) {
        return Err(missing);
    }
    let mut inputs = HashMap::new();
    for input in request.inputs {
        inputs.insert(input.name.clone(), tensor(&input.value)?);
    }
    let outputs = candle_onnx::simple_eval(&model, inputs).map_err(|error| failure(request, &error.to_string()))?;
    let asked = request.outputs.iter().map(|asked| {
        let output = outputs.get(&asked.name);
        value(
            output.ok_or_else(|| Response::run_error(format!("there is no output '{}'", asked.name)))?,
            &asked.value_type,
        )
    });
    Ok(Response::outputs(asked.collect::<Result<Vec<_>, _>>()?))
}

/// Returns the response for an error. candle looks up operators by name alone, at evaluation, and words missing attributes
/// differently per operator.
fn failure(request: &Request<'_>, message: &str) -> Response {
    // The message continues with the whole node, which may contain its own name.
    let operator = message.split_once("unsupported op_type ").and_then(|(_, rest)| rest.split(' ').next());
    if let Some(operator) = operator {
        return match blamed_operator(request.model, operator) {
            Some(version) => Response::unsupported(
                format!("operator {}/{}", version.domain, version.name),
                format!("unsupported op_type {operator}"),
            ),
            None => Response::load_error(format!("unsupported op_type {operator}")),
        };
    }
    // With `RUST_BACKTRACE` the message continues with a backtrace.
    let message = message.split_once("\n   0: ").map_or(message, |(said, _)| said);
    let says_so = ["nsupported", "not supported", "only support", "not support", " only "]
        .iter()
        .any(|words| message.contains(words));
    if let Some((name, version)) = blamed_attribute(request.model, message).filter(|_| says_so) {
        return Response::unsupported(format!("attribute {name} of {}", version.qualified()), message);
    }
    let version = blamed_operator(request.model, message).map(|version| version.qualified());
    match (missing_dtype(message), version) {
        (Some(element), Some(version)) => Response::unsupported(format!("tensor({element}) in {version}"), message),
        _ => Response::run_error(message),
    }
}

/// Returns the type that a candle operation does not support, from the message "unsupported dtype I64 for op exp".
fn missing_dtype(message: &str) -> Option<&'static str> {
    let (_, rest) = message.split_once("unsupported dtype ")?;
    match rest.split(|c: char| !c.is_ascii_alphanumeric()).next()? {
        "U8" => Some("uint8"),
        "U32" => Some("uint32"),
        "I64" => Some("int64"),
        "F16" => Some("float16"),
        "F32" => Some("float"),
        "F64" => Some("double"),
        _ => None,
    }
}

/// Returns true if candle-onnx accepts the type of a model's input. The evaluator rejects candle's other types, such as bfloat16.
fn has(value_type: &ValueType) -> bool {
    use ElementType as E;
    let ValueType::Tensor(element) = value_type else { return false };
    matches!(element, E::Float | E::Double | E::Float16 | E::Uint8 | E::Uint32 | E::Int64 | E::Bool)
}

fn tensor(given: &Value) -> Result<Tensor, Response> {
    let unsupported = || Response::unsupported(given.value_type().to_string(), "no such value goes in");
    let tensor = given.as_tensor().ok_or_else(unsupported)?;
    let (shape, device) = (tensor.shape(), &Device::Cpu);
    let made = match tensor.element_type() {
        ElementType::Float => Tensor::from_vec(elements(tensor, f32::from_le_bytes), shape, device),
        ElementType::Double => Tensor::from_vec(elements(tensor, f64::from_le_bytes), shape, device),
        ElementType::Float16 => Tensor::from_vec(elements(tensor, f16::from_le_bytes), shape, device),
        ElementType::Int64 => Tensor::from_vec(elements(tensor, i64::from_le_bytes), shape, device),
        ElementType::Uint32 => Tensor::from_vec(elements(tensor, u32::from_le_bytes), shape, device),
        // candle stores a bool as a uint8.
        ElementType::Uint8 | ElementType::Bool => Tensor::from_vec(elements(tensor, u8::from_le_bytes), shape, device),
        _ => return Err(unsupported()),
    };
    made.map_err(|error| Response::run_error(error.to_string()))
}

/// Converts an output to an ONNX value with candle's type. If the model declares a bool, a uint8 is converted to it.
fn value(output: &Tensor, declared: &ValueType) -> Result<Value, Response> {
    let element = match (output.dtype(), declared) {
        (DType::U8, ValueType::Tensor(ElementType::Bool)) => ElementType::Bool,
        (DType::U8, _) => ElementType::Uint8,
        (DType::U32, _) => ElementType::Uint32,
        (DType::I32, _) => ElementType::Int32,
        (DType::I64, _) => ElementType::Int64,
        (DType::F16, _) => ElementType::Float16,
        (DType::F32, _) => ElementType::Float,
        (DType::F64, _) => ElementType::Double,
        (other, _) => return Err(Response::run_error(format!("an output is of candle's type {other:?}"))),
    };
    let made = onnx_tensor(output, element).map_err(|error| Response::run_error(error.to_string()))?;
    if element == ElementType::Bool && made.bytes().iter().any(|byte| *byte > 1) {
        return Err(Response::run_error("candle gave a number above 1 for a bool"));
    }
    Ok(Value::Tensor(made))
}

fn onnx_tensor(output: &Tensor, element: ElementType) -> Result<OnnxTensor, Box<dyn std::error::Error>> {
    let (flat, shape) = (output.flatten_all()?, output.dims().to_vec());
    Ok(match output.dtype() {
        DType::U8 => tensor_of(element, shape, flat.to_vec1()?, u8::to_le_bytes)?,
        DType::U32 => tensor_of(element, shape, flat.to_vec1()?, u32::to_le_bytes)?,
        DType::I32 => tensor_of(element, shape, flat.to_vec1()?, i32::to_le_bytes)?,
        DType::I64 => tensor_of(element, shape, flat.to_vec1()?, i64::to_le_bytes)?,
        DType::F16 => tensor_of(element, shape, flat.to_vec1()?, f16::to_le_bytes)?,
        DType::F64 => tensor_of(element, shape, flat.to_vec1()?, f64::to_le_bytes)?,
        _ => tensor_of(element, shape, flat.to_vec1()?, f32::to_le_bytes)?,
    })
}
