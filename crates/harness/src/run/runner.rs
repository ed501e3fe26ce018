//! Runs a plan in parallel and tells what happens as events.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, Sender};
use std::thread::Builder;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::run::{CaseResult, Outcome, Plan, judge_twice};
use onnx_conformance_cases::case::{Case, RefusalClass, UpstreamOverride};
use onnx_conformance_cases::compare::Distance;
use onnx_conformance_cases::suite::{SelectedGroup, SuiteError};
use onnx_conformance_subject::{Host, Stop};

/// What happens during a run.
#[derive(Debug)]
pub enum Event {
    /// A case has ended.
    Finished(Box<CaseResult>),
    /// The cases of a group cannot be loaded: a fault of the suite, not of the runtime.
    Broken(SuiteError),
}

/// Runs every case of the plan, until it is stopped, and hands each event to `sink` on the calling thread, as it comes.
/// A case that is running when the run is stopped has no result.
pub fn run(plan: &Plan<'_>, runtime: &dyn Host, stop: &Stop, sink: impl FnMut(Event)) {
    run_inspected(plan, runtime, stop, &Inspect::watching(&|_, _| {}), sink);
}

/// What looks at a case on the thread that ran it.
pub struct Inspect<'a> {
    /// Sees each case with its result.
    pub case: &'a (dyn Fn(&Case, &CaseResult) + Sync),
    /// Says which results are to be had a second time, in a process of their own; see [`judge_twice`].
    pub doubtful: &'a (dyn Fn(&CaseResult) -> bool + Sync),
}

impl<'a> Inspect<'a> {
    /// Shows cases, and believes every result.
    pub fn watching(case: &'a (dyn Fn(&Case, &CaseResult) + Sync)) -> Inspect<'a> {
        Inspect { case, doubtful: &|_| false }
    }
}

/// Runs as [`run`] does, and shows each case with its result.
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
    // A runtime that takes so many requests at a time gets as many threads, or the time of a case is that of waiting.
    let pool = runtime.jobs().and_then(|jobs| ThreadPoolBuilder::new().num_threads(jobs).build().ok());
    let run = |sender| match &pool {
        Some(pool) => pool.install(|| run(sender)),
        None => run(sender),
    };
    std::thread::scope(|scope| {
        let own = sender.clone();
        // Without a thread for it, the run is over before its first event is handed on.
        match Builder::new().spawn_scoped(scope, || run(own)) {
            Ok(_) => drop(sender),
            Err(_) => run(sender),
        }
        receiver.into_iter().for_each(&mut sink);
    });
}

/// The groups of a plan, those of the same one case together: a test that several releases have is run once, and its result is
/// that of each.
fn same_cases<'a, 'b>(plan: &'b Plan<'a>) -> Vec<Vec<&'b SelectedGroup<'a>>> {
    let mut groups: Vec<Vec<&SelectedGroup<'a>>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for chosen in &plan.groups {
        let (source, group, ids) = chosen;
        // What cannot be read is said when the cases are loaded.
        let content = source.content(group).ok().flatten().filter(|_| ids.len() == 1);
        let place = content.map_or(groups.len(), |content| *places.entry(content).or_insert(groups.len()));
        match groups.get_mut(place) {
            Some(group) => group.push(chosen),
            None => groups.push(vec![chosen]),
        }
    }
    groups
}

/// How many cases ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: BTreeMap<Outcome, usize>,
    /// The judged mismatches by how far they are from the expected output, where that is known.
    distances: BTreeMap<Distance, usize>,
    /// The cases of level `open` that are recorded and not judged: those with an answer.
    pub open: usize,
    /// The vendored cases that are judged by another rule than upstream's, by rule.
    pub judged: BTreeMap<UpstreamOverride, usize>,
    /// The judged cases that must be refused, and how many of them pass, apart from those with outputs.
    pub refusals: BTreeMap<RefusalClass, (usize, usize)>,
    /// The tests of each ONNX release, by the beginning of their ids.
    pub releases: BTreeMap<String, OfRelease>,
}

/// How the tests of an ONNX release ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfRelease {
    /// How many there are.
    pub total: usize,
    /// Those that pass.
    pub passed: usize,
    /// Those that are left open.
    pub open: usize,
}

impl Summary {
    /// Counts a result.
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

    /// How many judged cases had this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or(0)
    }

    /// How many mismatches are so far from the expected output.
    pub fn distance(&self, distance: Distance) -> usize {
        self.distances.get(&distance).copied().unwrap_or(0)
    }

    /// The outcomes that occurred, best first, with their numbers.
    pub fn counts(&self) -> impl Iterator<Item = (Outcome, usize)> {
        Outcome::ALL.into_iter().map(|outcome| (outcome, self.count(outcome))).filter(|(_, count)| *count > 0)
    }

    /// How many cases ended.
    pub fn total(&self) -> usize {
        self.counts.values().sum::<usize>() + self.open
    }
}
