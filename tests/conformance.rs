//! The whole suite on the built-in executor.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use onnx_conformance::cli::libtest::{Options, libtest};
use onnx_conformance::runtime::Builtin;

fn main() -> ExitCode {
    let expectations = Path::new(env!("CARGO_MANIFEST_DIR")).join("expectations/builtin.yaml");
    let runtime = Builtin::new(Duration::from_mins(2));
    libtest(Box::new(runtime), &expectations, Options { cases: &[], strict: true })
}
