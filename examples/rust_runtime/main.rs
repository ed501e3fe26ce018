//! Tests of a small runtime: a runtime written in Rust runs the suite in its own `cargo test`.
//!
//! The runtime has three operators on `float`, and a bug. `expectations.yaml` next to this file lists its failures. If you remove
//! a line, or fix the bug, the run fails.
//!
//!     cargo test --example rust_runtime                            # all tests
//!     cargo test --example rust_runtime -- Neg                     # tests of one operator
//!     UPDATE_EXPECTATIONS=1 cargo test --example rust_runtime      # accepts the results
//!
//! In a separate crate, this file is `tests/conformance.rs`, with `harness = false` in Cargo.toml.

use std::path::Path;
use std::process::ExitCode;

use onnx_conformance::reference::proto::{Message as _, ModelProto};
use onnx_conformance_harness::{Declaration, ElementType, Harness, Phase, Request, Response, Runtime, Tensor, Value};

fn main() -> ExitCode {
    let expectations = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rust_runtime/expectations.yaml");
    Harness::new(Small, expectations)
        // A more complete runtime omits this line and runs everything.
        .cases(&["ai.onnx/{Abs,Neg,Relu,Sign}-*/**", "onnx-1.23.2/node/test_{abs,neg,relu,sign}"])
        // The trial `smoke` needs Identity and a graph of two nodes, which this runtime does not have.
        .without_smoke()
        .rerun_command(|id| format!("cargo run -- show '{id}'"))
        .run()
}

/// A runtime for single-node models.
struct Small;

impl Runtime for Small {
    fn declaration(&self) -> Declaration {
        Declaration::named("small", "0.1.0")
    }

    fn run(&self, request: &Request<'_>) -> Response {
        run(request).unwrap_or_else(|failure| failure)
    }
}

fn run(request: &Request<'_>) -> Result<Response, Response> {
    let refused = |message: &str| Response::Error { phase: Phase::Load, message: message.to_owned() };
    let model = ModelProto::decode(request.model.clone()).map_err(|error| refused(&error.to_string()))?;
    let graph = model.graph.ok_or_else(|| refused("the model has no graph"))?;
    let [node] = graph.node.as_slice() else { return Err(unsupported("graphs of several nodes")) };
    let operator = match node.op_type() {
        // The bug: infinity and NaN become a number.
        "Abs" => |x: f64| x.abs().min(f64::from(f32::MAX)),
        "Neg" => |x: f64| -x,
        "Relu" => |x: f64| if x < 0.0 { 0.0 } else { x },
        other => return Err(unsupported(&format!("operator ai.onnx/{other}"))),
    };
    if !node.attribute.is_empty() {
        return Err(refused("the operators that there are have no attributes"));
    }
    let ([input], [_]) = (node.input.as_slice(), node.output.as_slice()) else {
        return Err(refused("the operators that there are have one input and one output"));
    };
    let value = request.inputs.iter().find(|given| given.name == *input);
    let tensor = value.and_then(|given| given.value.as_tensor()).ok_or_else(|| refused("there is no such input"))?;
    if tensor.element_type() != ElementType::Float {
        return Err(unsupported(&format!("tensor({})", tensor.element_type())));
    }
    let values: Vec<f64> = tensor.floats().into_iter().map(operator).collect();
    let output = Tensor::of_floats(ElementType::Float, tensor.shape(), &values);
    let output = output.map_err(|error| Response::Error { phase: Phase::Run, message: error.to_string() })?;
    Ok(Response::Outputs { values: vec![Value::Tensor(output)], cells: Vec::new() })
}

/// Names the missing feature, with the same text for every case that needs it.
fn unsupported(what: &str) -> Response {
    Response::Unsupported { what: what.to_owned(), message: format!("{what} is not supported") }
}
