//! Problems of the entries of an expectation file, found from the results that belong to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::expectations::entry::{Entry, literal};
use crate::expectations::matcher::ExpectationMatcher;
use crate::run::{CaseResult, Outcome};

/// The results that belong to an entry.
#[derive(Debug, Default)]
pub(super) struct EntryMatches {
    /// Number of judged cases per outcome.
    pub(super) outcomes: BTreeMap<Outcome, usize>,
    /// Operators that all of its judged cases have in common; `None` before the first case with any operator.
    common: Option<BTreeSet<String>>,
    /// Operators of any of its judged cases.
    operators: BTreeSet<String>,
}

/// Problem of one expectation entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryProblem {
    /// The entry and its location in the file.
    pub place: String,
    /// Kind of the problem.
    pub kind: ExpectationProblem,
}

/// Kind of problem of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectationProblem {
    /// No judged case belongs to it.
    MatchesNothing,
    /// Its cases have different outcomes.
    MixedOutcomes(Vec<(Outcome, usize)>),
    /// Its cases span several operators, and it does not declare so.
    SpansOperators(usize),
}

impl EntryMatches {
    pub(super) fn add(&mut self, result: &CaseResult, matcher: &ExpectationMatcher) {
        if !matcher.judges(result) {
            return;
        }
        *self.outcomes.entry(result.outcome).or_default() += 1;
        let operators = result.operators();
        if operators.is_empty() {
            return;
        }
        self.operators.extend(operators.iter().cloned());
        self.common = Some(match self.common.take() {
            Some(common) => common.intersection(&operators).cloned().collect(),
            None => operators,
        });
    }

    pub(super) fn problem(&self, entry: &Entry) -> Option<ExpectationProblem> {
        if self.outcomes.len() > 1 && !entry.varies {
            return Some(ExpectationProblem::MixedOutcomes(
                self.outcomes.iter().map(|(outcome, count)| (*outcome, *count)).collect(),
            ));
        }
        // One missing feature is a single cause, even if several operators need it. A glob may select several features.
        let is_one_thing = entry.unsupported.as_deref().and_then(literal).is_some();
        let spans = self.common.as_ref().is_some_and(BTreeSet::is_empty);
        (spans && !is_one_thing && !entry.spans_operators)
            .then_some(ExpectationProblem::SpansOperators(self.operators.len()))
    }
}

impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EntryProblem { place, kind } = self;
        match kind {
            ExpectationProblem::MatchesNothing => write!(f, "expectation that matches nothing: {place}"),
            ExpectationProblem::MixedOutcomes(outcomes) => {
                let outcomes: Vec<String> =
                    outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
                write!(f, "expectation that covers different outcomes ({}): {place}", outcomes.join(", "))
            }
            ExpectationProblem::SpansOperators(count) => {
                write!(f, "expectation that covers {count} operators without `spans_operators: true`: {place}")
            }
        }
    }
}
