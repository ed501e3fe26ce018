//! Holding results against an expectation file, and bringing the file up to date.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::case::{Variant, read_text};
use crate::cli::runtime::BUILTIN;
use crate::cli::{options, print};
use crate::report::escape;
use crate::run::{CaseResult, ExpectationMatcher, Expectations, lock_folder, updated_expectations, write_whole};
use crate::runtime::Declaration;

/// What is expected.
#[derive(Debug, Args)]
pub(crate) struct GateOptions {
    /// What is expected besides passing [default: expectations/<runtime>.yaml for the project's suite, else nothing]
    #[arg(long, value_name = "FILE")]
    pub(crate) expectations: Option<PathBuf>,

    /// Rewrite the expectation file to these results, keeping comments and reasons
    #[arg(long)]
    pub(crate) update_expectations: bool,

    /// Hold the runtime to what is recommended, too, as `strict: true` in the expectation file does
    #[arg(long)]
    pub(crate) strict: bool,
}

/// The expectations that a run is held against, and where they are written.
#[derive(Debug)]
pub(crate) struct Gate {
    source: Source,
    /// The expectations.
    pub(crate) book: ExpectationMatcher,
    /// Whether the file is about the suite that is run, so that an entry that matches nothing is wrong.
    pub(crate) is_about_suite: bool,
}

/// Where the expectations of a runtime come from.
#[derive(Debug)]
struct Source {
    path: Option<PathBuf>,
    runtime: Declaration,
    /// Whether the runtime is held to what is recommended, whatever the file says.
    strict: bool,
}

impl GateOptions {
    /// Reads what is expected of a runtime; `is_own_suite` says whether the cases are those of a user's own folder.
    pub(crate) fn open(&self, runtime: &Declaration, is_own_suite: bool) -> anyhow::Result<Gate> {
        let path = match &self.expectations {
            Some(path) => Some(path.clone()),
            None if is_own_suite => None,
            None => Some(default_path(&runtime.name)),
        };
        if let Some(path) = path.as_ref().filter(|path| !path.exists())
            && self.expectations.is_some()
            && !self.update_expectations
        {
            let place = path.display();
            bail!("{place}: there is no such file; leave out --expectations, or write it with `onnx-conformance init`");
        }
        let strict = self.strict || runtime.name == BUILTIN;
        let source = Source { path, runtime: runtime.clone(), strict };
        let (_, book) = source.read()?;
        let expectations = book.expectations();
        if let Some(version) = expectations.version.as_ref().filter(|version| **version != runtime.version) {
            let (path, now) = (expectations.path(), escape::line(&runtime.version));
            print::note(&format!("{path} is about version {version} of {}; this is {now}", runtime.name));
        }
        // The expectations that go without saying are about the project's suite; a file that is named is about this one.
        Ok(Gate { source, book, is_about_suite: !is_own_suite || self.expectations.is_some() })
    }
}

impl Source {
    /// The text of the file, where there is one, and what it expects.
    fn read(&self) -> anyhow::Result<(Option<String>, ExpectationMatcher)> {
        let (mut text, mut expectations) = (None, Expectations::none(&self.runtime.name));
        if let Some(path) = self.path.as_ref().filter(|path| path.exists()) {
            let name = path.display().to_string();
            let read = read_text(path).with_context(|| name.clone())?;
            expectations = Expectations::parse(&name, &read)?.about(&name, &self.runtime.name)?;
            text = Some(read);
        } else {
            // A file that is written for the first time keeps what it is written for.
            expectations.strict = self.strict;
        }
        Ok((text, ExpectationMatcher::new(expectations, &self.runtime, self.strict)?))
    }
}

impl Gate {
    /// Rewrites the file to what these results, those of a whole run in one variant, ask for. Of what the units that are
    /// `missing` would have come to, nothing is known.
    pub(crate) fn update(
        &self,
        results: &mut [CaseResult],
        variant: Variant,
        missing: &[String],
    ) -> anyhow::Result<()> {
        let path = self.source.path.as_ref();
        let path = path.context("there is no expectation file to rewrite; name one with --expectations")?;
        results.sort_by(|a, b| a.id.cmp(&b.id));
        let _held = hold(path)?;
        // Another run may have written the file since this one began.
        let (text, book) = self.source.read()?;
        let text = text.unwrap_or_else(|| book.expectations().to_yaml());
        write(path, &updated_expectations(&text, &book, results, variant, missing)?)
    }
}

/// Holds an expectation file against other processes until the value is dropped, in a folder that is made where it is missing.
pub(crate) fn hold(path: &Path) -> anyhow::Result<Option<File>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(lock_folder(path))
}

/// Writes an expectation file, which the caller holds.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_whole(path, text.as_bytes()).with_context(|| path.display().to_string())?;
    print::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Where the expectations of a runtime are: below the current folder, or in the project where only it has such a file.
pub(crate) fn default_path(runtime: &str) -> PathBuf {
    let file = PathBuf::from(format!("{runtime}.yaml"));
    options::folder_with("expectations", &file).join(file)
}
