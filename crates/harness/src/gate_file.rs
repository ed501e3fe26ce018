//! Comparison of results with an expectation file, and updates of the file.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use onnx_conformance_cases::case::{CaseId, TextRelease, Variant, read_text};
use onnx_conformance_cases::suite::{Filter, SUITE_VERSION, Suite, SuiteError};
use onnx_conformance_subject::{Accepted, Builtin, Declaration, MissingFeature, Question};

use crate::escape;
use crate::expectations::{
    ExpectationMatcher, Expectations, Provenance, WholeRun, updated_expectations, version_key, with_accepted,
    with_provenance, with_rewrites, with_suite,
};
use crate::measure::{MeasuredAccuracy, MeasuredDigests, Measurements};
use crate::note::note;
use crate::promises::{is_later, suite_version};
use crate::run::{CaseResult, Header, Outcome, Plan, Rewrites, plan};
use crate::whole_file::{lock_folder, write_whole};

/// Options of a gate: which expectations a runtime is compared with.
#[derive(Clone, Copy, Debug)]
pub struct GateOptions<'a> {
    /// The expectation file that is named; without one, the runtime's own.
    pub expectations: Option<&'a Path>,
    /// Allows a missing file, which an update creates.
    pub update_expectations: bool,
    /// Counts recommended cases even if the file does not say so.
    pub strict: bool,
    /// The cases that are run.
    pub origin: SuiteOrigin,
}

/// Origin of the cases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteOrigin {
    /// The project.
    Project,
    /// The project, but for op.yaml files of the user's.
    OtherSpecs,
    /// A folder of the user's.
    Folder,
}

/// Expectations that a run is compared with, and the file to write them to.
#[derive(Debug)]
pub struct Gate {
    source: Source,
    /// The expectations.
    pub matcher: ExpectationMatcher,
    /// True if the file is about the suite of the run, so that an entry that matches nothing is an error.
    pub is_about_suite: bool,
    /// True if the cases are the project's own, which have digests in `records/`.
    is_recorded: bool,
}

/// Source of a runtime's expectations.
#[derive(Debug)]
struct Source {
    path: Option<PathBuf>,
    /// True if the path is derived from the runtime.
    is_default: bool,
    runtime: Declaration,
    /// True if recommended cases count even if the file does not say so.
    strict: bool,
}

impl GateOptions<'_> {
    /// Reads the expectations of a runtime for the cases of these sources.
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
            bail!("{place}: no such file; omit --expectations, or create the file with `onnx-conformance run --init`");
        }
        let strict = self.strict || runtime.name == Builtin::NAME;
        let is_default = self.expectations.is_none();
        let source = Source { path, is_default, runtime: runtime.clone(), strict };
        let (_, matcher) = source.read()?;
        let expectations = matcher.expectations();
        if let Some(version) =
            expectations.version.as_ref().filter(|version| !is_same_release(version, &runtime.version))
        {
            let (path, now) = (expectations.path(), escape::line(&runtime.version));
            note(&format!("{path} is about version {version} of {}; this is {now}", runtime.name));
        }
        if let Some(version) = expectations.suite.as_deref().and_then(suite_version)
            && !is_own_suite
            && is_later(version)
        {
            note(&format!(
                "{}: was written for suite {version}, which is later than suite {SUITE_VERSION} of this program, so entries for \
                 newer cases match nothing; update the program, or write the file anew with --update-expectations",
                expectations.path()
            ));
        }
        // Default expectations are for the project's suite. A file named by the user is for the suite of the run.
        let is_about_suite = !is_own_suite || self.expectations.is_some();
        Ok(Gate { source, matcher, is_about_suite, is_recorded: self.origin == SuiteOrigin::Project })
    }
}

impl Source {
    /// Returns the text of the file, if it exists, and its expectations.
    fn read(&self) -> anyhow::Result<(Option<String>, ExpectationMatcher)> {
        let (mut text, mut expectations) = (None, Expectations::empty(&self.runtime.name));
        if let Some(path) = self.path.as_ref().filter(|path| path.exists()) {
            let name = path.display().to_string();
            let read = read_text(path).with_context(|| name.clone())?;
            expectations = Expectations::parse(&name, &read)?.about(&name, &self.runtime.name)?;
            text = Some(read);
        } else if let Some((name, read)) = self.embedded() {
            expectations = Expectations::parse(&name, &read)?;
            text = Some(read);
        } else {
            // A new file keeps the setting of its first run.
            expectations.strict = self.strict;
        }
        Ok((text, ExpectationMatcher::new(expectations, &self.runtime, self.strict)?))
    }
}

impl Source {
    /// Returns the embedded measurement of the runtime's version, or else of the newest version; `None` if there is none or other
    /// expectations are named.
    fn embedded(&self) -> Option<(String, String)> {
        if self.path.is_none() || !self.is_default {
            return None;
        }
        let (name, text) = Measurements::among(&self.runtime.name).text(&self.runtime.name, &self.runtime.version)?;
        Some((format!("expectations/{name} of this program"), text.to_owned()))
    }

    /// Returns the path for new expectations. The measurement of another version is not overwritten, and an embedded one is
    /// written to a new file.
    fn target(&self, read: &Expectations) -> Option<PathBuf> {
        let is_other = read.version.as_deref().is_some_and(|version| !is_same_release(version, &self.runtime.version));
        let is_new = self.path.as_ref().is_some_and(|path| !path.exists());
        if self.is_default && read.exact && (is_other || is_new) {
            Some(measured_path(&self.runtime))
        } else {
            self.path.clone()
        }
    }
}

impl Gate {
    /// Returns the patterns of the measured cases; empty for all cases.
    pub fn scope(&self) -> &[String] {
        &self.matcher.expectations().scope
    }

    /// Returns true if the expectations come from a file or an embedded measurement, and are not an empty default.
    pub fn has_file(&self) -> bool {
        self.source.path.as_ref().is_some_and(|path| path.exists()) || self.source.embedded().is_some()
    }

    /// Returns true if a run with these patterns covers all cases of the file.
    pub fn is_whole(&self, patterns: &[String]) -> bool {
        patterns.is_empty() || patterns == self.scope()
    }

    /// Returns true if these are exactly the cases of a run without filters: those of the suite in the scope of the file.
    pub fn covers_exactly(&self, suite: &Suite, cases: &Plan<'_>) -> Result<bool, SuiteError> {
        let mut whole = plan(suite, &Filter::default(), Variant::Runtime)?;
        whole.retain(|id| self.matcher.is_in_scope(id));
        Ok(cases.ids().collect::<BTreeSet<_>>() == whole.ids().collect::<BTreeSet<_>>())
    }

    /// Returns the accepted opsets and IR versions in the expectations, if they are about the runtime's version.
    pub fn stated(&self) -> Option<&Accepted> {
        let expectations = self.matcher.expectations();
        let is_same_version = expectations.version.as_ref().is_none_or(|it| *it == self.source.runtime.version);
        expectations.accepts.as_ref().filter(|_| is_same_version)
    }

    /// Returns a problem if the file states other opsets or IR versions than the runtime accepts, and both have the
    /// same version.
    pub fn other_than(&self, accepted: &Accepted) -> Option<String> {
        let stated = self.stated().filter(|stated| *stated != accepted)?;
        let path = self.matcher.expectations().path();
        Some(format!(
            "{path}: the runtime accepts {accepted}, but `accepts` says {stated}; --update-expectations rewrites it"
        ))
    }

    /// Fails if the file is a measurement, and the results were judged by the texts of another release than
    /// measurements.
    pub fn check_text(&self, text: Option<TextRelease>) -> anyhow::Result<()> {
        let expectations = self.matcher.expectations();
        if expectations.exact { check_text_of_measurement(expectations.path(), text) } else { Ok(()) }
    }

    /// Rewrites the file so that the results of a whole run are as expected. `header` provides the new provenance of a
    /// measurement.
    pub fn update(
        &self,
        mut run: WholeRun<'_>,
        accepted: Option<&Accepted>,
        header: Option<&Header>,
    ) -> anyhow::Result<()> {
        self.check_text(header.and_then(|header| header.text))?;
        let path = self.source.target(self.matcher.expectations());
        let path = &path.context("there is no expectation file to update; give one with --expectations")?;
        let _lock = lock_expectations(path)?;
        // Another run may have written the file since this one started.
        let (text, matcher) = self.source.read()?;
        let text = text.unwrap_or_else(|| matcher.expectations().to_yaml());
        run.results.retain(|result| matcher.is_in_scope(CaseId::parse(&result.id).path));
        if matcher.expectations().exact {
            check_measured(path, &run.results)?;
        }
        let text = updated_expectations(&text, &matcher, &run)?;
        let text = accepted.map_or_else(|| text.clone(), |accepted| with_accepted(&text, accepted));
        let text = match header {
            Some(header) if matcher.expectations().exact => {
                let text = with_provenance(&text, &Provenance::from_header(header));
                let rewrites = Rewrites::of(&run.results).rewritten();
                rewrites.map_or(text.clone(), |rewrites| with_rewrites(&text, &rewrites))
            }
            Some(header) if self.is_recorded => with_suite(&text, header),
            _ => text,
        };
        write(path, &text)?;
        // Results of other variants confirm no output.
        if run.variant == Variant::Runtime && matcher.expectations().exact {
            let ids = run.results.iter().map(|result| result.id.as_str());
            write_digests(path, self.is_recorded.then(|| MeasuredDigests::for_cases(ids)), run.missing)?;
            write_accuracy(path, self.is_recorded.then_some(run.results.as_slice()), run.missing)?;
        }
        Ok(())
    }
}

/// Fails unless results are judged by the texts of the suite's release, so that they can be a measurement.
pub fn check_text_of_measurement(place: &str, text: Option<TextRelease>) -> anyhow::Result<()> {
    match text.and_then(TextRelease::if_other) {
        Some(text) => bail!(
            "{place}: a measurement is judged by the texts of ONNX {}, not {text}; choose another file, or run the cases without \
             --text",
            TextRelease::newest()
        ),
        None => Ok(()),
    }
}

/// Locks the folder of an expectation file until the value is dropped. A missing folder is created.
pub fn lock_expectations(path: &Path) -> anyhow::Result<Option<File>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    Ok(lock_folder(path))
}

/// Writes an expectation file that the caller has locked.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_whole(path, text.as_bytes()).with_context(|| path.display().to_string())?;
    note(&format!("wrote {}", path.display()));
    Ok(())
}

/// Fails if cases were not sent, unless the runtime does not accept their files, since a measurement lists the outcome
/// of every case.
pub fn check_measured(path: &Path, results: &[CaseResult]) -> anyhow::Result<()> {
    let is_file = |result: &&CaseResult| {
        let what = result.message.strip_suffix(" is not declared").and_then(|what| what.parse().ok());
        matches!(what, Some(MissingFeature::Opset(..) | MissingFeature::Ir(_)))
    };
    let unsent = results.iter().filter(|result| result.outcome == Outcome::NotDeclared && !is_file(result));
    let (unsent, first) = (unsent.clone().count(), unsent.map(|result| &result.id).next());
    let Some(first) = first else { return Ok(()) };
    bail!(
        "{}: says `exact: true`, but {unsent} cases were not sent, such as {}: the runtime does not declare the \
         features that they need; declare them, or exclude the cases from `scope`",
        path.display(),
        escape::line(first)
    )
}

/// Writes the digests next to an expectation file, keeping the old ones of the groups in `missing`. Without digests the
/// file is removed: then the cases have no record, and the expectations confirm nothing.
pub fn write_digests(path: &Path, digests: Option<MeasuredDigests>, missing: &[String]) -> anyhow::Result<()> {
    let path = MeasuredDigests::path(path);
    let place = || path.display().to_string();
    match (digests, path.exists()) {
        (Some(mut digests), exists) => {
            if exists {
                digests.carry_over(MeasuredDigests::parse(&read_text(&path).with_context(place)?), missing);
            }
            write(&path, &digests.to_text())
        }
        (None, true) => {
            std::fs::remove_file(&path).with_context(place)?;
            note(&format!("removed {}: the cases are not the project's own, so they have no record", place()));
            Ok(())
        }
        (None, false) => Ok(()),
    }
}

/// Writes the used shares of error bounds next to an expectation file. Operator versions that were not run as a whole
/// keep their old shares. Without results, because the cases are not the project's own, the file is removed.
pub fn write_accuracy(path: &Path, results: Option<&[CaseResult]>, missing: &[String]) -> anyhow::Result<()> {
    let path = MeasuredAccuracy::path(path);
    let place = path.display().to_string();
    let Some(results) = results else {
        if path.exists() {
            std::fs::remove_file(&path).context(place.clone())?;
            note(&format!("removed {place}: the cases are not the project's own"));
        }
        return Ok(());
    };
    let earlier = if path.exists() {
        MeasuredAccuracy::parse(&place, &read_text(&path).with_context(|| place.clone())?)?
    } else {
        MeasuredAccuracy::default()
    };
    let accuracy = MeasuredAccuracy::after(results, earlier, missing);
    if accuracy.is_empty() && !path.exists() { Ok(()) } else { write(&path, &accuracy.to_text()) }
}

/// Returns the path of a runtime's expectations, below the current folder: its version's, else the newest measured version's,
/// else `<runtime>.yaml`, the file of a runtime without measurements.
pub fn default_path(runtime: &Declaration) -> PathBuf {
    let measured = measured_path(runtime);
    if measured.exists() {
        return measured;
    }
    let flat = folder(runtime).join(format!("{}.yaml", runtime.name));
    let folder = folder(runtime).join(&runtime.name);
    if flat.exists() { flat } else { newest_of(&folder).unwrap_or(flat) }
}

/// Returns the path of the measurement of a runtime's version: `expectations/<runtime>/<version>.yaml`, or
/// `expectations/tools/<tool>/<version>.yaml`. All builds between two releases have one file.
pub fn measured_path(runtime: &Declaration) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let version: String = without_build(&runtime.version).chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    folder(runtime).join(&runtime.name).join(format!("{version}.yaml"))
}

/// Returns true if two versions are the same release, or builds before it.
fn is_same_release(a: &str, b: &str) -> bool {
    without_build(a) == without_build(b)
}

/// Returns true if a version is a published one, and no build between two releases.
pub fn is_published(version: &str) -> bool {
    without_build(version) == version
}

/// Returns a version without the part that differs in every build, such as a date: `1.33.0` for
/// `1.33.0.dev20261129001+cpu`.
fn without_build(version: &str) -> &str {
    let lower = version.to_ascii_lowercase();
    let found = ["+", ".dev", "-dev", ".nightly", "-nightly", "-git", ".git", "-snapshot"].into_iter();
    let end = found.filter_map(|mark| lower.find(mark)).filter(|end| *end > 0).min();
    end.and_then(|end| version.get(..end)).unwrap_or(version)
}

/// Returns the folder of the measurements of runtimes, or of tools, which run no models.
fn folder(subject: &Declaration) -> &'static Path {
    Path::new(if subject.answers(Question::Run) { "expectations" } else { "expectations/tools" })
}

/// Returns the expectations of the newest version in a folder.
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
    fn builds_of_every_night_have_one_file() {
        for (version, expected) in [
            ("1.33.0.dev20261129001+cpu", "1.33.0"),
            ("0.2.0-nightly.20261129", "0.2.0"),
            ("5.0.0-dev", "5.0.0"),
            ("1.32.0", "1.32.0"),
            ("2.0.0-rc.1", "2.0.0-rc.1"),
            ("2026.4.1", "2026.4.1"),
            ("nightly", "nightly"),
            ("+x", "+x"),
        ] {
            let path = measured_path(&Declaration::named("a", version));
            assert_eq!(path, Path::new("expectations/a").join(format!("{expected}.yaml")));
        }
    }

    #[test]
    fn a_measurement_is_of_cases_that_were_sent() {
        let results = [result("a", Outcome::Error), result("b", Outcome::NotApplicable)];
        assert!(check_measured(Path::new("a.yaml"), &results).is_ok());
        let results = [result("a", Outcome::Pass), result("b", Outcome::NotDeclared)];
        let error = check_measured(Path::new("a.yaml"), &results).unwrap_err().to_string();
        assert!(error.starts_with("a.yaml: says `exact: true`, but 1 cases were not sent, such as b"), "{error}");
    }
}
