//! A whole run held against what is expected.

use std::collections::BTreeSet;

use crate::run::{CaseResult, Entry, Event, Expectations, Outcome, Standing, Summary};

/// What a run came to, result by result.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many cases ended how.
    pub summary: Summary,
    /// The cases that do worse than expected.
    pub regressions: Vec<CaseResult>,
    /// The cases that do better than expected.
    pub improvements: Vec<CaseResult>,
    /// How many cases fail as expected.
    pub expected: usize,
    /// The expectations that no case of a whole run met.
    pub stale: Vec<Entry>,
    /// Why cases could not be had.
    pub broken: Vec<String>,
    used: BTreeSet<usize>,
}

/// What a run says of a runtime, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Some cases could not be had, so the run says too little.
    Broken,
    /// Some case does worse than expected.
    Regressions,
    /// Nothing does worse, but the expectations are out of date.
    Improvements,
    /// No case bears on the runtime.
    Nothing,
    /// Everything is as expected.
    AsExpected,
}

impl Tally {
    /// Counts what happened.
    pub fn add(&mut self, event: &Event, expectations: &Expectations) {
        let result = match event {
            Event::Finished(result) => result,
            Event::Broken(error) => return self.broken.push(error.to_string()),
        };
        self.summary.add(result);
        match expectations.standing(result, true, &mut self.used) {
            Standing::Regression => self.regressions.push((**result).clone()),
            Standing::Improvement => self.improvements.push((**result).clone()),
            Standing::Expected => self.expected += 1,
            Standing::Pass | Standing::Silent => {}
        }
    }

    /// Puts the cases in order after the last event and, after a run of everything that the expectations are about,
    /// notes those that nothing met.
    pub fn finish(&mut self, expectations: &Expectations, everything: bool) {
        self.regressions.sort_by(|a, b| a.id.cmp(&b.id));
        self.improvements.sort_by(|a, b| a.id.cmp(&b.id));
        if everything {
            self.stale = expectations.unused(&self.used).cloned().collect();
        }
    }

    /// What the run says.
    pub fn conclusion(&self) -> Conclusion {
        if !self.broken.is_empty() {
            Conclusion::Broken
        } else if !self.regressions.is_empty() {
            Conclusion::Regressions
        } else if !self.stale.is_empty() || !self.improvements.is_empty() {
            Conclusion::Improvements
        } else if self.summary.count(Outcome::Pass) + self.expected + self.summary.open == 0 {
            Conclusion::Nothing
        } else {
            Conclusion::AsExpected
        }
    }
}
