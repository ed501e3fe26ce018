//! Comparison of results with an expectation file, and updates of the file.

use std::path::PathBuf;

use clap::Args;
use onnx_conformance_harness::gate_file::{self, Gate};
use onnx_conformance_subject::Declaration;

use crate::cli::options::Sources;

/// Options for expectations.
#[derive(Debug, Args)]
pub(crate) struct GateOptions {
    /// Expectation file, which lists expected failures [default for the project's suite:
    /// expectations/<runtime>/<version>.yaml, else the newest version there, else expectations/<runtime>.yaml; for
    /// other suites none]
    #[arg(long, value_name = "FILE")]
    pub(crate) expectations: Option<PathBuf>,

    /// Update the expectation file to the results of this run, keeping comments and reasons
    #[arg(long)]
    pub(crate) update_expectations: bool,

    /// Also count recommended cases, like `strict: true` in the expectation file
    #[arg(long)]
    pub(crate) strict: bool,
}

impl GateOptions {
    /// Reads the expectations of a runtime for the cases of these sources.
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
