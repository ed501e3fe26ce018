//! [tract](https://crates.io/crates/tract-onnx) as a runtime of the suite.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use onnx_conformance_harness::adapter::{elements, missing_operator, missing_type, tensor_of};
use onnx_conformance_harness::{
    Declaration, ElementType, Named, Request, Response, Runtime, Tensor as OnnxTensor, Value, ValueType,
};
use tract_onnx::model::ParseResult;
use tract_onnx::prelude::tract_ndarray::ArrayD;
use tract_onnx::prelude::*;

/// tract, which optimizes and runs a model.
pub struct Tract;

impl Runtime for Tract {
    fn declaration(&self) -> Declaration {
        let issues = Some("https://github.com/sonos/tract/issues".to_owned());
        Declaration {
            language: Some("Rust".to_owned()),
            issues,
            ..Declaration::named("tract", env!("RUNTIME_VERSION"))
        }
    }

    fn run(&self, request: &Request<'_>) -> Response {
        match run(request) {
            Ok(response) | Err(response) => response,
        }
    }
}

fn run(request: &Request<'_>) -> Result<Response, Response> {
    let load_error = |error: TractError| Response::load_error(format!("{error:#}"));
    let onnx = tract_onnx::onnx();
    let proto = onnx.proto_model_for_read(&mut Cursor::new(request.model)).map_err(load_error)?;
    if let Some(missing) = missing(&onnx, request) {
        return Err(missing);
    }
    let folder = request.folder.and_then(Path::to_str);
    let ParseResult { mut model, unresolved_inputs, .. } = onnx.parse(&proto, folder).map_err(load_error)?;
    if !unresolved_inputs.is_empty() {
        return Err(Response::load_error(format!("nothing gives {unresolved_inputs:?}")));
    }
    let names: Vec<String> =
        model.input_outlets().map_err(load_error)?.iter().map(|outlet| model.node(outlet.node).name.clone()).collect();
    // tract treats a graph input with an initializer as a constant.
    if let Some(given) = request.inputs.iter().find(|given| !names.contains(&given.name)) {
        return Err(Response::load_error(format!("the initializer of input '{}' is taken for a constant", given.name)));
    }
    let mut inputs = TVec::new();
    for (at, name) in names.iter().enumerate() {
        let given = request.inputs.iter().find(|input| input.name == *name);
        let given = given.ok_or_else(|| Response::load_error(format!("there is no input '{name}'")))?;
        let tensor = tensor(given)?;
        model.set_input_fact(at, InferenceFact::dt_shape(tensor.datum_type(), tensor.shape())).map_err(load_error)?;
        inputs.push(tensor.into_tvalue());
    }
    let model = model.into_optimized().and_then(IntoRunnable::into_runnable).map_err(load_error)?;
    let outputs = model.run(inputs).map_err(|error| Response::run_error(format!("{error:#}")))?;
    let asked = request.outputs.iter().map(|asked| {
        let graph = proto.graph.iter().flat_map(|graph| &graph.output);
        let output = graph.zip(&outputs).find(|(declared, _)| declared.name == asked.name);
        let (_, output) = output.ok_or_else(|| Response::run_error(format!("there is no output '{}'", asked.name)))?;
        value(output)
    });
    Ok(Response::outputs(asked.collect::<Result<Vec<_>, _>>()?))
}

/// Returns a missing feature before tract reads the model: an operator, which it looks up by name alone, or a type of the inputs
/// and outputs.
fn missing(onnx: &tract_onnx::Onnx, request: &Request<'_>) -> Option<Response> {
    missing_operator(request.model, |name| onnx.op_register.0.contains_key(name)).or_else(|| missing_type(request, has))
}

/// Returns true if tract has the type.
fn has(value_type: &ValueType) -> bool {
    use ElementType as E;
    let ValueType::Tensor(element) = value_type else { return false };
    let integer =
        matches!(element, E::Int8 | E::Int16 | E::Int32 | E::Int64 | E::Uint8 | E::Uint16 | E::Uint32 | E::Uint64);
    integer || matches!(element, E::Float | E::Double | E::Float16 | E::Bool | E::String)
}

fn tensor(input: &Named) -> Result<Tensor, Response> {
    let unsupported = || Response::unsupported(input.value.value_type().to_string(), "no such value goes in");
    let tensor = input.value.as_tensor().ok_or_else(unsupported)?;
    let made = match tensor.element_type() {
        ElementType::Float => plain(tensor, f32::from_le_bytes),
        ElementType::Double => plain(tensor, f64::from_le_bytes),
        ElementType::Float16 => plain(tensor, f16::from_le_bytes),
        ElementType::Int8 => plain(tensor, i8::from_le_bytes),
        ElementType::Int16 => plain(tensor, i16::from_le_bytes),
        ElementType::Int32 => plain(tensor, i32::from_le_bytes),
        ElementType::Int64 => plain(tensor, i64::from_le_bytes),
        ElementType::Uint8 => plain(tensor, u8::from_le_bytes),
        ElementType::Uint16 => plain(tensor, u16::from_le_bytes),
        ElementType::Uint32 => plain(tensor, u32::from_le_bytes),
        ElementType::Uint64 => plain(tensor, u64::from_le_bytes),
        ElementType::Bool => plain(tensor, |[byte]: [u8; 1]| byte != 0),
        ElementType::String => {
            let strings: Vec<String> = tensor.strings().iter().map(|string| string.to_string()).collect();
            ArrayD::from_shape_vec(tensor.shape(), strings).map(IntoTensor::into_tensor).map_err(TractError::from)
        }
        _ => return Err(unsupported()),
    };
    made.map_err(|error| Response::load_error(error.to_string()))
}

/// Creates a tensor from the bytes of its elements.
fn plain<T: Datum + Copy, const N: usize>(tensor: &OnnxTensor, element: fn([u8; N]) -> T) -> TractResult<Tensor> {
    Tensor::from_shape(tensor.shape(), &elements(tensor, element))
}

fn value(output: &Tensor) -> Result<Value, Response> {
    let made = match output.datum_type() {
        DatumType::F32 => bytes(output, ElementType::Float, f32::to_le_bytes),
        DatumType::F64 => bytes(output, ElementType::Double, f64::to_le_bytes),
        DatumType::F16 => bytes(output, ElementType::Float16, f16::to_le_bytes),
        DatumType::I8 => bytes(output, ElementType::Int8, i8::to_le_bytes),
        DatumType::I16 => bytes(output, ElementType::Int16, i16::to_le_bytes),
        DatumType::I32 => bytes(output, ElementType::Int32, i32::to_le_bytes),
        DatumType::I64 => bytes(output, ElementType::Int64, i64::to_le_bytes),
        DatumType::U8 => bytes(output, ElementType::Uint8, u8::to_le_bytes),
        DatumType::U16 => bytes(output, ElementType::Uint16, u16::to_le_bytes),
        DatumType::U32 => bytes(output, ElementType::Uint32, u32::to_le_bytes),
        DatumType::U64 => bytes(output, ElementType::Uint64, u64::to_le_bytes),
        DatumType::Bool => bytes(output, ElementType::Bool, |value: bool| [u8::from(value)]),
        // Dimensions and values computed from them, which are int64 in ONNX.
        DatumType::TDim => {
            output.cast_to::<i64>().and_then(|output| bytes(&output, ElementType::Int64, i64::to_le_bytes))
        }
        DatumType::String => strings(output),
        other => return Err(Response::run_error(format!("an output is of tract's type {other:?}"))),
    };
    made.map(Value::Tensor).map_err(|error| Response::run_error(format!("{error:#}")))
}

fn bytes<T: Datum + Copy, const N: usize>(
    output: &Tensor,
    element: ElementType,
    to_bytes: fn(T) -> [u8; N],
) -> TractResult<OnnxTensor> {
    let view = output.to_plain_array_view::<T>()?;
    Ok(tensor_of(element, output.shape().to_vec(), view.iter().copied(), to_bytes)?)
}

fn strings(output: &Tensor) -> TractResult<OnnxTensor> {
    let view = output.to_plain_array_view::<String>()?;
    let strings: Vec<Arc<str>> = view.iter().map(|string| Arc::from(string.as_str())).collect();
    Ok(OnnxTensor::from_strings(output.shape().to_vec(), strings.into())?)
}
