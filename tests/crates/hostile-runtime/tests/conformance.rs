//! The suite on a misbehaving runtime: the whole test file of a runtime's crate.

use std::process::ExitCode;
use std::time::Duration;

use hostile_runtime::Hostile;
use onnx_conformance_harness::Harness;

fn main() -> ExitCode {
    Harness::new(Hostile, concat!(env!("CARGO_MANIFEST_DIR"), "/expectations.yaml"))
        .cases(&[
            "ai.onnx/Identity-1/**",
            "ai.onnx/Abs-6/**",
            "ai.onnx/{Acos,Acosh,Asin,Asinh,Atan,Atanh}-*/known_values/T=float",
        ])
        // The trial `smoke` needs a graph of two nodes, which this runtime does not have.
        .without_smoke()
        .timeout(Duration::from_secs(5))
        .memory(400_000_000)
        .run()
}
