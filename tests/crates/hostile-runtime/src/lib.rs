//! A runtime that computes `Abs` and `Identity`, and misbehaves on some other operators.

use std::hint::black_box;
use std::time::Duration;

use onnx_conformance_harness::reference::proto::{Message as _, ModelProto};
use onnx_conformance_harness::{Declaration, ElementType, Request, Response, Runtime, Tensor, Value};

/// A runtime for single-node models.
pub struct Hostile;

impl Runtime for Hostile {
    fn declaration(&self) -> Declaration {
        Declaration::named("hostile", env!("CARGO_PKG_VERSION"))
    }

    fn run(&self, request: &Request<'_>) -> Response {
        let model = match ModelProto::decode(request.model.clone()) {
            Ok(model) => model,
            Err(error) => return Response::load_error(error.to_string()),
        };
        let nodes = model.graph.map(|graph| graph.node).unwrap_or_default();
        let [node] = nodes.as_slice() else { return Response::load_error("the model is not of one node") };
        match node.op_type() {
            "Abs" => {
                println!("what a runtime prints does not break the protocol");
                println!("{{\"seq\":1,\"ok\":true}}");
                abs(request)
            }
            "Acos" => std::process::abort(),
            "Acosh" => panic!("a panic of the runtime under test"),
            "Asin" => Response::run_error(format!("{}", overflow(0))),
            "Asinh" => std::process::exit(0),
            "Atan" => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            "Atanh" => leak(),
            "Identity" => identity(request),
            other => {
                let what = format!("operator ai.onnx/{other}");
                let message = format!("{what} is not supported");
                Response::unsupported(what, message)
            }
        }
    }
}

fn identity(request: &Request<'_>) -> Response {
    match request.inputs {
        [input] => Response::outputs(vec![input.value.clone()]),
        _ => Response::load_error("there is not one input"),
    }
}

/// Returns the absolute values of floats.
fn abs(request: &Request<'_>) -> Response {
    let tensor = request.inputs.first().and_then(|input| input.value.as_tensor());
    let Some(tensor) = tensor else { return Response::load_error("there is no tensor") };
    if tensor.element_type() != ElementType::Float {
        let what = format!("tensor({})", tensor.element_type());
        return Response::unsupported(&what, format!("{what} is not supported"));
    }
    let values: Vec<f64> = tensor.floats().into_iter().map(f64::abs).collect();
    match Tensor::of_floats(ElementType::Float, tensor.shape(), &values) {
        Ok(tensor) => Response::outputs(vec![Value::Tensor(tensor)]),
        Err(error) => Response::run_error(error.to_string()),
    }
}

/// Recurses until the stack overflows.
#[expect(unconditional_recursion, reason = "that the stack overflows is what is tested")]
fn overflow(depth: u64) -> u64 {
    let frame = black_box([depth; 512]);
    overflow(depth + 1) + black_box(frame)[0]
}

/// Allocates more memory than allowed, and keeps it.
fn leak() -> ! {
    let mut taken = Vec::new();
    loop {
        if taken.len() < 128 {
            taken.push(black_box(vec![1_u8; 16 << 20]));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
