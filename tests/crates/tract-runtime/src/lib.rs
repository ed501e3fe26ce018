//! [tract](https://crates.io/crates/tract-onnx) as a runtime of the suite.

use std::io::Cursor;

use onnx_conformance::case::Named;
use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::tensor::Tensor as OnnxTensor;
use onnx_conformance::reference::value::Value;
use onnx_conformance::runtime::{Declaration, Request, Response, Runtime};
use tract_onnx::prelude::*;

/// tract, as it optimizes and runs a model.
pub struct Tract;

impl Runtime for Tract {
    fn declaration(&self) -> Declaration {
        let issues = Some("https://github.com/sonos/tract/issues".to_owned());
        Declaration { language: Some("Rust".to_owned()), issues, ..Declaration::named("tract", "0.23.9") }
    }

    fn run(&self, request: &Request<'_>) -> Response {
        match run(request) {
            Ok(response) | Err(response) => response,
        }
    }
}

fn run(request: &Request<'_>) -> Result<Response, Response> {
    let load_error = |error: TractError| Response::load_error(format!("{error:#}"));
    let mut model = tract_onnx::onnx().model_for_read(&mut Cursor::new(request.model)).map_err(load_error)?;
    let names: Vec<String> =
        model.input_outlets().map_err(load_error)?.iter().map(|outlet| model.node(outlet.node).name.clone()).collect();
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
    let asked = outputs.iter().take(request.outputs.len());
    Ok(Response::outputs(asked.map(|output| value(output)).collect::<Result<Vec<_>, _>>()?))
}

/// What tract has no tensors of is lacking, whatever it would make of other types in their place.
fn lacks(element: ElementType) -> Response {
    Response::unsupported(format!("tensor({element})"), format!("no tensors of {element} go in or out"))
}

fn tensor(input: &Named) -> Result<Tensor, Response> {
    let lacks_kind = || Response::unsupported(input.value.value_type().to_string(), "only tensors go in");
    let tensor = input.value.as_tensor().ok_or_else(lacks_kind)?;
    let error = |error: TractError| Response::load_error(error.to_string());
    match tensor.element_type() {
        ElementType::Float => {
            let values: Vec<f32> = elements(tensor).map(f32::from_le_bytes).collect();
            Tensor::from_shape(tensor.shape(), &values).map_err(error)
        }
        ElementType::Double => {
            let values: Vec<f64> = elements(tensor).map(f64::from_le_bytes).collect();
            Tensor::from_shape(tensor.shape(), &values).map_err(error)
        }
        ElementType::Int32 => {
            let values: Vec<i32> = elements(tensor).map(i32::from_le_bytes).collect();
            Tensor::from_shape(tensor.shape(), &values).map_err(error)
        }
        ElementType::Int64 => {
            let values: Vec<i64> = elements(tensor).map(i64::from_le_bytes).collect();
            Tensor::from_shape(tensor.shape(), &values).map_err(error)
        }
        ElementType::Bool => {
            let values: Vec<bool> = elements(tensor).map(|[byte]: [u8; 1]| byte != 0).collect();
            Tensor::from_shape(tensor.shape(), &values).map_err(error)
        }
        other => Err(lacks(other)),
    }
}

/// The bytes of each element.
fn elements<const N: usize>(tensor: &OnnxTensor) -> impl Iterator<Item = [u8; N]> {
    tensor.bytes().chunks_exact(N).map(|bytes| std::array::from_fn(|at| bytes[at]))
}

fn value(tensor: &Tensor) -> Result<Value, Response> {
    let error = |error: TractError| Response::run_error(error.to_string());
    let shape = tensor.shape();
    let bytes = |element: ElementType, bytes: Vec<u8>| {
        OnnxTensor::from_bytes(element, shape.to_vec(), bytes.into())
            .map(Value::Tensor)
            .map_err(|error| Response::run_error(error.to_string()))
    };
    match tensor.datum_type() {
        DatumType::F32 => {
            let view = tensor.to_plain_array_view::<f32>().map_err(error)?;
            bytes(ElementType::Float, view.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        DatumType::F64 => {
            let view = tensor.to_plain_array_view::<f64>().map_err(error)?;
            bytes(ElementType::Double, view.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        DatumType::I32 => {
            let view = tensor.to_plain_array_view::<i32>().map_err(error)?;
            bytes(ElementType::Int32, view.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        DatumType::I64 => {
            let view = tensor.to_plain_array_view::<i64>().map_err(error)?;
            bytes(ElementType::Int64, view.iter().flat_map(|value| value.to_le_bytes()).collect())
        }
        DatumType::Bool => {
            let view = tensor.to_plain_array_view::<bool>().map_err(error)?;
            bytes(ElementType::Bool, view.iter().map(|value| u8::from(*value)).collect())
        }
        other => Err(Response::run_error(format!("an output is of tract's type {other:?}"))),
    }
}
