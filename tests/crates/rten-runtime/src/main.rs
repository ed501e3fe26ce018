//! Adapter of rten, started by `adapters/rten`.

use std::process::ExitCode;

use rten_runtime::Rten;

fn main() -> ExitCode {
    onnx_conformance_subject::serve(&Rten)
}
