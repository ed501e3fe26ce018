//! Runs a plan in parallel and reports events.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, Sender};
use std::thread::Builder;

use onnx_conformance_cases::case::{Case, RefusalClass, UpstreamOverride};
use onnx_conformance_cases::compare::Distance;
use onnx_conformance_cases::suite::{SelectedGroup, SuiteError};
use onnx_conformance_subject::{Host, Stop};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

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
    run_inspected(plan, runtime, stop, &Inspect::watching(&|_, _| {}), sink);
}

/// Callbacks for a case, on the thread that ran it.
pub struct Inspect<'a> {
    /// Receives each case with its result.
    pub case: &'a (dyn Fn(&Case, &CaseResult) + Sync),
    /// Selects unexpected results to re-run in a process of their own before they are reported; see [`judge_twice`].
    pub doubtful: &'a (dyn Fn(&CaseResult) -> bool + Sync),
}

impl<'a> Inspect<'a> {
    /// Passes cases with their results to `case`, and re-runs none.
    pub fn watching(case: &'a (dyn Fn(&Case, &CaseResult) + Sync)) -> Inspect<'a> {
        Inspect { case, doubtful: &|_| false }
    }
}

/// Runs as [`run`] does, and passes each case with its result to `inspect`.
pub fn run_inspected(
    plan: &Plan<'_>,
    runtime: &dyn Host,
    stop: &Stop,
    inspect: &Inspect<'_>,
    mut sink: impl FnMut(Event),
) {
    let (sender, receiver) = mpsc::channel();
    let declaration = runtime.declaration();
    let run = |sender: Sender<Event>| {
        same_cases(plan).par_iter().for_each_with(sender, |sender, same| {
            let event = |event| drop(sender.send(event));
            let Some(first) = same.first() else { return };
            if stop.is_set() {
                return;
            }
            match plan.load(first) {
                Ok(cases) => {
                    for case in cases {
                        let (case, has_form) = plan.varied(case);
                        let result = if has_form {
                            judge_twice(&case, runtime, &declaration, inspect.doubtful)
                        } else {
                            CaseResult::without_form(&case, plan.variant())
                        };
                        if stop.is_set() {
                            return;
                        }
                        (inspect.case)(&case, &result);
                        for id in same.iter().skip(1).flat_map(|(_, _, ids)| ids) {
                            let id = plan.variant().id(id);
                            let same = CaseResult { id: id.clone(), ..result.clone() };
                            (inspect.case)(&Case { id, ..case.clone() }, &same);
                            event(Event::Finished(Box::new(same)));
                        }
                        event(Event::Finished(Box::new(result)));
                    }
                }
                Err(SuiteError::TooLarge { case, message }) => {
                    let (case, _) = plan.varied(*case);
                    let outcome = Outcome::OutOfMemory;
                    event(Event::Finished(Box::new(CaseResult { outcome, message, ..CaseResult::of(&case) })));
                }
                Err(error) => event(Event::Broken(error)),
            }
        });
    };
    // The number of threads is the number of requests that the runtime can run at a time. With more threads, waiting
    // would count as time of a case.
    let pool = runtime.jobs().and_then(|jobs| ThreadPoolBuilder::new().num_threads(jobs).build().ok());
    let run = |sender| match &pool {
        Some(pool) => pool.install(|| run(sender)),
        None => run(sender),
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
