//! The gate: compares the results of a whole run with the expectations.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{CaseId, Variant};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_reference::spec::OperatorVersion;
use onnx_conformance_subject::MissingFeature;

use crate::expectations::entry::Entry;
use crate::expectations::matcher::{ExpectationMatcher, Verdict};
use crate::expectations::problems::{EntryMatches, EntryProblem, ExpectationProblem};
use crate::run::{CaseResult, Event, Outcome, Summary};

/// Results of a run, compared with the expectations one by one.
#[derive(Debug, Default)]
pub struct GateResult {
    /// Number of cases per outcome.
    pub summary: Summary,
    /// Cases that do worse than expected.
    pub regressions: Vec<CaseResult>,
    /// Cases that do better than expected.
    pub improvements: Vec<CaseResult>,
    /// Cases with a different outcome in a fresh process.
    pub flaky: Vec<CaseResult>,
    /// Number of cases that fail as expected.
    pub expected: usize,
    /// Number of these that are limits of the binding.
    pub by_binding: usize,
    /// Problems of the expectation entries, as far as this run shows them.
    pub entry_problems: Vec<EntryProblem>,
    /// Errors of cases that could not be loaded.
    pub broken: Vec<String>,
    /// Errors of the runtime outside of any case, such as a process that does not exit when asked.
    pub problems: Vec<String>,
    by_entry: BTreeMap<usize, EntryMatches>,
    /// Operators that the runtime reports as missing, each with the first such case.
    missing: BTreeMap<String, String>,
    /// Number of passing positive cases per operator version.
    running: BTreeMap<OperatorVersion, usize>,
}

/// The part of the suite that a run covers.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Filter of the cases; `None` if no filter describes the run, as for a shard.
    pub filter: Option<&'a Filter>,
    /// Variant of the cases.
    pub variant: Variant,
}

/// Conclusion of a run, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// Some cases could not be loaded, so the run is incomplete.
    Broken,
    /// Some cases do worse than expected.
    Regressions,
    /// No case does worse, but the expectations are out of date.
    Improvements,
    /// No case counts for the runtime.
    NothingJudged,
    /// All results are as expected.
    AsExpected,
}

impl GateResult {
    /// Counts an event. Returns the verdict if the event is a result.
    pub fn add(&mut self, event: &Event, matcher: &ExpectationMatcher) -> Option<Verdict> {
        match event {
            Event::Finished(result) => Some(self.add_result(result, matcher)),
            Event::Broken(error) => {
                self.broken.push(error.to_string());
                None
            }
        }
    }

    /// Counts a result and returns its verdict.
    pub fn add_result(&mut self, result: &CaseResult, matcher: &ExpectationMatcher) -> Verdict {
        self.summary.add(result);
        self.flaky.extend(result.flaky.is_some().then(|| result.clone()));
        let (verdict, owner) = matcher.verdict(result);
        self.note_operator(result, verdict);
        if let Some(index) = owner.filter(|index| matcher.is_about(*index, result)) {
            self.by_entry.entry(index).or_default().add(result, matcher);
        }
        match verdict {
            Verdict::Regression => self.regressions.push(result.clone()),
            Verdict::Improvement => self.improvements.push(result.clone()),
            Verdict::ExpectedFailure => {
                self.expected += 1;
                let entry = owner.and_then(|index| matcher.entry(index));
                self.by_binding += usize::from(entry.is_some_and(|entry| entry.binding));
            }
            Verdict::Pass | Verdict::NotJudged => {}
        }
        verdict
    }

    fn note_operator(&mut self, result: &CaseResult, verdict: Verdict) {
        let is_new = verdict == Verdict::Regression;
        if let Some(what) = result.missing.as_ref().filter(|what| is_new && what.starts_with("operator ")) {
            self.missing.entry(what.clone()).or_insert_with(|| result.id.clone());
        }
        let runs = result.outcome == Outcome::Pass && result.class.is_none() && result.counts_when_strict();
        if let Some(version) = CaseId::parse(&result.id).version().filter(|_| runs) {
            *self.running.entry(version).or_default() += 1;
        }
    }

    /// Returns operators that the runtime reports as missing although some of their cases pass. Something else must be missing.
    fn contradictions(&self) -> impl Iterator<Item = String> {
        self.missing.iter().filter_map(|(what, id)| {
            let operator = what.parse().ok().and_then(|feature: MissingFeature| feature.operator().cloned())?;
            let runs = self.running.iter().filter(|(version, _)| operator.includes(version));
            let count: usize = runs.map(|(_, count)| count).sum();
            (count > 0).then(|| {
                let way = "the adapter should name the missing type or attribute, or answer with an `error`";
                format!("{id}: unsupported: {what}, but {count} of its cases pass; {way}")
            })
        })
    }

    /// Sorts the cases by id after the last event, and records the problems of the expectations that a run of this scope can
    /// show.
    pub fn finish(&mut self, matcher: &ExpectationMatcher, scope: &Scope<'_>) {
        for results in [&mut self.regressions, &mut self.improvements] {
            results.sort_by(|a, b| a.id.cmp(&b.id));
        }
        let contradictions: Vec<String> = self.contradictions().collect();
        self.problems.extend(contradictions);
        let entries = matcher.expectations().expect.iter().enumerate().filter(|(index, _)| matcher.is_active(*index));
        for (index, entry) in entries {
            let kind = match self.by_entry.get(&index) {
                Some(matches) => matches.problem(entry),
                None => scope.reaches(entry).then_some(ExpectationProblem::MatchesNothing),
            };
            self.entry_problems
                .extend(kind.map(|kind| EntryProblem { place: matcher.expectations().place(index), kind }));
        }
    }

    /// Returns the conclusion of the run.
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

impl Scope<'_> {
    /// Returns true if a run of this scope covers every case that an entry can match.
    fn reaches(&self, entry: &Entry) -> bool {
        let Some(filter) = self.filter else { return false };
        match &entry.cases {
            Some(pattern) => {
                let (pattern, variant) = Variant::split_id(pattern);
                variant == self.variant && filter.selects_all_of(pattern)
            }
            None => self.variant == Variant::Runtime && filter.is_everything(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectations::Expectations;
    use crate::run::test_results::{result, unsupported};
    use onnx_conformance_subject::Declaration;

    fn problems(entries: &str, results: &[CaseResult], filter: &[&str], variant: Variant) -> Vec<String> {
        let text = format!("runtime: a\nexpect:\n{entries}");
        let file = Expectations::parse("a.yaml", &text).unwrap();
        let matcher = ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap();
        let mut gate_result = GateResult::default();
        for result in results {
            gate_result.add_result(result, &matcher);
        }
        let filter = Filter::new(filter).unwrap();
        gate_result.finish(&matcher, &Scope { filter: Some(&filter), variant });
        gate_result.entry_problems.iter().map(ToString::to_string).collect()
    }

    fn check(entries: &str, results: &[CaseResult], expected: &[&str]) {
        assert_eq!(problems(entries, results, &[], Variant::Runtime), expected);
    }

    #[test]
    fn an_operator_of_which_cases_pass_is_not_missing() {
        let file = Expectations::parse("a.yaml", "runtime: a\nexpect: []\n").unwrap();
        let matcher = ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap();
        let problems = |results: &[CaseResult]| {
            let mut gate_result = GateResult::default();
            for result in results {
                gate_result.add_result(result, &matcher);
            }
            gate_result.finish(&matcher, &Scope { filter: None, variant: Variant::Runtime });
            gate_result.problems.len()
        };
        let missing = |what: &str| unsupported("ai.onnx/Abs-13/b", what);
        let passes = |id: &str| result(id, Outcome::Pass);
        assert_eq!(problems(&[missing("operator ai.onnx/Abs-13"), passes("ai.onnx/Abs-13/a")]), 1);
        assert_eq!(problems(&[missing("operator ai.onnx/Abs"), passes("ai.onnx/Abs-6/a")]), 1);
        assert_eq!(problems(&[missing("operator ai.onnx/Abs-13"), passes("ai.onnx/Abs-6/a")]), 0);
        assert_eq!(problems(&[missing("tensor(int8) in ai.onnx/Abs-13"), passes("ai.onnx/Abs-13/a")]), 0);
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
    fn an_outcome_that_varies_is_as_expected_up_to_the_worst() {
        let ends = |outcome| [result("d/Abs-1/x", outcome)];
        let file = "runtime: a\nexpect:\n  - {cases: d/Abs-1/x, outcome: accepted, varies: true}\n";
        let matcher = |text| {
            let file = Expectations::parse("a.yaml", text).unwrap();
            ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap()
        };
        let verdict = |outcome| matcher(file).verdict(&ends(outcome)[0]).0;
        assert_eq!(verdict(Outcome::Pass), Verdict::Pass);
        assert_eq!(verdict(Outcome::Error), Verdict::ExpectedFailure);
        assert_eq!(verdict(Outcome::Accepted), Verdict::ExpectedFailure);
        // Wrong values are no worse than accepting what must be refused.
        assert_eq!(verdict(Outcome::Mismatch), Verdict::ExpectedFailure);
        assert_eq!(verdict(Outcome::Crash), Verdict::Regression);
        let limit = file.replace("outcome: accepted", "outcome: timeout");
        assert_eq!(matcher(&limit).verdict(&ends(Outcome::OutOfMemory)[0]).0, Verdict::ExpectedFailure);
        assert_eq!(matcher(&limit).verdict(&ends(Outcome::Crash)[0]).0, Verdict::Regression);
        let steady = file.replace(", varies: true", "");
        assert_eq!(matcher(&steady).verdict(&ends(Outcome::Pass)[0]).0, Verdict::Improvement);
        let two = "  - {cases: 'd/Abs-1/**', outcome: accepted, varies: true}\n";
        check(two, &[result("d/Abs-1/x", Outcome::Accepted), result("d/Abs-1/y", Outcome::Pass)], &[]);
    }

    #[test]
    fn limits_of_a_binding_are_counted_apart() {
        let text = "runtime: a\nexpect:\n  - {cases: d/Abs-1/x, outcome: error, binding: true}\n  \
                    - {cases: d/Abs-1/y, outcome: error}\n";
        let file = Expectations::parse("a.yaml", text).unwrap();
        assert!(file.to_yaml().contains("{cases: d/Abs-1/x, outcome: error, binding: true}"), "{}", file.to_yaml());
        let matcher = ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap();
        let mut gate_result = GateResult::default();
        for id in ["d/Abs-1/x", "d/Abs-1/y"] {
            gate_result.add_result(&result(id, Outcome::Error), &matcher);
        }
        assert_eq!((gate_result.expected, gate_result.by_binding), (2, 1));
        // A worse outcome is a regression, regardless of the reason for the expected one.
        assert_eq!(gate_result.add_result(&result("d/Abs-1/x", Outcome::Crash), &matcher), Verdict::Regression);
        assert_eq!(gate_result.by_binding, 1);
    }

    #[test]
    fn an_entry_for_several_operators_says_so() {
        let results = [result("d/Abs-1/x", Outcome::Error), result("d/Add-1/x", Outcome::Error)];
        let said = "expectation that covers 2 operators without `spans_operators: true`: a.yaml:3: cases: d/A*/x";
        check("  - {cases: 'd/A*/x', outcome: error}\n", &results, &[said]);
        check("  - {cases: 'd/A*/x', outcome: error, spans_operators: true}\n", &results, &[]);
        let versions = [result("d/Abs-1/x", Outcome::Error), result("d/Abs-6/x", Outcome::Error)];
        check("  - {cases: 'd/A*/x', outcome: error}\n", &versions, &[]);
        let missing =
            [unsupported("d/Abs-1/x", "tensor(x) in d/Abs-1"), unsupported("d/Add-1/x", "tensor(x) in d/Add-1")];
        assert_eq!(problems("  - {unsupported: 'tensor(x)*'}\n", &missing, &[], Variant::Runtime).len(), 1);
        check("  - {unsupported: 'tensor(x)*', spans_operators: true}\n", &missing, &[]);
        check("  - {unsupported: x}\n", &[unsupported("d/Abs-1/x", "x"), unsupported("d/Add-1/x", "x")], &[]);
    }

    #[test]
    fn the_operators_of_a_vendored_case_are_those_of_its_model() {
        let node = |id: &str, named: &[&str]| CaseResult {
            declared_cells: named.iter().map(|&name| name.to_owned()).collect(),
            ..result(id, Outcome::Error)
        };
        let entry = "  - {cases: 'onnx-1/node/test_a*', outcome: error}\n";
        let both = ["ai.onnx/Abs-13", "ai.onnx/Abs-13 T=tensor(float)", "ai.onnx/Add-13"];
        check(entry, &[node("onnx-1/node/test_a", &both), node("onnx-1/node/test_ab", &["ai.onnx/Add-14"])], &[]);
        let other = [node("onnx-1/node/test_a", &both), node("onnx-1/node/test_ab", &["ai.onnx/And-7"])];
        assert_eq!(problems(entry, &other, &[], Variant::Runtime).len(), 1);
    }
}
