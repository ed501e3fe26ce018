//! Reporters: consumers of a run's single event stream.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onnx_conformance_cases::case::TextRelease;
use onnx_conformance_harness::expectations::{GateResult, Verdict};
use onnx_conformance_harness::run::CaseResult;
use onnx_conformance_harness::whole_file::write_whole;
use onnx_conformance_subject::Declaration;

use crate::junit;
use crate::{badge, ci_summary};

/// A report that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{place}")]
pub struct ReportError {
    /// The file or stream.
    pub place: String,
    /// The cause.
    #[source]
    pub error: Box<dyn Error + Send + Sync>,
}

/// The first event of a run.
#[derive(Clone, Copy, Debug)]
pub struct Started<'a> {
    /// The runtime that is tested.
    pub runtime: &'a Declaration,
    /// The number of selected cases.
    pub cases: usize,
}

/// The last event of a run.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// The runtime that was tested.
    pub runtime: &'a Declaration,
    /// The results against the expectations.
    pub gate: &'a GateResult,
    /// The release whose texts decide the levels of the cases; `None` if the cases are of a folder.
    pub text: Option<TextRelease>,
    /// The duration of the run.
    pub elapsed: Duration,
}

impl Finished<'_> {
    /// Returns a clause that names the texts, if they are not those of the suite's release; else nothing.
    fn text_clause(&self) -> String {
        let other = self.text.and_then(TextRelease::if_other);
        other.map(|text| format!(", by the texts of ONNX {text}")).unwrap_or_default()
    }
}

/// Consumes the events of a run: `started`, `case_ended` for each case, `cases_ended`, and `finished` unless the run is
/// interrupted.
pub trait Reporter {
    /// Starts the report.
    fn started(&mut self, _run: &Started<'_>) -> Result<(), ReportError> {
        Ok(())
    }

    /// Receives the result of a case and its verdict.
    fn case_ended(&mut self, _result: &CaseResult, _verdict: Verdict) -> Result<(), ReportError> {
        Ok(())
    }

    /// Called after the last case, even if the run was interrupted.
    fn cases_ended(&mut self) {}

    /// Finishes the report of a complete run.
    fn finished(&mut self, _run: &Finished<'_>) -> Result<(), ReportError> {
        Ok(())
    }
}

/// Combines several reporters. Each one gets every event even if another fails; the first error is returned.
impl Reporter for Vec<Box<dyn Reporter + '_>> {
    fn started(&mut self, run: &Started<'_>) -> Result<(), ReportError> {
        first_error(self.iter_mut().map(|reporter| reporter.started(run)))
    }

    fn case_ended(&mut self, result: &CaseResult, verdict: Verdict) -> Result<(), ReportError> {
        first_error(self.iter_mut().map(|reporter| reporter.case_ended(result, verdict)))
    }

    fn cases_ended(&mut self) {
        for reporter in self.iter_mut() {
            reporter.cases_ended();
        }
    }

    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        first_error(self.iter_mut().map(|reporter| reporter.finished(run)))
    }
}

/// A reporter owned by the caller, to be read after the run.
impl<T: Reporter + ?Sized> Reporter for &mut T {
    fn started(&mut self, run: &Started<'_>) -> Result<(), ReportError> {
        (**self).started(run)
    }

    fn case_ended(&mut self, result: &CaseResult, verdict: Verdict) -> Result<(), ReportError> {
        (**self).case_ended(result, verdict)
    }

    fn cases_ended(&mut self) {
        (**self).cases_ended();
    }

    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        (**self).finished(run)
    }
}

/// Runs the whole iterator and returns its first error.
fn first_error(results: impl Iterator<Item = Result<(), ReportError>>) -> Result<(), ReportError> {
    results.fold(Ok(()), Result::and)
}

/// Collects every result.
#[derive(Debug, Default)]
pub struct Collected {
    /// The results with their verdicts, in order of completion.
    pub results: Vec<(CaseResult, Verdict)>,
}

impl Reporter for Collected {
    fn case_ended(&mut self, result: &CaseResult, verdict: Verdict) -> Result<(), ReportError> {
        self.results.push((result.clone(), verdict));
        Ok(())
    }
}

/// `JUnit` XML of every case, written to a file at the end.
#[derive(Debug)]
pub struct JunitReporter {
    path: PathBuf,
    /// True if each case is reported, however many there are.
    has_cases: bool,
    collected: Collected,
}

impl JunitReporter {
    /// Creates a reporter that writes to this file: each case, or causes if there are many cases.
    pub fn new(path: &Path) -> JunitReporter {
        JunitReporter { path: path.to_owned(), has_cases: false, collected: Collected::default() }
    }

    /// Creates a reporter that writes each case to this file.
    pub fn of_cases(path: &Path) -> JunitReporter {
        JunitReporter { has_cases: true, ..JunitReporter::new(path) }
    }
}

impl Reporter for JunitReporter {
    fn case_ended(&mut self, result: &CaseResult, verdict: Verdict) -> Result<(), ReportError> {
        self.collected.case_ended(result, verdict)
    }

    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        let report = if self.has_cases { junit::report_of_cases } else { junit::report };
        let text = report(&format!("{}{}", run.runtime.name, run.text_clause()), &self.collected.results);
        write(&self.path, &text.map_err(|error| failed(&self.path, error))?)
    }
}

/// Markdown summary, for example for the page of a CI job, written to a file at the end.
#[derive(Debug)]
pub struct MarkdownReporter(pub PathBuf);

impl Reporter for MarkdownReporter {
    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        write(&self.0, &ci_summary::markdown(run.runtime, run.gate, &run.text_clause()))
    }
}

/// JSON for a shields.io badge, written to a file at the end.
#[derive(Debug)]
pub struct BadgeReporter(pub PathBuf);

impl Reporter for BadgeReporter {
    fn finished(&mut self, run: &Finished<'_>) -> Result<(), ReportError> {
        write(&self.0, &badge::badge(run.runtime, &run.gate.summary))
    }
}

fn write(path: &Path, text: &str) -> Result<(), ReportError> {
    write_whole(path, text.as_bytes()).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: impl Into<Box<dyn Error + Send + Sync>>) -> ReportError {
    ReportError { place: path.display().to_string(), error: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{gate_result, result};
    use onnx_conformance_harness::run::Outcome;

    #[test]
    fn a_report_that_fails_keeps_no_other_from_being_written() {
        let home = tempfile::TempDir::new().unwrap();
        let (junit, badge) = (home.path().join("junit.xml"), home.path().join("badge.json"));
        let mut collected = Collected::default();
        let mut all: Vec<Box<dyn Reporter + '_>> = vec![
            Box::new(MarkdownReporter(home.path().join("missing/summary.md"))),
            Box::new(JunitReporter::new(&junit)),
            Box::new(BadgeReporter(badge.clone())),
            Box::new(&mut collected),
        ];
        let (gate, verdicts) = gate_result(&[result("a/b", Outcome::Pass), result("a/c", Outcome::Crash)]);
        let runtime = Declaration::named("mine", "1");
        all.started(&Started { runtime: &runtime, cases: 2 }).unwrap();
        for (result, verdict) in &verdicts {
            all.case_ended(result, *verdict).unwrap();
        }
        let text = "1.18.0".parse().ok();
        let finished = Finished { runtime: &runtime, gate: &gate, text, elapsed: Duration::ZERO };
        let error = all.finished(&finished).unwrap_err();
        assert!(error.place.ends_with("summary.md"), "{error}");
        drop(all);
        assert_eq!(collected.results, verdicts);
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert!(read(&junit).contains("\"onnx-conformance mine, by the texts of ONNX 1.18.0\""), "{}", read(&junit));
        assert!(read(&junit).contains("tests=\"2\"") && read(&badge).contains("50.0 % of 2 cases"));
    }
}
