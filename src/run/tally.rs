//! A whole run held against what is expected.

use crate::run::{CaseResult, Entry, Event, Expected, Outcome, Standing, Summary, Used};

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
    /// The expectations whose cases have no operator in common, though they do not say so.
    pub spanning: Vec<Entry>,
    /// Why cases could not be had.
    pub broken: Vec<String>,
    /// What the runtime did wrong outside of any case, such as not ending when asked.
    pub faults: Vec<String>,
    used: Used,
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
    pub fn add(&mut self, event: &Event, expected: &Expected<'_>, strict: bool) {
        let result = match event {
            Event::Finished(result) => result,
            Event::Broken(error) => return self.broken.push(error.to_string()),
        };
        self.summary.add(result);
        match expected.standing(result, strict, &mut self.used) {
            Standing::Regression => self.regressions.push((**result).clone()),
            Standing::Improvement => self.improvements.push((**result).clone()),
            Standing::Expected => self.expected += 1,
            Standing::Pass | Standing::Silent => {}
        }
    }

    /// Notes what the runtime did wrong outside of any case.
    pub fn add_fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Puts the cases in order after the last event and, after a run of everything that the expectations are about,
    /// notes those that nothing met.
    pub fn finish(&mut self, expected: &Expected<'_>, everything: bool) {
        self.regressions.sort_by(|a, b| a.id.cmp(&b.id));
        self.improvements.sort_by(|a, b| a.id.cmp(&b.id));
        if everything {
            self.stale = expected.unused(&self.used).into_iter().cloned().collect();
        }
        self.spanning = expected.spanning(&self.used).into_iter().cloned().collect();
    }

    /// Whether something is not as the expectations say.
    pub fn has_surprises(&self) -> bool {
        let entries = self.stale.len() + self.spanning.len();
        entries + self.regressions.len() + self.improvements.len() > 0
    }

    /// What the run says.
    pub fn conclusion(&self) -> Conclusion {
        if !self.broken.is_empty() {
            Conclusion::Broken
        } else if !self.regressions.is_empty() || !self.spanning.is_empty() || !self.faults.is_empty() {
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
