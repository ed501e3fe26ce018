//! A whole run held against what is expected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::case::Variant;
use crate::run::{CaseResult, Entry, Event, ExpectationMatcher, Outcome, Summary, Verdict};
use crate::suite::{Filter, is_glob};

/// What a run came to, result by result.
#[derive(Debug, Default)]
pub struct GateResult {
    /// How many cases ended how.
    pub summary: Summary,
    /// The cases that do worse than expected.
    pub regressions: Vec<CaseResult>,
    /// The cases that do better than expected.
    pub improvements: Vec<CaseResult>,
    /// The cases that ended otherwise when they were run alone.
    pub flaky: Vec<CaseResult>,
    /// How many cases fail as expected.
    pub expected: usize,
    /// What is wrong with the expectations themselves, where it shows.
    pub entry_problems: Vec<EntryProblem>,
    /// Why cases could not be had.
    pub broken: Vec<String>,
    /// What the runtime did wrong outside of any case, such as not ending when asked.
    pub problems: Vec<String>,
    met: BTreeMap<usize, EntryMatches>,
}

/// What an entry of the expectations met.
#[derive(Debug, Default)]
pub(super) struct EntryMatches {
    /// How its cases ended, those that are judged.
    pub(super) outcomes: BTreeMap<Outcome, usize>,
    /// The operators that each of its cases has; nothing before the first case that names any.
    common: Option<BTreeSet<String>>,
    /// Every operator that some case has.
    operators: BTreeSet<String>,
}

/// What is wrong with an entry of the expectations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryProblem {
    /// The entry and where it stands.
    pub place: String,
    /// What is wrong with it.
    pub kind: ExpectationProblem,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectationProblem {
    /// No case that is judged belongs to it.
    MatchesNothing,
    /// Its cases do not end alike.
    MixedOutcomes(Vec<(Outcome, usize)>),
    /// Its cases are those of several operators, and it does not say so.
    SpansOperators(usize),
}

/// What of the suite a run is about.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The cases that were chosen; none where the run was about a part of no plain description, as a shard is.
    pub filter: Option<&'a Filter>,
    /// The form in which the cases were put.
    pub variant: Variant,
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
    /// No case counts for the runtime.
    NothingJudged,
    /// Everything is as expected.
    AsExpected,
}

impl GateResult {
    /// Counts what happened, and says how a result stands.
    pub fn add(&mut self, event: &Event, book: &ExpectationMatcher) -> Option<Verdict> {
        match event {
            Event::Finished(result) => Some(self.add_result(result, book)),
            Event::Broken(error) => {
                self.broken.push(error.to_string());
                None
            }
        }
    }

    /// Counts a result, and says how it stands.
    pub fn add_result(&mut self, result: &CaseResult, book: &ExpectationMatcher) -> Verdict {
        self.summary.add(result);
        self.flaky.extend(result.flaky.is_some().then(|| result.clone()));
        let (standing, owner) = book.standing(result);
        if let Some(at) = owner.filter(|_| result.counts_when_strict()) {
            self.met.entry(at).or_default().add(result, book);
        }
        match standing {
            Verdict::Regression => self.regressions.push(result.clone()),
            Verdict::Improvement => self.improvements.push(result.clone()),
            Verdict::ExpectedFailure => self.expected += 1,
            Verdict::Pass | Verdict::NotJudged => {}
        }
        standing
    }

    /// Puts the cases in order after the last event, and notes what is wrong with the expectations as far as a run of
    /// this scope can show it.
    pub fn finish(&mut self, book: &ExpectationMatcher, scope: &Scope<'_>) {
        self.regressions.sort_by(|a, b| a.id.cmp(&b.id));
        self.improvements.sort_by(|a, b| a.id.cmp(&b.id));
        let entries = book.expectations().expect.iter().enumerate().filter(|(at, _)| book.is_active(*at));
        for (at, entry) in entries {
            let kind = match self.met.get(&at) {
                Some(met) => met.fault(entry),
                None => scope.reaches(entry).then_some(ExpectationProblem::MatchesNothing),
            };
            self.entry_problems.extend(kind.map(|kind| EntryProblem { place: book.expectations().place(at), kind }));
        }
    }

    /// What the run says.
    pub fn conclusion(&self) -> Conclusion {
        if !self.broken.is_empty() {
            Conclusion::Broken
        } else if !self.regressions.is_empty() || !self.problems.is_empty() {
            Conclusion::Regressions
        } else if !self.entry_problems.is_empty() || !self.improvements.is_empty() {
            Conclusion::Improvements
        } else if self.summary.count(Outcome::Pass) + self.expected + self.summary.open == 0 {
            Conclusion::NothingJudged
        } else {
            Conclusion::AsExpected
        }
    }
}

impl EntryMatches {
    pub(super) fn add(&mut self, result: &CaseResult, book: &ExpectationMatcher) {
        if book.judges(result) {
            *self.outcomes.entry(result.outcome).or_default() += 1;
        }
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

    pub(super) fn fault(&self, entry: &Entry) -> Option<ExpectationProblem> {
        if self.outcomes.len() > 1 {
            return Some(ExpectationProblem::MixedOutcomes(
                self.outcomes.iter().map(|(outcome, count)| (*outcome, *count)).collect(),
            ));
        }
        // What a runtime lacks is one thing, whatever operators want it; a glob stands for more than one.
        let is_one_thing = entry.unsupported.as_deref().is_some_and(|what| !is_glob(what));
        let spans = self.common.as_ref().is_some_and(BTreeSet::is_empty);
        (spans && !is_one_thing && !entry.spans_operators)
            .then_some(ExpectationProblem::SpansOperators(self.operators.len()))
    }
}

impl Scope<'_> {
    /// Whether a run of this scope meets every case that an entry can be about.
    fn reaches(&self, entry: &Entry) -> bool {
        let Some(filter) = self.filter else { return false };
        match &entry.cases {
            Some(pattern) => {
                let (pattern, variant) = Variant::of_id(pattern);
                variant == self.variant && filter.chooses_all_of(pattern)
            }
            None => self.variant == Variant::Runtime && filter.is_everything(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Expectations;
    use crate::run::outcome::tests::{lacking, result};
    use crate::runtime::Declaration;

    fn problems(entries: &str, results: &[CaseResult], filter: &[&str], variant: Variant) -> Vec<String> {
        let text = format!("runtime: a\nexpect:\n{entries}");
        let file = Expectations::parse("a.yaml", &text).unwrap();
        let book = ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap();
        let mut tally = GateResult::default();
        for result in results {
            tally.add_result(result, &book);
        }
        let filter = Filter::new(filter).unwrap();
        tally.finish(&book, &Scope { filter: Some(&filter), variant });
        tally.entry_problems.iter().map(ToString::to_string).collect()
    }

    fn check(entries: &str, results: &[CaseResult], expected: &[&str]) {
        assert_eq!(problems(entries, results, &[], Variant::Runtime), expected);
    }

    #[test]
    fn an_entry_that_matches_nothing_is_noted_where_the_run_reached_it() {
        let entries = "  - {cases: d/Abs-1/x, outcome: error}\n  - {unsupported: x}\n";
        let said = "expectation that matches nothing: a.yaml";
        check(entries, &[], &[&format!("{said}:3: cases: d/Abs-1/x"), &format!("{said}:4: unsupported: x")]);
        assert_eq!(problems(entries, &[], &["d/Abs-1"], Variant::Runtime).len(), 1);
        assert_eq!(problems(entries, &[], &["d/Sum-1"], Variant::Runtime).len(), 0);
        assert_eq!(problems(entries, &[], &[], Variant::Constants).len(), 0);
    }

    #[test]
    fn an_entry_for_cases_of_all_sorts_is_noted() {
        let entry = "  - {cases: 'd/Abs-1/**', outcome: error}\n";
        let results = [result("d/Abs-1/x", Outcome::Error), result("d/Abs-1/y", Outcome::Pass)];
        check(
            entry,
            &results,
            &["expectation that covers different outcomes (1 pass, 1 error): a.yaml:3: cases: d/Abs-1/**"],
        );
        let silent = [result("d/Abs-1/x", Outcome::Error), result("d/Abs-1/y", Outcome::NotApplicable)];
        check(entry, &silent, &[]);
    }

    #[test]
    fn an_entry_for_several_operators_says_so() {
        let results = [result("d/Abs-1/x", Outcome::Error), result("d/Add-1/x", Outcome::Error)];
        let said = "expectation that covers 2 operators without `spans_operators: true`: a.yaml:3: cases: d/A*/x";
        check("  - {cases: 'd/A*/x', outcome: error}\n", &results, &[said]);
        check("  - {cases: 'd/A*/x', outcome: error, spans_operators: true}\n", &results, &[]);
        let versions = [result("d/Abs-1/x", Outcome::Error), result("d/Abs-6/x", Outcome::Error)];
        check("  - {cases: 'd/A*/x', outcome: error}\n", &versions, &[]);
        let lacks = [lacking("d/Abs-1/x", "tensor(x) in d/Abs-1"), lacking("d/Add-1/x", "tensor(x) in d/Add-1")];
        assert_eq!(problems("  - {unsupported: 'tensor(x)*'}\n", &lacks, &[], Variant::Runtime).len(), 1);
        check("  - {unsupported: 'tensor(x)*', spans_operators: true}\n", &lacks, &[]);
        check("  - {unsupported: x}\n", &[lacking("d/Abs-1/x", "x"), lacking("d/Add-1/x", "x")], &[]);
    }

    #[test]
    fn the_operators_of_a_vendored_case_are_those_of_its_model() {
        let node = |id: &str, named: &[&str]| CaseResult {
            named: named.iter().map(|&name| name.to_owned()).collect(),
            ..result(id, Outcome::Error)
        };
        let entry = "  - {cases: 'onnx-1/node/test_a*', outcome: error}\n";
        let both = ["ai.onnx/Abs-13", "ai.onnx/Abs-13 T=tensor(float)", "ai.onnx/Add-13"];
        check(entry, &[node("onnx-1/node/test_a", &both), node("onnx-1/node/test_ab", &["ai.onnx/Add-14"])], &[]);
        let other = [node("onnx-1/node/test_a", &both), node("onnx-1/node/test_ab", &["ai.onnx/And-7"])];
        assert_eq!(problems(entry, &other, &[], Variant::Runtime).len(), 1);
    }
}
