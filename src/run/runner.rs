//! Runs a plan in parallel and tells what happens as events.

use std::collections::BTreeMap;
use std::sync::mpsc;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::case::{Case, Level, RefusalClass, UpstreamOverride};
use crate::run::{CaseResult, Outcome, Plan, judge};
use crate::runtime::{Host, Stop};
use crate::suite::SuiteError;

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
    run_inspected(plan, runtime, stop, &|_, _| {}, sink);
}

/// Runs as [`run`] does, and shows `inspect` each case with its result, on the thread that ran it.
pub fn run_inspected(
    plan: &Plan<'_>,
    runtime: &dyn Host,
    stop: &Stop,
    inspect: &(dyn Fn(&Case, &CaseResult) + Sync),
    mut sink: impl FnMut(Event),
) {
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let declaration = runtime.declaration();
        let run = move || {
            plan.groups().par_iter().for_each_with(sender, |sender, group| {
                let event = |event| drop(sender.send(event));
                if stop.is_set() {
                    return;
                }
                match plan.load(group) {
                    Ok(cases) => {
                        for case in cases {
                            let (case, has_form) = plan.varied(case);
                            let result = if has_form {
                                judge(&case, runtime, &declaration)
                            } else {
                                CaseResult::without_form(&case, plan.variant())
                            };
                            if stop.is_set() {
                                return;
                            }
                            inspect(&case, &result);
                            event(Event::Finished(Box::new(result)));
                        }
                    }
                    Err(error) => event(Event::Broken(error)),
                }
            });
        };
        // A runtime that takes so many requests at a time gets as many threads, or the time of a case is that of waiting.
        let pool = runtime.jobs().and_then(|jobs| ThreadPoolBuilder::new().num_threads(jobs).build().ok());
        scope.spawn(move || match pool {
            Some(pool) => pool.install(run),
            None => run(),
        });
        receiver.into_iter().for_each(&mut sink);
    });
}

/// How many cases ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    counts: BTreeMap<Outcome, usize>,
    /// The cases of level `open`, which are recorded and never judged.
    pub open: usize,
    /// The vendored cases that are judged by another rule than upstream's, by rule.
    pub judged: BTreeMap<UpstreamOverride, usize>,
    /// The judged cases that must be refused, and how many of them pass, apart from those with outputs.
    pub refusals: BTreeMap<RefusalClass, (usize, usize)>,
}

impl Summary {
    /// Counts a result.
    pub fn add(&mut self, result: &CaseResult) {
        if let Some(judged) = result.judged {
            *self.judged.entry(judged).or_default() += 1;
        }
        if result.level == Level::Open {
            self.open += 1;
        } else {
            *self.counts.entry(result.outcome).or_default() += 1;
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

    /// The outcomes that occurred, best first, with their numbers.
    pub fn counts(&self) -> impl Iterator<Item = (Outcome, usize)> {
        Outcome::ALL.into_iter().map(|outcome| (outcome, self.count(outcome))).filter(|(_, count)| *count > 0)
    }

    /// How many cases ended.
    pub fn total(&self) -> usize {
        self.counts.values().sum::<usize>() + self.open
    }
}
