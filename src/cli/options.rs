//! Options that several subcommands share.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use crate::cli::usage::{Nothing, Usage};
use onnx_conformance_cases::case::{Variant, lines, read_lines, read_text};
use onnx_conformance_cases::generate::OperatorCatalog;
use onnx_conformance_cases::suite::{Filter, Generated, Releases, Suite, read_operators};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::expectations::Expectations;
use onnx_conformance_harness::gate_file::SuiteOrigin;

/// Largest size of a list of filters in bytes.
const MAX_LIST: usize = 64 << 20;

/// How something is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people
    #[default]
    Text,
    /// For programs, as JSON
    Json,
}

/// Which cases.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Globs over case ids, such as 'onnx-1.23.2/node/test_sum*' or 'ai.onnx/Sum-*/**'; one with a leading ! excludes
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Read filters from this file, too, or from standard input for -: one a line; blank lines and those that begin with # are
    /// left out
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Choose among the tests of this ONNX release, such as 1.7.0, or 1.8 for 1.8.0 and 1.8.1
    #[arg(long, value_name = "RELEASE")]
    release: Vec<String>,

    #[command(flatten)]
    pub(crate) sources: Sources,
}

/// Where the cases come from.
#[derive(Debug, Default, Args)]
pub(crate) struct Sources {
    /// Take the cases from a folder of ordinary ONNX test folders, or one that `export` wrote, instead of the project's
    #[arg(long, value_name = "DIR")]
    pub(crate) suite: Option<PathBuf>,

    /// Make the cases from the op.yaml files below this folder instead of those the program was built with
    #[arg(long, value_name = "DIR", conflicts_with = "suite")]
    pub(crate) specs: Option<PathBuf>,

    /// Take the tests of ONNX's releases and the data of models from this folder, `testdata` of a checkout, instead of those that
    /// the program was built with
    #[arg(long, value_name = "DIR", env = "ONNX_CONFORMANCE_TESTDATA")]
    pub(crate) testdata: Option<PathBuf>,
}

impl Selection {
    /// Opens the suite that is meant.
    pub(crate) fn open(&self) -> anyhow::Result<Suite> {
        self.sources.open()
    }

    /// The op.yaml files that the cases from specs are made from.
    pub(crate) fn operators(&self) -> anyhow::Result<OperatorCatalog> {
        self.sources.operators()
    }

    /// The patterns of the command line and of `--from`, whose file is read.
    pub(crate) fn patterns(&self) -> anyhow::Result<Vec<String>> {
        let mut patterns = self.filters.clone();
        if let Some(path) = &self.from {
            patterns.extend(read_patterns(path)?);
            if patterns.is_empty() {
                bail!(Nothing(format!("{}: no filter stands here, so no case is chosen", path.display())));
            }
        }
        Ok(patterns)
    }

    /// The file of `--from`.
    pub(crate) fn list(&self) -> Option<&Path> {
        self.from.as_deref()
    }

    /// The filter as far as it chooses tests of the releases that are named.
    pub(crate) fn narrowed(&self, filter: Filter) -> anyhow::Result<Filter> {
        Ok(filter.within(self.groups()?))
    }

    /// The groups of the releases that are named, of which each is there.
    pub(crate) fn groups(&self) -> anyhow::Result<Vec<String>> {
        if self.release.is_empty() {
            return Ok(Vec::new());
        }
        if self.sources.suite.is_some() {
            let rule = "--release is about the project's own cases, and --suite about others; leave out one";
            bail!(Usage(rule.to_owned()));
        }
        let releases = self.sources.releases()?;
        let known: Vec<&str> = releases.all().iter().map(|known| known.release.as_str()).collect();
        let mut groups = Vec::new();
        for name in &self.release {
            let below = format!("{name}.");
            let named: Vec<&&str> = known.iter().filter(|known| *known == name || known.starts_with(&below)).collect();
            if named.is_empty() {
                bail!(Usage(format!("there is no ONNX release {name} here; there are {}", known.join(", "))));
            }
            groups.extend(named.into_iter().map(|known| format!("onnx-{known}")));
        }
        Ok(groups)
    }
}

/// The patterns in a file, each tried on its own, so that one that is wrong is named with its line.
fn read_patterns(path: &Path) -> anyhow::Result<Vec<String>> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let lines: Box<dyn Iterator<Item = io::Result<String>>> = if is_stdin {
        Box::new(lines(io::stdin().lock()))
    } else {
        Box::new(read_lines(path).with_context(|| name.clone())?)
    };
    let mut patterns = Vec::new();
    let mut size = 0;
    for (number, line) in (1..).zip(lines) {
        let line = line.with_context(|| format!("{name}:{number}"))?;
        size += line.len() + 1;
        if size > MAX_LIST {
            bail!("{name}: has more than the {MAX_LIST} bytes that are read");
        }
        let pattern = line.trim();
        if !pattern.is_empty() && !pattern.starts_with('#') {
            Filter::new(&[Variant::of_id(pattern).0]).with_context(|| format!("{name}:{number}"))?;
            patterns.push(pattern.to_owned());
        }
    }
    Ok(patterns)
}

impl Sources {
    /// Opens the suite that is meant.
    pub(crate) fn open(&self) -> anyhow::Result<Suite> {
        if let Some(folder) = &self.suite {
            return Ok(Suite::of_folder(folder)?);
        }
        let generated = match &self.specs {
            Some(folder) => Generated::new(read_operators(folder)?),
            None => Generated::embedded(),
        };
        Ok(Suite::project(self.testdata.as_deref(), generated)?)
    }

    /// Where the cases come from.
    pub(crate) fn origin(&self) -> SuiteOrigin {
        match (&self.suite, &self.specs) {
            (Some(_), _) => SuiteOrigin::Folder,
            (None, Some(_)) => SuiteOrigin::OtherSpecs,
            (None, None) => SuiteOrigin::Project,
        }
    }

    /// Returns whether the cases are those that come with the project, of which `records/` and the expectation files tell.
    pub(crate) fn is_project(&self) -> bool {
        self.origin() == SuiteOrigin::Project
    }

    /// What other runtimes confirm; nothing where the cases are made from other files than the project's.
    pub(crate) fn evidence(&self) -> anyhow::Result<ConfirmingRuntimes<'static>> {
        Ok(if self.is_project() { ConfirmingRuntimes::embedded()? } else { ConfirmingRuntimes::none() })
    }

    /// The releases whose tests are among the cases.
    fn releases(&self) -> anyhow::Result<Arc<Releases>> {
        Ok(Releases::below(self.testdata.as_deref())?)
    }

    /// Opens the project's suite, whatever suite is meant.
    pub(crate) fn vendored(&self) -> anyhow::Result<Suite> {
        Ok(Suite::project(self.testdata.as_deref(), Generated::embedded())?)
    }

    /// The op.yaml files that the cases from specs are made from.
    pub(crate) fn operators(&self) -> anyhow::Result<OperatorCatalog> {
        Ok(match &self.specs {
            Some(folder) => read_operators(folder)?,
            None => OperatorCatalog::embedded(),
        })
    }
}

/// A number of things, 0 or more.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {}", usize::MAX))
}

/// An amount of memory in megabytes, as bytes; 0 stands for no limit.
pub(crate) fn megabytes(text: &str) -> Result<usize, String> {
    count(text).map(|count| if count == 0 { usize::MAX } else { count.saturating_mul(1_000_000) })
}

/// How many of something are shown, where 0 stands for all.
pub(crate) fn shown(text: &str) -> Result<usize, String> {
    count(text).map(|count| if count == 0 { usize::MAX } else { count })
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
