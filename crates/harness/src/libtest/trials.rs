//! The trials of a test binary, and the messages after the last one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use onnx_conformance_cases::case::{Variant, vary};
use onnx_conformance_cases::suite::{Filter, Suite};
use onnx_conformance_subject::{Accepted, Declaration, Host, Stop, StopReason};

use crate::escape;
use crate::expectations::{Doubts, GateResult, Scope, Verdict, WholeRun};
use crate::gate_file::Gate;
use crate::libtest::choice::Choice;
use crate::libtest::trial::{Completion, Failed};
use crate::note::note;
use crate::run::{CaseResult, Outcome, judge_twice};

/// Environment variable that makes a whole run rewrite the expectation file to its results, if set to anything but `0`.
pub const UPDATE: &str = "UPDATE_EXPECTATIONS";

/// Name of the trial that looks up the entries of the expectation file among the ids of the suite.
pub(super) const EXPECTATIONS: &str = "expectations";

/// Maximum number of names in a note.
const MAX_NAMED: usize = 10;

/// State shared by the trials of a run.
pub(super) struct Trials {
    pub(super) host: Box<dyn Host + Send>,
    pub(super) declaration: Declaration,
    /// Files that the runtime accepts, if it does not declare them itself.
    pub(super) accepted: Option<Accepted>,
    pub(super) gate: Gate,
    pub(super) doubts: Doubts,
    pub(super) filter: Filter,
    pub(super) variant: Variant,
    pub(super) rerun_command: Box<dyn Fn(&str) -> String + Send + Sync>,
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
        let (is_empty, mut results) = (cases.is_empty(), Vec::new());
        for case in cases {
            let case = match self.variant {
                Variant::Runtime => case,
                variant => match vary(&case, variant) {
                    Some(case) => case,
                    None => continue,
                },
            };
            let doubts = |result: &CaseResult| self.doubts.doubtful(&self.gate.matcher, result);
            let result = judge_twice(&case, &*self.host, &self.declaration, &doubts);
            if self.stop.is_set() {
                return not_run();
            }
            results.push(result);
        }
        let mut gate_result = GateResult::default();
        let expected = self.compare(&results, &mut gate_result, &mut report);
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
            _ if is_empty => Ok(Completion::Ignored("none of its cases is selected".to_owned())),
            (false, _) => Err(report.into()),
            (true, Some(message)) if gate_result.summary.count(Outcome::Pass) == 0 => {
                Ok(Completion::Ignored(format!("expected: {}", message.lines().next().unwrap_or_default())))
            }
            (true, _) => Ok(Completion::Passed),
        }
    }

    /// Compares results with the expectations, and returns the message of an expected failure.
    fn compare(&self, results: &[CaseResult], gate_result: &mut GateResult, report: &mut String) -> Option<String> {
        let mut expected = None;
        for result in results {
            match gate_result.add_result(result, &self.gate.matcher) {
                Verdict::Pass | Verdict::NotJudged => {}
                Verdict::ExpectedFailure => expected = Some(result.message.clone()),
                Verdict::Improvement => self.push_failure(report, "better than expected", result),
                Verdict::Regression => self.push_failure(report, "unexpected", result),
            }
        }
        expected
    }

    fn push_failure(&self, report: &mut String, what: &str, result: &CaseResult) {
        if self.updates {
            return;
        }
        let _ = write!(report, "\n{what}: {} {}", result.outcome, escape::line(&result.id));
        let (message, inputs) = (escape::message(&result.message), escape::message(&result.inputs));
        for line in message.lines().chain(inputs.lines()) {
            let _ = write!(report, "\n    {line}");
        }
        let _ = write!(report, "\n    {}", (self.rerun_command)(&result.id));
    }

    /// Fails if an entry matches no case of the suite. Such an entry is out of date, even if only a part of the suite is run.
    pub(super) fn check_patterns(&self, suite: &Suite) -> Result<Completion, Failed> {
        let (matcher, mut report) = (&self.gate.matcher, String::new());
        let entries = matcher.expectations().expect.iter().enumerate();
        for (index, entry) in entries.filter(|(index, _)| matcher.is_active(*index) && !self.updates) {
            let Some(pattern) = &entry.cases else { continue };
            let (pattern, _) = Variant::split_id(pattern);
            if suite.ids(&Filter::new(&[pattern])?)?.is_empty() {
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
        let mut problems = self.host.finish();
        if self.is_whole && !self.updates {
            problems.extend(self.accepted.as_ref().and_then(|accepted| self.gate.other_than(accepted)));
        }
        for problem in &problems {
            note(problem);
        }
        let mut seen = self.seen();
        let Seen { gate_result, results, ended } = &mut *seen;
        for result in gate_result.flaky.iter().take(MAX_NAMED) {
            note(&result.flaky_note());
        }
        let missing: Vec<String> = self.groups.difference(ended).cloned().collect();
        if let Some(reason) = self.stop.reason() {
            let reason = match reason {
                StopReason::Failed(reason) => reason.as_str(),
                StopReason::Interrupted => "stopped",
            };
            note(&format!("{reason}; not run: {}", named(&missing)));
            if self.updates {
                note("the expectation file is unchanged");
            }
            return Ok(false);
        }
        if self.updates {
            let run = WholeRun { missing: &missing, ..WholeRun::new(std::mem::take(results), self.variant) };
            let updated = self.gate.update(run, self.accepted.as_ref(), None);
            updated.context("the expectations cannot be updated")?;
            if !missing.is_empty() {
                note(&format!("entries of groups that did not finish are unchanged: {}", named(&missing)));
            }
            return Ok(missing.is_empty() && problems.is_empty());
        }
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

fn named(names: &[String]) -> String {
    let first = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
