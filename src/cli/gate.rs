//! Holding results against an expectation file, and bringing the file up to date.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;

use crate::case::{Evidence, Variant};
use crate::cli::runtime::BUILTIN;
use crate::cli::{options, output};
use crate::run::{Book, CaseResult, Expectations, updated_expectations};
use crate::runtime::Declaration;

/// What is expected.
#[derive(Debug, Args)]
pub(crate) struct GateOptions {
    /// What is expected besides passing [default: expectations/<runtime>.yaml for the project's suite, else nothing]
    #[arg(long, value_name = "FILE")]
    pub(crate) expectations: Option<PathBuf>,

    /// Rewrite the expectation file to what came, keeping comments and reasons
    #[arg(long)]
    pub(crate) update_expectations: bool,

    /// Hold the runtime to what is recommended, too, as `strict: true` in the expectation file does
    #[arg(long)]
    pub(crate) strict: bool,
}

/// The expectations that a run is held against, and where they are written.
#[derive(Debug)]
pub(crate) struct Gate {
    path: Option<PathBuf>,
    /// The text of the file, where there is one.
    text: Option<String>,
    /// The expectations.
    pub(crate) book: Book,
    /// Whether the file is about the suite that is run, so that an entry that matches nothing is wrong.
    pub(crate) is_about_suite: bool,
}

impl GateOptions {
    /// Reads what is expected of a runtime; `is_own_suite` says whether the cases are those of a user's own folder.
    pub(crate) fn open(&self, runtime: &Declaration, is_own_suite: bool) -> anyhow::Result<Gate> {
        let path = match &self.expectations {
            Some(path) => Some(path.clone()),
            None if is_own_suite => None,
            None => Some(default_path(&runtime.name)),
        };
        let exists = path.as_deref().is_some_and(Path::exists);
        if let Some(path) =
            path.as_ref().filter(|_| self.expectations.is_some() && !exists && !self.update_expectations)
        {
            let place = path.display();
            bail!("{place}: there is no such file; leave out --expectations, or write it with `onnx-conformance init`");
        }
        let (mut text, mut expectations) = (None, Expectations::none(&runtime.name));
        if let Some(path) = path.as_ref().filter(|_| exists) {
            let name = path.display().to_string();
            let read = std::fs::read_to_string(path).with_context(|| name.clone())?;
            expectations = Expectations::parse(&name, &read)?.about(&name, &runtime.name)?;
            text = Some(read);
        }
        if let Some(version) = expectations.version.as_ref().filter(|version| **version != runtime.version) {
            let (path, now) = (expectations.path(), &runtime.version);
            output::note(&format!("{path} is about version {version} of {}; this is {now}", runtime.name));
        }
        let strict = self.strict || runtime.name == BUILTIN;
        // A file that is written for the first time keeps what it is written for.
        expectations.strict |= strict && !exists;
        let is_pinned = expectations.version.as_ref() == Some(&runtime.version);
        let witness = Evidence::of_runtime(&runtime.name).filter(|_| is_pinned && self.expectations.is_none());
        let book = Book::new(expectations, runtime, strict)?.of_witness(witness);
        // The expectations that go without saying are about the project's suite; a file that is named is about this one.
        Ok(Gate { path, text, book, is_about_suite: !is_own_suite || self.expectations.is_some() })
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
        let path =
            self.path.as_ref().context("there is no expectation file to rewrite; name one with --expectations")?;
        results.sort_by(|a, b| a.id.cmp(&b.id));
        let new = || self.book.expectations().to_yaml();
        let text = self.text.clone().unwrap_or_else(new);
        let text = updated_expectations(&text, &self.book, results, variant, missing)?;
        write(path, &text)
    }
}

/// Writes an expectation file, in a folder that is made where it is missing.
pub(crate) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let place = || path.display().to_string();
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(place)?;
    }
    std::fs::write(path, text).with_context(place)?;
    output::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Where the expectations of a runtime are: below the current folder, or in the project where only it has such a file.
pub(crate) fn default_path(runtime: &str) -> PathBuf {
    let file = PathBuf::from(format!("{runtime}.yaml"));
    options::folder_with("expectations", &file).join(file)
}
