//! Runs a plan in parallel and reports events.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, Sender};
use std::thread::Builder;

use onnx_conformance_cases::case::{Case, RefusalClass, UpstreamOverride, Variant};
use onnx_conformance_cases::compare::Distance;
use onnx_conformance_cases::suite::{SelectedGroup, SuiteError};
use onnx_conformance_reference::parallel::map_items;
use onnx_conformance_subject::{Declaration, Host, Stop};

use crate::run::rewrites::add_rewrite;
use crate::run::{CaseResult, Outcome, Plan, judge_twice};

/// Event of a run.
#[derive(Debug)]
pub enum Event {
    /// A case has ended.
    Finished(Box<CaseResult>),
    /// The cases of a group cannot be loaded: an error of the suite, not of the runtime.
    Broken(SuiteError),
}

/// Runs every case of the plan, unless it is stopped, and passes each event to `sink` at once, on the calling thread. A
/// case that is running when the run is stopped has no result.
pub fn run(plan: &Plan<'_>, runtime: &dyn Host, stop: &Stop, sink: impl FnMut(Event)) {
    Runner::new(plan, runtime, stop).run(sink);
}

/// A run of a plan, with callbacks on the threads that run the cases.
pub struct Runner<'a> {
    plan: &'a Plan<'a>,
    runtime: &'a dyn Host,
    stop: &'a Stop,
    inspect: &'a (dyn Fn(&Case, &CaseResult) + Sync),
    doubtful: &'a (dyn Fn(&CaseResult) -> bool + Sync),
    /// The runtime that reports its rewrites.
    optimizer: Option<&'a dyn Host>,
}

impl<'a> Runner<'a> {
    /// Prepares a run without callbacks.
    pub fn new(plan: &'a Plan<'a>, runtime: &'a dyn Host, stop: &'a Stop) -> Runner<'a> {
        Runner { plan, runtime, stop, inspect: &|_, _| {}, doubtful: &|_| false, optimizer: None }
    }

    /// Passes each case with its result to `inspect`.
    #[must_use]
    pub fn inspected_by(self, inspect: &'a (dyn Fn(&Case, &CaseResult) + Sync)) -> Runner<'a> {
        Runner { inspect, ..self }
    }

    /// Re-runs each result that `doubtful` selects in a fresh process before it is reported; see [`judge_twice`].
    #[must_use]
    pub fn doubting(self, doubtful: &'a (dyn Fn(&CaseResult) -> bool + Sync)) -> Runner<'a> {
        Runner { doubtful, ..self }
    }

    /// Asks this runtime for the operators of each graph after optimization. It has its own processes, so that no
    /// outcome of a case depends on it. Graphs of other variants do not belong to a pattern.
    #[must_use]
    pub fn optimized_by(self, optimizer: Option<&'a dyn Host>) -> Runner<'a> {
        let is_plain = self.plan.variant() == Variant::Runtime;
        Runner { optimizer: optimizer.filter(|_| is_plain), ..self }
    }

    /// Runs the cases as [`run`] does.
    pub fn run(&self, mut sink: impl FnMut(Event)) {
        let (sender, receiver) = mpsc::channel();
        let declaration = self.runtime.declaration();
        // The number of threads is the number of requests that the runtime can run at a time. With more threads, waiting
        // would count as time of a case.
        let run = |sender: Sender<Event>| {
            map_items(self.runtime.jobs(), &same_cases(self.plan), |same| {
                self.run_group(same, &declaration, &|event| drop(sender.send(event)));
            });
        };
        std::thread::scope(|scope| {
            let own = sender.clone();
            // If no thread can be started, the run ends before its first event is passed on.
            match Builder::new().spawn_scoped(scope, || run(own)) {
                Ok(_) => drop(sender),
                Err(_) => run(sender),
            }
            receiver.into_iter().for_each(&mut sink);
        });
    }

    /// Runs the cases of the first group. The other groups consist of the same single case, and get its result.
    fn run_group(&self, same: &[&SelectedGroup<'_>], declaration: &Declaration, event: &dyn Fn(Event)) {
        let plan = self.plan;
        let Some(first) = same.first().filter(|_| !self.stop.is_set()) else { return };
        let cases = match plan.load(first) {
            Ok(cases) => cases,
            Err(SuiteError::TooLarge { case, message }) => {
                let (case, _) = plan.varied(*case);
                let outcome = Outcome::OutOfMemory;
                return event(Event::Finished(Box::new(CaseResult {
                    outcome,
                    message,
                    ..CaseResult::for_case(&case)
                })));
            }
            Err(error) => return event(Event::Broken(error)),
        };
        for case in cases {
            let (case, has_form) = plan.varied(case);
            let mut result = if has_form {
                judge_twice(&case, self.runtime, declaration, self.doubtful)
            } else {
                CaseResult::without_form(&case, plan.variant())
            };
            if let Some(optimizer) = self.optimizer {
                add_rewrite(&case, optimizer, &mut result);
            }
            if self.stop.is_set() {
                return;
            }
            (self.inspect)(&case, &result);
            for id in same.iter().skip(1).flat_map(|(_, _, ids)| ids) {
                let id = plan.variant().id(id);
                let same = CaseResult { id: id.clone(), ..result.clone() };
                (self.inspect)(&Case { id, ..case.clone() }, &same);
                event(Event::Finished(Box::new(same)));
            }
            event(Event::Finished(Box::new(result)));
        }
    }
}

/// Returns the groups of a plan, with groups of the same single case joined. A test of several releases thus runs once,
/// and all of them get its result.
fn same_cases<'a, 'b>(plan: &'b Plan<'a>) -> Vec<Vec<&'b SelectedGroup<'a>>> {
    let mut groups: Vec<Vec<&SelectedGroup<'a>>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for chosen in &plan.groups {
        let (source, group, ids) = chosen;
        // A group that cannot be read is reported when its cases are loaded.
        let content = source.content(group).ok().flatten().filter(|_| ids.len() == 1);
        let place = content.map_or(groups.len(), |content| *places.entry(content).or_insert(groups.len()));
        match groups.get_mut(place) {
            Some(group) => group.push(chosen),
            None => groups.push(vec![chosen]),
        }
    }
    groups
}

/// Number of cases per outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: BTreeMap<Outcome, usize>,
    /// The judged mismatches by their distance from the expected output, if it is known.
    distances: BTreeMap<Distance, usize>,
    /// Number of cases of level `open` with an answer. They are recorded and not judged.
    pub open: usize,
    /// Number of vendored cases that are judged by another rule than upstream's, by rule.
    pub judged: BTreeMap<UpstreamOverride, usize>,
    /// Number of judged negative cases and number of those that pass, by class.
    pub refusals: BTreeMap<RefusalClass, (usize, usize)>,
    /// Results of the tests of each ONNX release, by the prefix of their ids.
    pub releases: BTreeMap<String, OfRelease>,
}

/// Results of the tests of an ONNX release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfRelease {
    /// Number of tests.
    pub total: usize,
    /// Number of tests that pass.
    pub passed: usize,
    /// Number of tests that are left open.
    pub open: usize,
}

impl Summary {
    /// Adds a result.
    pub fn add(&mut self, result: &CaseResult) {
        if let Some(judged) = result.judged {
            *self.judged.entry(judged).or_default() += 1;
        }
        let is_left_open = result.outcome.is_left_open(result.level);
        if let Some((release, _)) = result.id.split_once('/').filter(|(group, _)| group.starts_with("onnx-")) {
            let of_release = self.releases.entry(release.to_owned()).or_default();
            of_release.total += 1;
            if is_left_open {
                of_release.open += 1;
            } else {
                of_release.passed += usize::from(result.outcome == Outcome::Pass);
            }
        }
        if is_left_open {
            self.open += 1;
        } else {
            *self.counts.entry(result.outcome).or_default() += 1;
            if let Some(distance) = result.distance {
                *self.distances.entry(distance).or_default() += 1;
            }
            if let Some(class) = result.class {
                let (total, passed) = self.refusals.entry(class).or_default();
                *total += 1;
                *passed += usize::from(result.outcome == Outcome::Pass);
            }
        }
    }

    /// Returns the number of judged cases with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or(0)
    }

    /// Returns the number of mismatches with this distance from the expected output.
    pub fn distance(&self, distance: Distance) -> usize {
        self.distances.get(&distance).copied().unwrap_or(0)
    }

    /// Returns the outcomes that occurred, best first, with their numbers.
    pub fn counts(&self) -> impl Iterator<Item = (Outcome, usize)> {
        Outcome::ALL.into_iter().map(|outcome| (outcome, self.count(outcome))).filter(|(_, count)| *count > 0)
    }

    /// Returns the number of cases with a result.
    pub fn total(&self) -> usize {
        self.counts.values().sum::<usize>() + self.open
    }
}
