//! Part of the suite on tract: operators that it has, and some on which this version aborts, allocates endlessly, or panics.

use std::process::ExitCode;
use std::time::Duration;

use onnx_conformance_harness::Harness;
use tract_runtime::Tract;

fn main() -> ExitCode {
    Harness::new(Tract, concat!(env!("CARGO_MANIFEST_DIR"), "/expectations.yaml"))
        .cases(&[
            "ai.onnx/{Add,Concat,MatMul,Relu,Softmax}-13/**",
            "ai.onnx/{BatchNormalization-15,Transpose-13}/**",
            "onnx-1.23.2/node/test_{batchnorm,transpose,relu,add,concat,softmax}*",
        ])
        // An endless run also allocates: with these limits the first one exceeded is the same on every machine.
        .timeout(Duration::from_secs(60))
        .memory(1_000_000_000)
        .run()
}
