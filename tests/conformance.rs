//! The whole suite on the built-in executor, as a test binary: a trial for each vendored case, and one for each operator
//! version whose cases come from the specs.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use onnx_conformance_harness::Harness;
use onnx_conformance_subject::Builtin;

/// Time limit per case.
const TIMEOUT: Duration = Duration::from_mins(2);

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Harness::from_host(Builtin::new(TIMEOUT), root.join("expectations/builtin.yaml"))
        .testdata(root.join("testdata"))
        .strict()
        .rerun_command(|id| format!("cargo run --release -- run '{id}'"))
        .run()
}
