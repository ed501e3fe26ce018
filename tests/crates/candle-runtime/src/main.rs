//! Adapter of candle, started by `adapters/candle`.

use std::process::ExitCode;

use candle_runtime::Candle;

fn main() -> ExitCode {
    onnx_conformance_subject::serve(&Candle)
}
