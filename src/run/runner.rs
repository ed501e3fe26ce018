//! Runs a plan in parallel and tells what happens as events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

use rayon::prelude::*;

use crate::case::{Case, Judged, Level, Variant, in_variant};
use crate::run::{CaseResult, Outcome, Shard, judge};
use crate::runtime::{Runtime, Stop};
use crate::suite::{Chosen, Filter, Suite, SuiteError};

/// The cases of a run, by the unit that they are loaded in.
pub struct Plan<'a> {
    units: Vec<Chosen<'a>>,
    variant: Variant,
    /// How many cases are chosen.
    pub selected: usize,
}

/// What happens during a run.
#[derive(Debug)]
pub enum Event {
    /// A case has ended.
    Finished(Box<CaseResult>),
    /// The cases of a unit cannot be had: a fault of the suite, not of the runtime.
    Broken(SuiteError),
}

/// Chooses the cases of a run.
pub fn plan<'a>(suite: &'a Suite, filter: &Filter) -> Result<Plan<'a>, SuiteError> {
    let units = suite.choose(filter)?;
    let selected = units.iter().map(|(_, _, ids)| ids.len()).sum();
    Ok(Plan { units, selected, variant: Variant::Runtime })
}

impl Plan<'_> {
    /// Puts the cases in another form.
    #[must_use]
    pub fn in_variant(self, variant: Variant) -> Self {
        Plan { variant, ..self }
    }

    /// The part of the plan that a shard runs.
    #[must_use]
    pub fn shard(self, shard: Shard) -> Self {
        let all = self.units.iter().flat_map(|(_, _, ids)| ids.iter().cloned()).collect();
        let taken: BTreeSet<String> = shard.take(all).into_iter().collect();
        self.retain(|id| taken.contains(id))
    }

    /// The plan without the cases that have these ids.
    #[must_use]
    pub fn without(self, done: &BTreeSet<&str>) -> Self {
        let variant = self.variant;
        self.retain(|id| !done.contains(variant.id(id).as_str()))
    }

    /// The ids of the cases, in order.
    pub fn ids(&self) -> impl Iterator<Item = String> {
        self.units.iter().flat_map(|(_, _, ids)| ids).map(|id| self.variant.id(id))
    }

    fn retain(mut self, is_kept: impl Fn(&str) -> bool) -> Self {
        self.units.iter_mut().for_each(|(_, _, ids)| ids.retain(|id| is_kept(id)));
        self.units.retain(|(_, _, ids)| !ids.is_empty());
        self.selected = self.units.iter().map(|(_, _, ids)| ids.len()).sum();
        self
    }
}

/// Runs every case of the plan, until it is stopped, and hands each event to `sink` on the calling thread, as it comes.
/// A case that is running when the run is stopped has no result.
pub fn run(plan: &Plan<'_>, runtime: &dyn Runtime, stop: &Stop, sink: impl FnMut(Event)) {
    run_inspected(plan, runtime, stop, &|_, _| {}, sink);
}

/// Runs as [`run`] does, and shows `inspect` each case with its result, on the thread that ran it.
pub fn run_inspected(
    plan: &Plan<'_>,
    runtime: &dyn Runtime,
    stop: &Stop,
    inspect: &(dyn Fn(&Case, &CaseResult) + Sync),
    mut sink: impl FnMut(Event),
) {
    let (sender, receiver) = mpsc::channel();
    let declaration = runtime.declaration();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            plan.units.par_iter().for_each_with(sender, |sender, (source, unit, ids)| {
                let event = |event| drop(sender.send(event));
                if stop.is_set() {
                    return;
                }
                match source.load(unit, &|id| ids.iter().any(|chosen| chosen == id)) {
                    Ok(cases) => {
                        for case in cases {
                            let case = in_variant(case, plan.variant);
                            let result = judge(&case, runtime, &declaration);
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
    pub judged: BTreeMap<Judged, usize>,
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
