//! Expectation matcher: finds the entry that a result belongs to.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};
use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{Filter, FilterError, loose_glob, wildcard};
use onnx_conformance_subject::Declaration;

use crate::expectations::condition::Condition;
use crate::expectations::entries_by_id::EntriesById;
use crate::expectations::entry::{Entry, EntryFault, literal};
use crate::expectations::file::{ExpectationError, Expectations, HeaderFault};
use crate::run::{CaseResult, Outcome, ProcessorFeature, ProcessorFeatures};

/// The expectations that apply to a runtime on this machine.
///
/// A result belongs to at most one entry, in this order: the entry that names its id; the entry that names the missing feature; the
/// first entry with its outcome and message; a group or glob over ids, preferably one with the outcome of the case, else the first. A
/// group or glob applies only in the scope of the file.
#[derive(Debug)]
pub struct ExpectationMatcher {
    expectations: Expectations,
    /// Filter of the measured cases, by their ids without a variant.
    scope: Filter,
    strict: bool,
    /// The processor and the version of the runtime, on which conditions depend; `None` if every condition holds.
    here: Option<(ProcessorFeatures, String)>,
    /// True for each entry whose condition holds.
    active: Vec<bool>,
    /// Entries that select by id, per variant.
    by_id: BTreeMap<Variant, EntriesById>,
    features: HashMap<String, usize>,
    feature_globs: Vec<FeatureGlob>,
    /// Entries that select by outcome and message.
    by_message: HashMap<Outcome, Vec<usize>>,
}

/// Verdict: the outcome of a case compared with the expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Passes, and no failure is expected.
    Pass,
    /// Fails as listed.
    ExpectedFailure,
    /// Fails without being listed, or worse than listed.
    Regression,
    /// Passes although listed, or fails less severely.
    Improvement,
    /// Does not count: the standard leaves it open, it was not sent, or its outcome is inconclusive.
    NotJudged,
}

impl ExpectationMatcher {
    /// Creates a matcher of the expectations that apply to the runtime with this declaration. `strict` makes recommended cases
    /// count, even if the file does not.
    pub fn new(
        expectations: Expectations,
        runtime: &Declaration,
        strict: bool,
    ) -> Result<ExpectationMatcher, ExpectationError> {
        ExpectationMatcher::on_processor(&ProcessorFeature::here(), expectations, runtime, strict)
    }

    /// Creates a matcher for the runtime on a processor with these features.
    pub(super) fn on_processor(
        features: &ProcessorFeatures,
        expectations: Expectations,
        runtime: &Declaration,
        strict: bool,
    ) -> Result<ExpectationMatcher, ExpectationError> {
        ExpectationMatcher::with(expectations, Some((features.clone(), runtime.version.clone())), strict)
    }

    /// Creates a matcher of all expectations, for any platform and version.
    pub(crate) fn with_every_condition(mut expectations: Expectations) -> Result<ExpectationMatcher, ExpectationError> {
        let mut seen = HashSet::new();
        expectations.expect.retain(|entry| seen.insert(entry.selector()));
        ExpectationMatcher::with(expectations, None, false)
    }

    /// Creates a matcher of other entries, for the same processor and version.
    pub(super) fn with_entries_of(&self, expectations: Expectations) -> Result<ExpectationMatcher, ExpectationError> {
        ExpectationMatcher::with(expectations, self.here.clone(), self.strict)
    }

    fn with(
        expectations: Expectations,
        here: Option<(ProcessorFeatures, String)>,
        strict: bool,
    ) -> Result<ExpectationMatcher, ExpectationError> {
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        let holds =
            |when: &Condition| here.as_ref().is_none_or(|(features, version)| when.holds(&platform, features, version));
        let active = expectations.expect.iter().map(|entry| entry.when.as_ref().is_none_or(holds)).collect();
        let scope = Filter::new(&expectations.scope).map_err(|error| ExpectationError::Header {
            path: expectations.path().to_owned(),
            fault: HeaderFault::Scope(error),
        })?;
        let mut matcher = ExpectationMatcher {
            here,
            active,
            scope,
            strict: strict || expectations.strict,
            expectations,
            by_id: BTreeMap::new(),
            features: HashMap::new(),
            feature_globs: Vec::new(),
            by_message: HashMap::new(),
        };
        let entries = std::mem::take(&mut matcher.expectations.expect);
        let path = matcher.path();
        let entry_error = |index, fault| ExpectationError::Entry { path: path.clone(), number: index + 1, fault };
        let mut written = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if !matcher.is_active(index) {
                continue;
            }
            if let Some(first) = written.insert(entry.selector(), index) {
                return Err(entry_error(index, EntryFault::Repeated(first + 1)));
            }
            matcher.add(index, entry).map_err(|error| entry_error(index, error.into()))?;
        }
        matcher.expectations.expect = entries;
        Ok(matcher)
    }

    fn add(&mut self, index: usize, entry: &Entry) -> Result<(), FilterError> {
        match (&entry.cases, &entry.unsupported) {
            (Some(pattern), _) => {
                let (pattern, variant) = Variant::split_id(pattern);
                self.by_id.entry(variant).or_default().add(index, pattern)?;
            }
            (None, Some(what)) => {
                if let Some(text) = literal(what) {
                    self.features.insert(text, index);
                } else {
                    let (glob, start) = (loose_glob(what)?, what.get(..wildcard(what)).unwrap_or_default().to_owned());
                    self.feature_globs.push(FeatureGlob { index, start, glob, matcher: OnceLock::new() });
                }
            }
            (None, None) => self.by_message.entry(entry.outcome()).or_default().push(index),
        }
        Ok(())
    }

    fn path(&self) -> String {
        self.expectations.path().to_owned()
    }

    /// Returns the expectations of the file.
    pub fn expectations(&self) -> &Expectations {
        &self.expectations
    }

    /// Returns true if there are no entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.expectations.expect.is_empty()
    }

    /// Returns true if recommended cases count.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Returns true if the file was measured on a case, by its id without a variant.
    pub fn is_in_scope(&self, id: &str) -> bool {
        self.scope.matches(id)
    }

    /// Returns the entry at a position.
    pub fn entry(&self, index: usize) -> Option<&Entry> {
        self.expectations.expect.get(index)
    }

    /// Returns true if the entry at a position applies here.
    pub fn is_active(&self, index: usize) -> bool {
        self.active.get(index).copied().unwrap_or(false)
    }

    /// Returns true if a result is judged. Cases that the standard leaves open, or that were not sent to the runtime, are never
    /// judged. Recommended cases are judged only if the matcher is strict.
    pub fn judges(&self, result: &CaseResult) -> bool {
        result.counts(self.strict) && !result.outcome.is_inconclusive()
    }

    /// Returns true if a result shows that the entry at a position is needed. An open case counts only if it ends without an answer, and
    /// one that varies may have an answer.
    pub(super) fn is_about(&self, index: usize, result: &CaseResult) -> bool {
        result.counts_when_strict() || self.entry(index).is_some_and(|entry| entry.varies)
    }

    /// Returns the verdict on a result, and the position of its entry.
    pub fn verdict(&self, result: &CaseResult) -> (Verdict, Option<usize>) {
        let owner = self.owner(result);
        let listed = owner.and_then(|index| self.entry(index));
        let rank = result.outcome.rank();
        let verdict = match listed {
            _ if !self.judges(result) => Verdict::NotJudged,
            Some(entry) if entry.agrees(result) => match result.outcome {
                Outcome::Pass => Verdict::Pass,
                _ => Verdict::ExpectedFailure,
            },
            Some(entry) if rank < entry.outcome().rank() => Verdict::Improvement,
            None if result.outcome == Outcome::Pass => Verdict::Pass,
            Some(_) | None => Verdict::Regression,
        };
        (verdict, owner)
    }

    /// Returns the position of the entry that a result belongs to.
    fn owner(&self, result: &CaseResult) -> Option<usize> {
        let (id, variant) = Variant::split_id(&result.id);
        let named = self.at_path(id, variant).next();
        let by_cause = || self.by_missing_feature(result).or_else(|| self.by_message(result));
        named.or_else(by_cause).or_else(|| {
            // A pattern says nothing about cases on which the file was not measured.
            if !self.is_in_scope(id) {
                return None;
            }
            let mut first = None;
            for index in self.about(id, variant) {
                if self.entry(index).is_some_and(|entry| entry.agrees(result)) {
                    return Some(index);
                }
                first = Some(first.map_or(index, |first: usize| first.min(index)));
            }
            first
        })
    }

    /// Returns the most precise entry that selects the case by its id.
    pub fn entry_about(&self, id: &str) -> Option<&Entry> {
        let (id, variant) = Variant::split_id(id);
        self.entry(self.about(id, variant).next()?)
    }

    /// Returns true if an entry may select a case below a group by its id.
    pub(crate) fn may_select_from(&self, group: &str) -> bool {
        self.by_id.values().any(|entries| entries.may_select_from(group))
    }

    fn at_path(&self, path: &str, variant: Variant) -> impl Iterator<Item = usize> {
        self.by_id.get(&variant).into_iter().flat_map(move |entries| entries.named(path))
    }

    /// Returns the positions of the entries that select a case by its id, the most precise first.
    fn about<'a>(&'a self, id: &'a str, variant: Variant) -> impl Iterator<Item = usize> + 'a {
        self.by_id.get(&variant).into_iter().flat_map(move |entries| entries.about(id))
    }

    /// Returns the entry for the outcome and the message of this case.
    fn by_message(&self, result: &CaseResult) -> Option<usize> {
        let mut entries = self.by_message.get(&result.outcome)?.iter().copied();
        entries.find(|&index| self.entry(index).is_some_and(|entry| entry.agrees(result)))
    }

    /// Returns the entry for the missing feature of this case.
    fn by_missing_feature(&self, result: &CaseResult) -> Option<usize> {
        let what = result.missing.as_ref().filter(|_| result.outcome == Outcome::Unsupported)?;
        let glob = || self.feature_globs.iter().find(|glob| glob.matches(what)).map(|glob| glob.index);
        self.features.get(what).copied().or_else(glob)
    }
}

/// A glob over missing features, compiled on first use.
#[derive(Debug)]
struct FeatureGlob {
    index: usize,
    start: String,
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl FeatureGlob {
    fn matches(&self, text: &str) -> bool {
        text.starts_with(&self.start) && self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::{result, unsupported};

    fn matcher(entries: &str) -> ExpectationMatcher {
        let text = format!("runtime: a\nexpect:\n{entries}");
        let file = Expectations::parse("a.yaml", &text).unwrap();
        ExpectationMatcher::new(file, &Declaration::named("a", "1.20.3"), false).unwrap()
    }

    fn check(entries: &str, result: &CaseResult, expected: (Verdict, Option<usize>)) {
        assert_eq!(matcher(entries).verdict(result), expected, "{entries}: {result:?}");
    }

    #[test]
    fn the_most_precise_entry_has_the_result() {
        let entries = "  - {cases: 'a/b/**', outcome: error}\n  - {cases: a/b/c, outcome: crash}\n  \
                       - {unsupported: 'x*'}\n  - {unsupported: xy}\n  - {cases: 'a/b/d*', outcome: mismatch}\n";
        check(entries, &result("a/b/c", Outcome::Crash), (Verdict::ExpectedFailure, Some(1)));
        check(entries, &result("a/b/c", Outcome::Error), (Verdict::Improvement, Some(1)));
        check(entries, &result("a/b/d", Outcome::Error), (Verdict::ExpectedFailure, Some(0)));
        check(entries, &result("a/b/d", Outcome::Mismatch), (Verdict::ExpectedFailure, Some(4)));
        check(entries, &result("a/b/d", Outcome::Timeout), (Verdict::Regression, Some(0)));
        check(entries, &result("a/b/e", Outcome::Pass), (Verdict::Improvement, Some(0)));
        check(entries, &unsupported("a/b/e", "xy"), (Verdict::ExpectedFailure, Some(3)));
        check(entries, &unsupported("a/b/e", "x/z"), (Verdict::ExpectedFailure, Some(2)));
        check(entries, &result("a/c", Outcome::Pass), (Verdict::Pass, None));
        check(entries, &result("a/c", Outcome::Error), (Verdict::Regression, None));
    }

    #[test]
    fn the_path_of_a_group_stands_for_the_group() {
        check(
            "  - {cases: a/b, outcome: error}\n",
            &result("a/b/c/d", Outcome::Error),
            (Verdict::ExpectedFailure, Some(0)),
        );
        check("  - {cases: a/b, outcome: error}\n", &result("a/bc", Outcome::Error), (Verdict::Regression, None));
        check("  - {cases: '**', outcome: error}\n", &result("a", Outcome::Error), (Verdict::ExpectedFailure, Some(0)));
    }

    #[test]
    fn a_message_and_a_kind_of_failure_count() {
        let error = CaseResult { message: "not here: x".to_owned(), ..result("a", Outcome::Error) };
        check("  - {cases: a, outcome: error, message: not here}\n", &error, (Verdict::ExpectedFailure, Some(0)));
        check("  - {cases: a, outcome: error, message: here}\n", &error, (Verdict::Regression, Some(0)));
        let shape = result("a", Outcome::WrongShape);
        check("  - {cases: a, outcome: mismatch}\n", &shape, (Verdict::Regression, Some(0)));
    }

    #[test]
    fn an_entry_is_about_one_variant() {
        let entries = "  - {cases: 'a/**', outcome: error}\n  - {cases: 'a/**@constants', outcome: crash}\n";
        check(entries, &result("a/b", Outcome::Error), (Verdict::ExpectedFailure, Some(0)));
        check(entries, &result("a/b@constants", Outcome::Crash), (Verdict::ExpectedFailure, Some(1)));
        check(entries, &result("a/b@initializers", Outcome::Crash), (Verdict::Regression, None));
        check(entries, &result("a/b@opset=17", Outcome::Error), (Verdict::ExpectedFailure, Some(0)));
    }

    #[test]
    fn a_pattern_is_not_about_cases_outside_of_the_scope() {
        let text = "runtime: a\nscope: ['a/**', '!a/*=string']\nexpect:\n  - {cases: 'a/**', outcome: mismatch}\n  \
                    - {cases: a/T=string, outcome: error}\n";
        let file = Expectations::parse("a.yaml", text).unwrap();
        let matcher = ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap();
        let verdict = |id: &str, outcome| matcher.verdict(&result(id, outcome));
        assert_eq!(verdict("a/T=float", Outcome::Mismatch), (Verdict::ExpectedFailure, Some(0)));
        assert_eq!(verdict("a/T=float", Outcome::Unsupported), (Verdict::Improvement, Some(0)));
        assert_eq!(verdict("a/U=string", Outcome::Unsupported), (Verdict::Regression, None));
        assert_eq!(verdict("a/U=string", Outcome::Pass), (Verdict::Pass, None));
        assert_eq!(verdict("a/T=string", Outcome::Error), (Verdict::ExpectedFailure, Some(1)));
    }

    #[test]
    fn a_condition_that_does_not_hold_takes_its_entry_away() {
        let entry = |versions: &str| format!("  - {{cases: a, outcome: error, when: {{version: '{versions}'}}}}\n");
        check(&entry(">=1.20"), &result("a", Outcome::Error), (Verdict::ExpectedFailure, Some(0)));
        check(&entry("<1.20"), &result("a", Outcome::Error), (Verdict::Regression, None));
        let both = entry("<1.20") + &entry(">=1.20");
        check(&both, &result("a", Outcome::Error), (Verdict::ExpectedFailure, Some(1)));
    }

    #[test]
    fn an_entry_for_other_processors_is_as_if_absent() {
        let text = "runtime: a\nexpect:\n  - {cases: a/x, outcome: error}\n  \
                    - {cases: a/y, outcome: mismatch, when: {cpu: {without: [avx512_vnni, avx_vnni]}}}\n";
        let on = |features: &str| {
            let features: ProcessorFeatures = serde_json::from_str(features).unwrap();
            let file = Expectations::parse("a.yaml", text).unwrap();
            ExpectationMatcher::on_processor(&features, file, &Declaration::named("a", "1"), false).unwrap()
        };
        let (mismatch, pass) = (result("a/y", Outcome::Mismatch), result("a/y", Outcome::Pass));
        let (with, without) = (on(r#"["avx2", "avx_vnni"]"#), on(r#"["avx2"]"#));
        assert_eq!(without.verdict(&mismatch), (Verdict::ExpectedFailure, Some(1)));
        assert_eq!(without.verdict(&pass), (Verdict::Improvement, Some(1)));
        assert_eq!(with.verdict(&mismatch), (Verdict::Regression, None));
        assert_eq!(with.verdict(&pass), (Verdict::Pass, None));
        assert_eq!((with.is_active(1), without.is_active(1)), (false, true));
    }

    #[test]
    fn a_recommendation_is_for_those_who_are_held_to_it() {
        let recommended =
            CaseResult { level: onnx_conformance_cases::case::Level::Recommended, ..result("a", Outcome::Error) };
        check("  []\n", &recommended, (Verdict::NotJudged, None));
        let strict = ExpectationMatcher::new(Expectations::empty("a"), &Declaration::named("a", "1"), true).unwrap();
        assert_eq!(strict.verdict(&recommended), (Verdict::Regression, None));
    }

    #[test]
    fn an_open_case_is_judged_where_the_runtime_gives_no_answer() {
        let open = |outcome| CaseResult { level: onnx_conformance_cases::case::Level::Open, ..result("a/b", outcome) };
        for outcome in [Outcome::Crash, Outcome::Timeout, Outcome::OutOfMemory] {
            check("  []\n", &open(outcome), (Verdict::Regression, None));
            let entry = format!("  - {{cases: a/b, outcome: {outcome}}}\n");
            check(&entry, &open(outcome), (Verdict::ExpectedFailure, Some(0)));
        }
        for outcome in [Outcome::Pass, Outcome::Error, Outcome::Mismatch] {
            check("  []\n", &open(outcome), (Verdict::NotJudged, None));
        }
    }

    #[test]
    fn two_entries_for_the_same_are_refused() {
        let text = "runtime: a\nexpect:\n  - {unsupported: x}\n  - {cases: a, outcome: error}\n  - {unsupported: x}\n";
        let file = Expectations::parse("a.yaml", text).unwrap();
        let error = ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap_err();
        assert!(error.to_string().contains("entry 3: selects the same cases as entry 1"), "{error}");
    }

    #[test]
    fn tens_of_thousands_of_results_meet_thousands_of_entries_quickly() {
        let two = |number: usize| {
            let pattern = |rest: &str| format!("  - {{cases: 'd/Op{number}-1/{rest}', outcome: error}}\n");
            [pattern("*/T=float"), pattern("a/T=int8")].concat()
        };
        let matcher = matcher(&(0..2000).map(two).collect::<String>());
        let met = (0..60_000).filter(|number| {
            let result = result(&format!("d/Op{}-1/a{number}/T=float", number % 2000), Outcome::Error);
            matcher.verdict(&result).0 == Verdict::ExpectedFailure
        });
        assert_eq!(met.count(), 60_000);
    }
}
