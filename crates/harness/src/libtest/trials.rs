//! The trials of a test binary, and the messages after the last one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use onnx_conformance_cases::case::{Case, TextRelease, Variant, vary};
use onnx_conformance_cases::suite::{Filter, Suite};
use onnx_conformance_subject::{Accepted, Declaration, Host as _, Stop, StopReason};

use crate::escape;
use crate::evidence::ConfirmingRuntimes;
use crate::expectations::{Doubts, GateResult, Scope, Verdict, WholeRun};
use crate::failures::{
    FailureFolder, Grouping, Recorder, Show, add_patterns, failures, sort_by_gravity, without_style,
};
use crate::findings::{Finding, Findings};
use crate::gate_file::Gate;
use crate::libtest::choice::Choice;
use crate::libtest::results::passes;
use crate::libtest::trial::{Completion, Failed};
use crate::note::note;
use crate::run::{
    CaseResult, Header, Outcome, Selected, Summary, common_message, judge_twice, write_header, write_result,
};
use crate::smoke::{self, smoke};
use crate::whole_file::write_whole;

/// Environment variable that makes a whole run rewrite the expectation file to its results, if set to anything but `0`.
pub const UPDATE: &str = "UPDATE_EXPECTATIONS";

/// Name of the trial that looks up the entries of the expectation file among the ids of the suite.
pub(super) const EXPECTATIONS: &str = "expectations";

/// Name of the trial that runs small models of every kind of value.
pub(super) const SMOKE: &str = "smoke";

/// Maximum number of names in a note.
const MAX_NAMED: usize = 10;

/// Maximum number of error messages in a note.
const MAX_MESSAGES: usize = 20;

/// State shared by the trials of a runtime.
pub(super) struct Trials {
    pub(super) host: Recorder<'static>,
    pub(super) suite: &'static Suite,
    /// The release whose texts decide the levels.
    pub(super) text: TextRelease,
    /// Patterns of the cases.
    pub(super) patterns: Vec<String>,
    /// File for the results.
    pub(super) results: Option<PathBuf>,
    /// Passes of an earlier run, by the ids of their cases, which are not run again.
    pub(super) kept: BTreeMap<String, CaseResult>,
    pub(super) findings: &'static Findings,
    pub(super) declaration: Declaration,
    /// Files that the runtime accepts, if it does not declare them itself.
    pub(super) accepted: Option<Accepted>,
    pub(super) gate: Gate,
    pub(super) doubts: Doubts,
    pub(super) filter: Filter,
    pub(super) variant: Variant,
    /// Maximum distance at which inexact outputs pass, if it is more than the suite allows.
    pub(super) ulps: Option<u64>,
    /// Display settings of failures.
    pub(super) show: Show,
    /// Folder for the files of failing cases.
    pub(super) failures: PathBuf,
    pub(super) stop: Stop,
    /// True if every trial is run.
    pub(super) is_whole: bool,
    /// True if the expectation file is updated, so that changes are not failures.
    pub(super) updates: bool,
    /// The groups to run.
    pub(super) groups: BTreeSet<String>,
    pub(super) seen: Mutex<Seen>,
}

/// Results of the groups that have finished.
#[derive(Default)]
pub(super) struct Seen {
    gate_result: GateResult,
    results: Vec<CaseResult>,
    ended: BTreeSet<String>,
}

impl Trials {
    /// Keeps the passes of an earlier run, whose results are in a file.
    pub(super) fn resuming(self, file: Option<&Path>) -> anyhow::Result<Trials> {
        let Some(file) = file else { return Ok(self) };
        Ok(Trials { kept: passes(file, &self.header(0)?, &self.filter)?, ..self })
    }

    /// Runs the cases of a group. Each unexpected result is printed with the command that re-runs it.
    pub(super) fn run_group(&self, choice: &Choice) -> Result<Completion, Failed> {
        let not_run = || Ok(Completion::Ignored("not run".to_owned()));
        let (source, group) = (choice.source, &choice.group);
        if self.stop.is_set() {
            return not_run();
        }
        if let Some(variant) = choice.part.as_ref().and_then(|part| part.variant).filter(|named| *named != self.variant)
        {
            return Err(format!("the tests run the variant {}, not {variant}", self.variant).into());
        }
        let is_chosen = |id: &str| choice.part.as_ref().is_none_or(|part| part.includes(id));
        let cases = source.load(group, &|id| is_chosen(id) && self.filter.matches(id))?;
        let is_all = choice.part.is_none() && self.filter.is_everything();
        let mut report = String::new();
        if is_all && let Err(error) = source.check(group, &cases) {
            let _ = write!(report, "\n{error}");
        }
        let is_empty = cases.is_empty();
        let Some(results) = self.run_cases(cases) else { return not_run() };
        let mut gate_result = GateResult::default();
        let expected = self.compare(&results, &mut gate_result);
        if !self.updates {
            self.report_unexpected(&mut gate_result, &mut report);
        }
        if choice.part.is_none() {
            let name = Filter::new(&[&group.name])?;
            gate_result.finish(&self.gate.matcher, &Scope { filter: is_all.then_some(&name), variant: self.variant });
        }
        for problem in gate_result.entry_problems.iter().filter(|_| !self.updates) {
            let _ = write!(report, "\n{problem}");
        }
        let mut seen = self.seen();
        for result in results {
            seen.gate_result.add_result(&result, &self.gate.matcher);
            seen.results.push(result);
        }
        seen.ended.insert(choice.name.clone());
        drop(seen);
        match (report.is_empty(), expected) {
            _ if is_empty && is_all => Err("the group has no cases".into()),
            _ if is_empty && choice.part.is_some() => {
                Err(format!("no selected case of {} has this id", group.name).into())
            }
            _ if is_empty => Err(format!("this test binary selects no case of {}", group.name).into()),
            (false, _) => Err(report.into()),
            (true, Some(message)) if gate_result.summary.count(Outcome::Pass) == 0 => {
                Ok(Completion::Ignored(format!("expected: {}", message.lines().next().unwrap_or_default())))
            }
            (true, _) => Ok(Completion::Passed),
        }
    }

    /// Runs cases in the variant of the tests. Returns `None` if the run is stopped.
    fn run_cases(&self, cases: Vec<Case>) -> Option<Vec<CaseResult>> {
        let mut results = Vec::new();
        for case in cases {
            let case = match self.variant {
                Variant::Runtime => Some(case),
                variant => vary(&case, variant),
            };
            let Some(case) = case else { continue };
            if let Some(kept) = self.kept.get(&case.id) {
                results.push(kept.clone());
                continue;
            }
            let result = self.judge(&case);
            if self.stop.is_set() {
                return None;
            }
            self.host.end_case(&case, &result);
            results.push(result);
        }
        Some(results)
    }

    /// Judges a case, by the bound of the runtime.
    fn judge(&self, case: &Case) -> CaseResult {
        let doubts = |result: &CaseResult| self.doubts.doubtful(&self.gate.matcher, &within(self.ulps, result.clone()));
        let result = within(self.ulps, judge_twice(case, &self.host, &self.declaration, &doubts));
        self.doubts.add_final(&self.gate.matcher, &result);
        let finding = self.findings.for_result(&self.declaration.name, &result).map(Finding::full_id);
        CaseResult { finding, ..result }
    }

    /// Runs small models of every kind of value. Fails if the answers to them do not follow from the runtime's own limits.
    pub(super) fn run_smoke(&self) -> Result<Completion, Failed> {
        let (mut report, mut is_wrong) = (String::new(), false);
        smoke(self.host.host(), |about, verdict, _| {
            let (word, message) = match verdict {
                smoke::Verdict::Correct | smoke::Verdict::Unsupported(_) => return,
                smoke::Verdict::Runtime(message) => ("runtime", message),
                smoke::Verdict::Wrong(message) => {
                    is_wrong = true;
                    ("wrong", message)
                }
            };
            let _ = write!(report, "\n{word}: {about}: {}", escape::message(&message));
        })?;
        match (self.stop.is_set(), is_wrong) {
            (true, _) => Ok(Completion::Ignored("not run".to_owned())),
            (false, true) => Err(report.into()),
            (false, false) => Ok(Completion::Passed),
        }
    }

    /// Compares results with the expectations, and returns the message of an expected failure.
    fn compare(&self, results: &[CaseResult], gate_result: &mut GateResult) -> Option<String> {
        let mut expected = None;
        for result in results {
            if gate_result.add_result(result, &self.gate.matcher) == Verdict::ExpectedFailure {
                expected = Some(result.message.clone());
            }
        }
        expected
    }

    /// Adds the unexpected results of a test to its report, as `run` prints them.
    fn report_unexpected(&self, gate_result: &mut GateResult, report: &mut String) {
        // A pattern takes longer than a case, so only the first failures of a run have one.
        if self.seen().gate_result.regressions.len() < self.show.most {
            add_patterns(&mut gate_result.regressions, self.suite, &self.host);
        }
        let unexpected = failures("unexpected", &gate_result.regressions, &self.show);
        let better = failures("better than expected", &gate_result.improvements, &self.show);
        for text in unexpected.iter().chain(&better) {
            let _ = write!(report, "\n{}", without_style(text));
        }
    }

    /// Writes the results to a file, if the environment names one. It is complete if every group has ended.
    fn write_results(&self, results: &[CaseResult], is_complete: bool) -> anyhow::Result<()> {
        let Some(path) = &self.results else { return Ok(()) };
        let cases = if is_complete { results.len() } else { self.suite.ids(&self.filter)?.len() };
        let mut bytes = Vec::new();
        write_header(&mut bytes, &self.header(cases)?)?;
        let ended: BTreeSet<&str> = results.iter().map(|result| result.id.as_str()).collect();
        // The tests of these cases have not ended.
        let kept = self.kept.values().filter(|kept| !is_complete && !ended.contains(kept.id.as_str()));
        for result in results.iter().chain(kept) {
            write_result(&mut bytes, result)?;
        }
        write_whole(path, &bytes).with_context(|| path.display().to_string())
    }

    /// Returns the header of the results of this many cases.
    fn header(&self, cases: usize) -> anyhow::Result<Header> {
        let filters = self.patterns.clone();
        let selected = Selected { cases, filters, variant: self.variant, ..Selected::default() };
        Ok(Header::new(self.declaration.clone(), self.suite.digest()?, selected).by_text(Some(self.text)))
    }

    /// Prints the causes of unexpected failures, as `run` does, and writes the first cases to files.
    fn note_failures(&self, regressions: &mut Vec<CaseResult>) -> anyhow::Result<()> {
        if regressions.is_empty() {
            return Ok(());
        }
        sort_by_gravity(regressions);
        // The only failure is in the report of its test.
        if regressions.len() > 1 {
            let show = Show { by: Some(Grouping::Cause), ..self.show.clone() };
            for text in failures("unexpected", regressions, &show) {
                note(&without_style(&text));
            }
        }
        let shown = regressions.get(..self.show.most).unwrap_or(regressions.as_slice());
        let evidence = ConfirmingRuntimes::embedded()?;
        let folder =
            FailureFolder { path: &self.failures, suite: self.suite, evidence: &evidence, outputs: &self.host };
        if let Some(text) = folder.write(shown) {
            note(&text);
        }
        Ok(())
    }

    /// Fails if an entry matches no case of the suite, or if the runtime accepts other files than stated. Both show that the file is
    /// out of date, even if only a part of the suite runs.
    pub(super) fn check_file(&self) -> Result<Completion, Failed> {
        let (matcher, mut report) = (&self.gate.matcher, String::new());
        let other =
            self.accepted.as_ref().filter(|_| !self.updates).and_then(|accepted| self.gate.other_than(accepted));
        if let Some(other) = other {
            let _ = write!(report, "\n{other}");
        }
        let entries = matcher.expectations().expect.iter().enumerate();
        for (index, entry) in entries.filter(|(index, _)| matcher.is_active(*index) && !self.updates) {
            let Some(pattern) = &entry.cases else { continue };
            let (pattern, _) = Variant::split_id(pattern);
            if self.suite.ids(&Filter::new(&[pattern])?)?.is_empty() {
                let _ = write!(report, "\nexpectation that matches no case: {}", matcher.expectations().place(index));
            }
        }
        if report.is_empty() { Ok(Completion::Passed) } else { Err(report.into()) }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the runtime and prints the remaining notes: problems of the expectations as a whole, and groups that were not run. An
    /// update rewrites the file. Returns true if there are no problems.
    pub(super) fn finish(&self) -> anyhow::Result<bool> {
        let problems = self.host.finish();
        for problem in &problems {
            note(problem);
        }
        let mut seen = self.seen();
        let Seen { gate_result, results, ended } = &mut *seen;
        for result in gate_result.flaky.iter().take(MAX_NAMED) {
            note(&result.flaky_note());
        }
        let missing: Vec<String> = self.groups.difference(ended).cloned().collect();
        self.write_results(results, missing.is_empty())?;
        if let Some(reason) = self.stop.reason() {
            let text = match reason {
                StopReason::Failed(reason) => reason.as_str(),
                StopReason::Interrupted => "stopped",
            };
            note(&format!("{text}; not run: {}", named(&missing)));
            let is_kept = *reason == StopReason::Interrupted && self.updates && !results.is_empty();
            if self.updates && !is_kept {
                note("the expectation file is unchanged");
            }
            if !is_kept {
                return Ok(false);
            }
        }
        if self.is_whole {
            note(&format!("{}: {}", self.declaration.name, counts(&gate_result.summary)));
        }
        if self.updates {
            for line in frequent_errors(results) {
                note(&line);
            }
            let run = WholeRun { missing: &missing, ..WholeRun::new(std::mem::take(results), self.variant) };
            let updated = self.gate.update(run, self.accepted.as_ref(), None);
            updated.context("the expectations cannot be updated")?;
            if !missing.is_empty() {
                note(&format!("entries of groups that did not finish are unchanged: {}", named(&missing)));
            }
            return Ok(missing.is_empty() && problems.is_empty());
        }
        self.note_failures(&mut gate_result.regressions)?;
        if !self.is_whole {
            return Ok(problems.is_empty());
        }
        // An entry may match unfinished cases.
        let filter = Some(&self.filter).filter(|_| missing.is_empty());
        gate_result.finish(&self.gate.matcher, &Scope { filter, variant: self.variant });
        gate_result.entry_problems.iter().for_each(|problem| note(&problem.to_string()));
        gate_result.problems.iter().for_each(|problem| note(problem));
        let has_changed = !gate_result.entry_problems.is_empty()
            || !gate_result.regressions.is_empty()
            || !gate_result.improvements.is_empty();
        if has_changed {
            note(&format!("to accept these results: {UPDATE}=1 cargo test, with the same target"));
        }
        let is_told = gate_result.entry_problems.is_empty() && gate_result.problems.is_empty();
        Ok(is_told && missing.is_empty() && problems.is_empty())
    }
}

/// Returns a result. A mismatch of inexact outputs passes up to this distance.
fn within(ulps: Option<u64>, result: CaseResult) -> CaseResult {
    let is_within = result.ulps.zip(ulps).is_some_and(|(distance, bound)| distance <= bound);
    if result.outcome != Outcome::Mismatch || !is_within {
        return result;
    }
    CaseResult {
        outcome: Outcome::Pass,
        message: String::new(),
        nodes: String::new(),
        inputs: String::new(),
        distance: None,
        ..result
    }
}

/// Returns the most frequent error messages, a line each. Most are about a feature that the runtime does not have.
fn frequent_errors(results: &[CaseResult]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for result in results.iter().filter(|result| result.outcome == Outcome::Error) {
        *counts.entry(common_message(&result.message, &result.operators())).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let lines = counts.into_iter().take(MAX_MESSAGES).map(|(message, count)| format!("{count:6} error: {message}"));
    let head = "most frequent errors; return `Response::unsupported` for a missing feature:".to_owned();
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { lines } else { std::iter::once(head).chain(lines).collect() }
}

/// Returns the numbers of cases by outcome: `100 cases: 80 pass, 20 unsupported`.
fn counts(summary: &Summary) -> String {
    let counts = summary.counts().map(|(outcome, count)| format!("{count} {outcome}"));
    let open = (summary.open > 0).then(|| format!("{} open", summary.open));
    format!("{} cases: {}", summary.total(), counts.chain(open).collect::<Vec<_>>().join(", "))
}

fn named(names: &[String]) -> String {
    let first = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::case::Level;

    use super::*;
    use crate::run::test_results::result;

    #[test]
    fn a_bound_lets_near_values_pass() {
        let check = |outcome: Outcome, ulps: Option<u64>, bound: Option<u64>, expected: Outcome| {
            let result = CaseResult { ulps, message: "far".to_owned(), ..result("a/b/c", outcome) };
            let found = within(bound, result);
            assert_eq!((found.outcome, found.message.is_empty()), (expected, expected == Outcome::Pass));
        };
        check(Outcome::Mismatch, Some(4), Some(4), Outcome::Pass);
        check(Outcome::Mismatch, Some(5), Some(4), Outcome::Mismatch);
        check(Outcome::Mismatch, Some(4), None, Outcome::Mismatch);
        // An exact output has no distance.
        check(Outcome::Mismatch, None, Some(4), Outcome::Mismatch);
        check(Outcome::WrongShape, Some(1), Some(4), Outcome::WrongShape);
    }

    #[test]
    fn the_most_frequent_errors_come_first() {
        let error = |id: &str, outcome: Outcome, message: &str| CaseResult {
            message: message.to_owned(),
            ..result(id, outcome)
        };
        let results = [
            error("ai.onnx/Abs-13/a", Outcome::Error, "rank 3 is too large"),
            error("ai.onnx/Abs-13/b", Outcome::Error, "no strings"),
            error("ai.onnx/Sum-13/a", Outcome::Error, "no strings"),
            error("ai.onnx/Sum-13/b", Outcome::Mismatch, "no strings"),
            error("ai.onnx/Sum-13/c", Outcome::Error, "no strings"),
            error("ai.onnx/Abs-13/c", Outcome::Error, "rank 4 is too large"),
            error("ai.onnx/Abs-13/d", Outcome::Error, "once"),
        ];
        let lines = frequent_errors(&results);
        assert_eq!(lines[1..], ["     3 error: no strings", "     2 error: rank * is too large"]);
        assert!(frequent_errors(&results[..1]).is_empty());
    }

    #[test]
    fn outcomes_are_counted() {
        let mut summary = Summary::default();
        for outcome in [Outcome::Pass, Outcome::Crash, Outcome::Pass] {
            summary.add(&result("a/b/c", outcome));
        }
        summary.add(&CaseResult { level: Level::Open, ..result("a/b/d", Outcome::Error) });
        assert_eq!(counts(&summary), "4 cases: 2 pass, 1 crash, 1 open");
    }
}
