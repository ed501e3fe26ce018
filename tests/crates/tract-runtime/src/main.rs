//! Adapter of tract, started by `adapters/tract`.

use std::process::ExitCode;

use tract_runtime::Tract;

fn main() -> ExitCode {
    onnx_conformance_harness::serve(&Tract)
}
