//! Options about what a runtime is held to.

use std::path::PathBuf;

use clap::Args;
use onnx_conformance_harness::gate_file::{self, Gate};
use onnx_conformance_subject::Declaration;

use crate::cli::options::Sources;

/// What is expected.
#[derive(Debug, Args)]
pub(crate) struct GateOptions {
    /// What is expected besides passing [default for the project's suite: expectations/<runtime>/<version>.yaml, else the
    /// newest version there, else expectations/<runtime>.yaml; for another suite nothing]
    #[arg(long, value_name = "FILE")]
    pub(crate) expectations: Option<PathBuf>,

    /// Rewrite the expectation file to the results of this run, keeping comments and reasons
    #[arg(long)]
    pub(crate) update_expectations: bool,

    /// Hold the runtime to what is recommended, too, as `strict: true` in the expectation file does
    #[arg(long)]
    pub(crate) strict: bool,
}

impl GateOptions {
    /// Reads what is expected of a runtime on the cases of these sources.
    pub(crate) fn open(&self, runtime: &Declaration, sources: &Sources) -> anyhow::Result<Gate> {
        let options = gate_file::GateOptions {
            expectations: self.expectations.as_deref(),
            update_expectations: self.update_expectations,
            strict: self.strict,
            origin: sources.origin(),
        };
        options.open(runtime)
    }
}
