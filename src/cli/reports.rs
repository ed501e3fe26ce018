//! Files that tell others of a run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::expectations::{GateResult, Verdict};
use crate::report::{badge, ci_summary, junit};
use crate::run::CaseResult;
use crate::runtime::Declaration;
use crate::whole_file::write_whole;

/// Which files are written.
#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Write `JUnit` XML of every case to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write a summary in markdown to this file, as for a job of a CI service
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write what shields.io makes a badge from to this file, as JSON
    #[arg(long, value_name = "FILE")]
    shields: Option<PathBuf>,
}

impl ReportOptions {
    /// Whether every result is needed, not only their counts.
    pub(crate) fn needs_results(&self) -> bool {
        self.junit.is_some()
    }

    /// Writes the files.
    pub(crate) fn write(
        &self,
        runtime: &Declaration,
        results: &[(CaseResult, Verdict)],
        tally: &GateResult,
    ) -> anyhow::Result<()> {
        let junit = || Ok(junit::report(&runtime.name, results)?);
        let markdown = || Ok(ci_summary::markdown(runtime, tally));
        let shields = || Ok(badge::badge(runtime, &tally.summary));
        let written = [
            write(self.junit.as_deref(), &junit),
            write(self.markdown.as_deref(), &markdown),
            write(self.shields.as_deref(), &shields),
        ];
        // One that cannot be written keeps no other from being written.
        written.into_iter().collect()
    }
}

fn write(path: Option<&Path>, text: &dyn Fn() -> anyhow::Result<String>) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    text().and_then(|text| Ok(write_whole(path, text.as_bytes())?)).with_context(|| path.display().to_string())
}
