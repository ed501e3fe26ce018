//! The adapter of tract: `adapters/tract` starts this program.

use std::process::ExitCode;

use tract_runtime::Tract;

fn main() -> ExitCode {
    onnx_conformance_harness::serve(&Tract)
}
