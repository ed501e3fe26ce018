//! Options that several subcommands share.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::case::read_text;
use crate::generate::Operators;
use crate::run::{Expectations, confirmed};
use crate::suite::{Filter, Generated, Suite, read_operators};

/// Which cases.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Globs over case ids, such as 'onnx-1.23.2/node/test_sum*' or 'ai.onnx/Sum-*/**'; one with a leading ! excludes
    #[arg(value_name = "FILTER")]
    pub(crate) filters: Vec<String>,

    #[command(flatten)]
    pub(crate) sources: Sources,
}

/// Where the cases come from.
#[derive(Debug, Args)]
pub(crate) struct Sources {
    /// Take the cases from a folder of ordinary ONNX test folders, or one that `export` wrote, instead of the project's
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Option<PathBuf>,

    /// Make the cases from the op.yaml files below this folder instead of those the program was built with
    #[arg(long, value_name = "DIR", conflicts_with = "suite")]
    pub(crate) specs: Option<PathBuf>,

    /// The project's data, when it is not found by itself
    #[arg(long, value_name = "DIR", env = "ONNX_CONFORMANCE_TESTDATA")]
    pub(crate) testdata: Option<PathBuf>,
}

impl Selection {
    /// Opens the suite that is meant.
    pub(crate) fn open(&self) -> anyhow::Result<Suite> {
        self.sources.open()
    }

    /// The op.yaml files that the cases from specs are made from.
    pub(crate) fn operators(&self) -> anyhow::Result<Operators> {
        self.sources.operators()
    }

    /// The filter that the patterns make.
    pub(crate) fn filter(&self) -> anyhow::Result<Filter> {
        Ok(Filter::new(&self.filters)?)
    }
}

impl Sources {
    /// Opens the suite that is meant.
    pub(crate) fn open(&self) -> anyhow::Result<Suite> {
        if let Some(folder) = &self.suite {
            return Ok(Suite::of_folder(folder)?);
        }
        let testdata = self.testdata.clone().unwrap_or_else(|| project_folder("testdata"));
        let generated = match &self.specs {
            Some(folder) => Generated::new(read_operators(folder)?),
            None => Generated::embedded(),
        };
        let suite = Suite::with(&testdata, generated)?;
        // Of cases that are made from other files, the project's expectations say nothing.
        Ok(if self.specs.is_some() { suite } else { confirmed(suite) })
    }

    /// The op.yaml files that the cases from specs are made from.
    pub(crate) fn operators(&self) -> anyhow::Result<Operators> {
        Ok(match &self.specs {
            Some(folder) => read_operators(folder)?,
            None => Operators::embedded(),
        })
    }
}

/// A folder of the project: below the current folder if it is there, else where the program was built.
pub(crate) fn project_folder(name: &str) -> PathBuf {
    let here = PathBuf::from(name);
    if here.is_dir() { here } else { Path::new(env!("CARGO_MANIFEST_DIR")).join(name) }
}

/// What a file says is expected of a runtime; nothing besides passing where there is no such file.
pub fn read_expectations(path: &Path, runtime: &str) -> anyhow::Result<Expectations> {
    if !path.exists() {
        return Ok(Expectations::none(runtime));
    }
    let name = path.display().to_string();
    let text = read_text(path).with_context(|| name.clone())?;
    Ok(Expectations::parse(&name, &text)?.about(&name, runtime)?)
}
