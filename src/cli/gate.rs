//! Comparison of results with an expectation file, and updates of the file.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use onnx_conformance_cases::suite::{Filter, Suite};
use onnx_conformance_harness::gate_file::{self, Gate};
use onnx_conformance_harness::run::Plan;
use onnx_conformance_subject::Declaration;

use crate::cli::options::Sources;
use crate::cli::usage::Usage;

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

/// Fails if filters select other cases than the expectation file is about, so that it cannot be updated to their results.
pub(crate) fn check_selection(gate: &Gate, suite: &Suite, filter: &Filter, plan: &Plan<'_>) -> anyhow::Result<()> {
    if filter.is_everything() || gate.covers_exactly(suite, plan)? {
        return Ok(());
    }
    if gate.scope().is_empty() {
        bail!(update_of_a_part("omit the filters"));
    }
    bail!(Usage(format!(
        "--update-expectations needs a run of exactly the cases in the scope of {}, since an entry may cover cases that are not \
         run; omit the filters, or select what `scope` selects: {}",
        gate.matcher.expectations().path(),
        gate.scope().join(" ")
    )));
}

/// Returns the refusal to update an expectation file to a part of the results, with the way to a whole.
pub(crate) fn update_of_a_part(way_out: &str) -> Usage {
    Usage(format!(
        "--update-expectations needs a run of the whole suite, since an entry may cover cases that are not run; {way_out}. To \
         run only new and changed cases, resume the results of an earlier run: `run --resume FILE --keep-failures --results \
         NEW`, then `merge NEW -o ALL --update-expectations`"
    ))
}
