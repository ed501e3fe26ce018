//! The adapter of candle: `adapters/candle` starts this program.

use std::process::ExitCode;

use candle_runtime::Candle;

fn main() -> ExitCode {
    onnx_conformance_subject::serve(&Candle)
}
