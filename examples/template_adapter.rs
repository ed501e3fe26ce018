//! Template for an adapter in Rust: copy the file and fill in the two functions. A crate that can depend on onnx-conformance
//! needs no adapter for its own tests; see docs/runtimes.md.
//!
//!     onnx-conformance run --smoke --runtime target/debug/examples/template_adapter

use std::process::ExitCode;

use onnx_conformance_harness::{Declaration, Request, Response, Runtime, serve};

struct Template;

impl Runtime for Template {
    /// `opsets`, `types` and `variants` may be added: a case outside of them is not sent.
    fn declaration(&self) -> Declaration {
        let language = Some("Rust".to_owned());
        Declaration { language, ..Declaration::named("template", env!("CARGO_PKG_VERSION")) }
    }

    fn run(&self, request: &Request<'_>) -> Response {
        let inputs: Vec<&str> = request.inputs.iter().map(|input| input.name.as_str()).collect();
        let outputs: Vec<&str> = request.outputs.iter().map(|output| output.name.as_str()).collect();
        let asked = format!("{} bytes of model, {inputs:?}, for {outputs:?}", request.model.len());
        let message = format!("this template runs nothing yet; it was given {asked}");
        Response::unsupported("operator of any domain/any", message)
    }
}

pub(crate) fn main() -> ExitCode {
    serve(&Template)
}
