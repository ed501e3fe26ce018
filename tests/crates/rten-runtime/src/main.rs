//! The adapter of rten: `adapters/rten` starts this program.

use std::process::ExitCode;

use rten_runtime::Rten;

fn main() -> ExitCode {
    onnx_conformance_subject::serve(&Rten)
}
