//! A template for an adapter in Rust, which needs `serde_json` alone: copy the file and fill in `declare` and `run`.
//! docs/protocol.md says what the messages mean.
//!
//!     onnx-conformance smoke --runtime target/debug/examples/template_adapter

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::Path;

use serde_json::{Value, json};

/// What the runtime is. `opsets`, `types` and `variants` may be added: a case outside of them is not sent.
fn declare() -> Value {
    json!({"name": "template", "version": env!("CARGO_PKG_VERSION"), "language": "Rust"})
}

/// Why there are no outputs.
pub(crate) enum Failure {
    /// The runtime does not have what is named: `operator ai.onnx/Abs-13`, `tensor(int4) in ai.onnx/Abs-13`.
    Unsupported { what: String, message: String },
    /// The runtime refuses the model.
    Load(String),
    /// The runtime fails on the model.
    Run(String),
}

/// A value of the graph: a serialized `TensorProto`, `SequenceProto`, ... as the type says.
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) value_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// Runs a model and returns the values of the outputs that are named, serialized, in order.
pub(crate) fn run(model: &Path, inputs: &[Input], outputs: &[&str]) -> Result<Vec<Vec<u8>>, Failure> {
    let model = fs::read(model).map_err(|error| Failure::Load(error.to_string()))?;
    let types: Vec<&str> = inputs.iter().map(|input| input.value_type.as_str()).collect();
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let sizes: usize = inputs.iter().map(|input| input.bytes.len()).sum();
    let asked = format!("{} bytes of model, {sizes} of {names:?}: {types:?}, for {outputs:?}", model.len());
    Err(Failure::Unsupported {
        what: "operator of any domain/any".to_owned(),
        message: format!("this template runs nothing yet; it was given {asked}"),
    })
}

pub(crate) fn main() {
    for line in io::stdin().lock().lines() {
        let request =
            line.and_then(|line| Ok(serde_json::from_str::<Value>(&line)?)).expect("a message of the harness");
        let answer = match request["cmd"].as_str() {
            Some("start") => json!({"runtime": declare()}),
            Some("run") => answer(&request),
            _ => break,
        };
        let mut out = io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("the harness listens");
    }
}

/// Answers one request: `ok` once the outputs are in their files, else what went wrong.
fn answer(request: &Value) -> Value {
    let seq = &request["seq"];
    match files(request) {
        Ok(()) => json!({"seq": seq, "ok": true}),
        Err(Failure::Unsupported { what, message }) => {
            json!({"seq": seq, "unsupported": {"what": what, "message": message}})
        }
        Err(Failure::Load(message)) => json!({"seq": seq, "error": {"phase": "load", "message": message}}),
        Err(Failure::Run(message)) => json!({"seq": seq, "error": {"phase": "run", "message": message}}),
    }
}

fn files(request: &Value) -> Result<(), Failure> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let list = |key: &str| request[key].as_array().cloned().unwrap_or_default();
    let mut inputs = Vec::new();
    for input in list("inputs") {
        let bytes = fs::read(text(&input, "path")).map_err(|error| Failure::Load(error.to_string()))?;
        inputs.push(Input { name: text(&input, "name"), value_type: text(&input, "type"), bytes });
    }
    let outputs = list("outputs");
    let names: Vec<&str> = outputs.iter().filter_map(|output| output["name"].as_str()).collect();
    let values = run(Path::new(&text(request, "model")), &inputs, &names)?;
    for (output, value) in outputs.iter().zip(values) {
        fs::write(text(output, "path"), value).map_err(|error| Failure::Run(error.to_string()))?;
    }
    Ok(())
}
