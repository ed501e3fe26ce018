//! Files that tell others of a run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::report::{junit, shields, summary};
use crate::run::{CaseResult, Standing, Tally};
use crate::runtime::Declaration;

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
    /// Whether every result is needed, not only what came of all.
    pub(crate) fn needs_results(&self) -> bool {
        self.junit.is_some()
    }

    /// Writes the files.
    pub(crate) fn write(
        &self,
        runtime: &Declaration,
        results: &[(CaseResult, Standing)],
        tally: &Tally,
    ) -> anyhow::Result<()> {
        if let Some(path) = &self.junit {
            write(path, &junit::report(&runtime.name, results).with_context(|| path.display().to_string())?)?;
        }
        if let Some(path) = &self.markdown {
            write(path, &summary::markdown(runtime, tally))?;
        }
        if let Some(path) = &self.shields {
            write(path, &shields::badge(runtime, &tally.summary))?;
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
