//! Comparing results with an expectation file, and bringing the file up to date.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::escape;
use crate::expectations::{
    ExpectationMatcher, Expectations, Provenance, updated_expectations, version_key, with_accepted, with_provenance,
};
use crate::measure::{MeasuredDigests, Measurements};
use crate::note::note;
use crate::run::{CaseResult, Header, Outcome};
use crate::whole_file::{lock_folder, write_whole};
use onnx_conformance_cases::case::{CaseId, Variant, read_text};
use onnx_conformance_subject::{Accepted, Builtin, Declaration, MissingFeature};

/// What a runtime is held to.
#[derive(Clone, Copy, Debug)]
pub struct GateOptions<'a> {
    /// The expectation file that is named; without one, the runtime's own.
    pub expectations: Option<&'a Path>,
    /// Allows a file that does not exist yet.
    pub update_expectations: bool,
    /// Holds the runtime to what is recommended, too, whatever the file says.
    pub strict: bool,
    /// The cases that are run.
    pub origin: SuiteOrigin,
}

/// Where the cases of a run come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteOrigin {
    /// The project.
    Project,
    /// The project, but for op.yaml files of the user's.
    OtherSpecs,
    /// A folder of the user's.
    Folder,
}

/// The expectations that a run is compared with, and the file that they are written to.
#[derive(Debug)]
pub struct Gate {
    source: Source,
    /// The expectations.
    pub matcher: ExpectationMatcher,
    /// Whether the file is about the suite that is run, so that an entry that matches nothing is wrong.
    pub is_about_suite: bool,
    /// Whether the cases are the project's own, of which `records/` has digests.
    is_recorded: bool,
}

/// Where the expectations of a runtime come from.
#[derive(Debug)]
struct Source {
    path: Option<PathBuf>,
    /// Whether the path follows from the runtime.
    is_default: bool,
    runtime: Declaration,
    /// Whether the runtime is held to what is recommended, whatever the file says.
    strict: bool,
}

impl GateOptions<'_> {
    /// Reads what is expected of a runtime on the cases of these sources.
    pub fn open(&self, runtime: &Declaration) -> anyhow::Result<Gate> {
        let is_own_suite = self.origin == SuiteOrigin::Folder;
        let path = match self.expectations {
            Some(path) => Some(path.to_owned()),
            None if is_own_suite => None,
            None => Some(default_path(runtime)),
        };
        if let Some(path) = path.as_ref().filter(|path| !path.exists())
            && self.expectations.is_some()
            && !self.update_expectations
        {
            let place = path.display();
            bail!("{place}: there is no such file; leave out --expectations, or write it with `onnx-conformance init`");
        }
        let strict = self.strict || runtime.name == Builtin::NAME;
        let is_default = self.expectations.is_none();
        let source = Source { path, is_default, runtime: runtime.clone(), strict };
        let (_, matcher) = source.read()?;
        let expectations = matcher.expectations();
        if let Some(version) = expectations.version.as_ref().filter(|version| **version != runtime.version) {
            let (path, now) = (expectations.path(), escape::line(&runtime.version));
            note(&format!("{path} is about version {version} of {}; this is {now}", runtime.name));
        }
        // The expectations that go without saying are about the project's suite; a file that is named is about this one.
        let is_about_suite = !is_own_suite || self.expectations.is_some();
        Ok(Gate { source, matcher, is_about_suite, is_recorded: self.origin == SuiteOrigin::Project })
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
        } else if let Some((name, read)) = self.embedded() {
            expectations = Expectations::parse(&name, &read)?;
            text = Some(read);
        } else {
            // A file that is written for the first time keeps what it is written for.
            expectations.strict = self.strict;
        }
        Ok((text, ExpectationMatcher::new(expectations, &self.runtime, self.strict)?))
    }
}

impl Source {
    /// The measurement of the runtime that the program was built with, that of its version or the newest, where it has one and no
    /// other expectations are named.
    fn embedded(&self) -> Option<(String, String)> {
        if self.path.is_none() || !self.is_default {
            return None;
        }
        let (name, text) = Measurements::embedded().text(&self.runtime.name, &self.runtime.version)?;
        Some((format!("expectations/{name} of this program"), text.to_owned()))
    }

    /// Where new expectations are written: a measurement of another version of the runtime stays as it is, and one that only the
    /// program has becomes a file.
    fn target(&self, read: &Expectations) -> Option<PathBuf> {
        let is_other = read.version.as_ref().is_some_and(|version| *version != self.runtime.version);
        let is_new = self.path.as_ref().is_some_and(|path| !path.exists());
        if self.is_default && read.exact && (is_other || is_new) {
            Some(measured_path(&self.runtime))
        } else {
            self.path.clone()
        }
    }
}

impl Gate {
    /// The patterns of the cases that the file was measured on; none where it is about all.
    pub fn scope(&self) -> &[String] {
        &self.matcher.expectations().scope
    }

    /// Whether a run with these patterns is of all cases that the file is about.
    pub fn is_whole(&self, patterns: &[String]) -> bool {
        patterns.is_empty() || patterns == self.scope()
    }

    /// What is wrong with the file where the runtime, in the version that the file is about, takes other files than it says.
    pub fn other_than(&self, accepted: &Accepted) -> Option<String> {
        let expectations = self.matcher.expectations();
        let is_same_version = expectations.version.as_ref().is_none_or(|it| *it == self.source.runtime.version);
        let stated = expectations.accepts.as_ref().filter(|stated| is_same_version && *stated != accepted)?;
        let path = expectations.path();
        Some(format!("{path}: it takes {accepted}, and `accepts` says {stated}; --update-expectations rewrites it"))
    }

    /// Rewrites the file so that these results, those of a whole run in one variant, are as expected. The groups that are
    /// `missing` have no results. The header says of a measurement where and when it was made anew.
    pub fn update(
        &self,
        results: &mut Vec<CaseResult>,
        variant: Variant,
        missing: &[String],
        accepted: Option<&Accepted>,
        header: Option<&Header>,
    ) -> anyhow::Result<()> {
        let path = self.source.target(self.matcher.expectations());
        let path = &path.context("there is no expectation file to rewrite; name one with --expectations")?;
        results.sort_by(|a, b| a.id.cmp(&b.id));
        let _held = hold(path)?;
        // Another run may have written the file since this one began.
        let (text, matcher) = self.source.read()?;
        let text = text.unwrap_or_else(|| matcher.expectations().to_yaml());
        results.retain(|result| matcher.is_in_scope(CaseId::parse(&result.id).path));
        if matcher.expectations().exact {
            check_measured(path, results)?;
        }
        let text = updated_expectations(&text, &matcher, results, variant, missing)?;
        let text = accepted.map_or_else(|| text.clone(), |accepted| with_accepted(&text, accepted));
        let provenance = header.filter(|_| matcher.expectations().exact).map(Provenance::of);
        write(path, &provenance.map_or_else(|| text.clone(), |provenance| with_provenance(&text, &provenance)))?;
        // What other variants do confirms nothing.
        let has_digests = !matcher.expectations().scope.is_empty() || MeasuredDigests::path(path).exists();
        if variant == Variant::Runtime && has_digests {
            let digests = self.is_recorded.then(|| MeasuredDigests::of_cases(results.iter().map(|it| it.id.as_str())));
            write_digests(path, digests, missing)?;
        }
        Ok(())
    }
}

/// Locks the folder of an expectation file until the value is dropped; a folder that is missing is made.
pub fn hold(path: &Path) -> anyhow::Result<Option<File>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(lock_folder(path))
}

/// Writes an expectation file, which the caller holds.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_whole(path, text.as_bytes()).with_context(|| path.display().to_string())?;
    note(&format!("wrote {}", path.display()));
    Ok(())
}

/// A measurement says how every case ended, so every case was sent but those in files that the runtime was found not to take.
pub fn check_measured(path: &Path, results: &[CaseResult]) -> anyhow::Result<()> {
    let is_file = |result: &&CaseResult| {
        let what = result.message.strip_suffix(" is not declared").and_then(|what| what.parse().ok());
        matches!(what, Some(MissingFeature::Opset(..) | MissingFeature::Ir(_)))
    };
    let unsent = results.iter().filter(|result| result.outcome == Outcome::NotDeclared && !is_file(result));
    let (unsent, first) = (unsent.clone().count(), unsent.map(|result| &result.id).next());
    let Some(first) = first else { return Ok(()) };
    bail!(
        "{}: says `exact: true`, but {unsent} cases were not sent, such as {}: the runtime does not declare what they need; \
         declare it, or leave them out of `scope`",
        path.display(),
        escape::line(first)
    )
}

/// Writes the digests beside an expectation file, with the old ones of the groups that are `missing`. Without digests the
/// file goes: the expectations are about cases that have no record, and confirm nothing.
pub fn write_digests(path: &Path, digests: Option<MeasuredDigests>, missing: &[String]) -> anyhow::Result<()> {
    let path = MeasuredDigests::path(path);
    let place = || path.display().to_string();
    match (digests, path.exists()) {
        (Some(mut digests), exists) => {
            if exists {
                digests.keep(MeasuredDigests::parse(&read_text(&path).with_context(place)?), missing);
            }
            write(&path, &digests.to_text())
        }
        (None, true) => {
            std::fs::remove_file(&path).with_context(place)?;
            note(&format!("removed {}: these cases are not the project's, and have no record", place()));
            Ok(())
        }
        (None, false) => Ok(()),
    }
}

/// Where the expectations of a runtime are, below the current folder: those of its version, else of the newest version that was
/// measured, else `<runtime>.yaml`, where those go of a runtime that was not.
pub fn default_path(runtime: &Declaration) -> PathBuf {
    let measured = measured_path(runtime);
    if measured.exists() {
        return measured;
    }
    let flat = Path::new("expectations").join(format!("{}.yaml", runtime.name));
    let folder = Path::new("expectations").join(&runtime.name);
    if flat.exists() { flat } else { newest_of(&folder).unwrap_or(flat) }
}

/// Where the measurement of a version of a runtime is: `expectations/<runtime>/<version>.yaml`.
pub fn measured_path(runtime: &Declaration) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let version: String = runtime.version.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    Path::new("expectations").join(&runtime.name).join(format!("{version}.yaml"))
}

/// The expectations of the newest version in a folder.
fn newest_of(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.max_by_key(|path| version_key(&path.file_stem().unwrap_or_default().to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::result;

    #[test]
    fn a_measurement_is_of_cases_that_were_sent() {
        let results = [result("a", Outcome::Error), result("b", Outcome::NotApplicable)];
        assert!(check_measured(Path::new("a.yaml"), &results).is_ok());
        let results = [result("a", Outcome::Pass), result("b", Outcome::NotDeclared)];
        let error = check_measured(Path::new("a.yaml"), &results).unwrap_err().to_string();
        assert!(error.starts_with("a.yaml: says `exact: true`, but 1 cases were not sent, such as b"), "{error}");
    }
}
