//! The command line of onnx-conformance.

use std::process::ExitCode;

fn main() -> ExitCode {
    onnx_conformance::cli::main()
}
