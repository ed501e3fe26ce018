//! Creates expectation files from results, or updates existing ones.

use std::collections::{BTreeMap, BTreeSet, btree_map};

use onnx_conformance_cases::case::Variant;
use onnx_conformance_cases::suite::{Filter, WrappedCases, is_glob};

use crate::expectations::answers::OperatorAnswers;
use crate::expectations::entry::{Entry, EntryGroup};
use crate::expectations::file::{ExpectationError, Expectations, Provenance};
use crate::expectations::grouping::{Grouping, group_failures, may_say_why};
use crate::expectations::matcher::ExpectationMatcher;
use crate::expectations::problems::EntryMatches;
use crate::expectations::text::{Change, ExpectationText};
use crate::run::{CaseResult, Header, Outcome, Rewrites, begins_as, common_message};

/// Results of a run of the whole suite in one variant, sorted by id.
#[derive(Debug)]
pub struct WholeRun<'a> {
    /// The results.
    pub results: Vec<CaseResult>,
    /// Variant of the cases.
    pub variant: Variant,
    /// Groups of cases without results. Entries that may cover them are kept.
    pub missing: &'a [String],
    /// Ids of the cases whose outcome differed in several runs. Their result is the worst one.
    pub varying: BTreeSet<String>,
}

impl WholeRun<'_> {
    /// Creates a run in which every case has a result.
    pub fn new(mut results: Vec<CaseResult>, variant: Variant) -> WholeRun<'static> {
        results.sort_by(|a, b| a.id.cmp(&b.id));
        WholeRun { results, variant, missing: &[], varying: BTreeSet::new() }
    }

    /// Creates a run from several runs of the same cases: each case has its worst result.
    pub fn worst_of(runs: Vec<Vec<CaseResult>>, variant: Variant) -> WholeRun<'static> {
        let mut by_id: BTreeMap<String, CaseResult> = BTreeMap::new();
        let mut varying = BTreeSet::new();
        // What an entry may say about the end of a case.
        let end = |result: &CaseResult| {
            let message = may_say_why(result.outcome).then(|| common_message(&result.message, &result.operators()));
            (result.outcome, result.missing.clone(), message)
        };
        let order =
            |result: &CaseResult| (!result.outcome.is_inconclusive(), result.outcome.rank(), result.ulps.is_none());
        for result in runs.into_iter().flatten() {
            match by_id.entry(result.id.clone()) {
                btree_map::Entry::Vacant(free) => drop(free.insert(result)),
                btree_map::Entry::Occupied(mut known) => {
                    if end(known.get()) != end(&result) {
                        varying.insert(result.id.clone());
                    }
                    if order(&result) > order(known.get()) {
                        known.insert(result);
                    }
                }
            }
        }
        WholeRun { results: by_id.into_values().collect(), variant, missing: &[], varying }
    }
}

/// Creates the first expectation file of a runtime, which lists every failure.
pub fn first_expectations(runtime: &str, strict: bool, run: &WholeRun<'_>) -> Expectations {
    let mut expectations = Expectations::empty(runtime);
    (expectations.strict, expectations.expect) = (strict, first_entries(strict, run, false));
    expectations
}

/// Creates the expectation file of a measurement: the exact outcomes of the cases that the header selects, case by case.
pub fn first_measurement(header: &Header, strict: bool, run: &WholeRun<'_>) -> Expectations {
    let mut expectations = Expectations::empty(&header.runtime.name);
    let Provenance { version, date, platform, cpu, suite } = Provenance::from_header(header);
    (expectations.version, expectations.date) = (Some(version), date);
    (expectations.platform, expectations.cpu, expectations.suite) = (Some(platform), cpu, Some(suite));
    (expectations.exact, expectations.strict, expectations.scope) = (true, strict, header.selected.filters.clone());
    expectations.expect = first_entries(strict, run, true);
    expectations.rewrites = Rewrites::of(&run.results).rewritten();
    expectations
}

/// Answers of an earlier measurement of a tool that are kept.
#[derive(Clone, Debug, Default)]
pub struct KeptAnswers {
    /// The answers about parts of the suite that were not sent again. Parts without a judged answer are empty.
    pub parts: BTreeMap<String, OperatorAnswers>,
    /// The variants in which the earlier measurement has answers.
    pub variants: BTreeSet<Variant>,
}

impl KeptAnswers {
    /// Returns true if the answer about a case is kept, by the id with its variant.
    fn contains(&self, id: &str) -> bool {
        self.variants.contains(&Variant::split_id(id).1) && self.parts.contains_key(&answered_part(id))
    }
}

/// Returns the measurement of a tool: its answers to one or more questions about every case. A result that is kept has less
/// information than the kept answers, and counts only for the entries.
pub fn tool_measurement(header: &Header, run: &WholeRun<'_>, kept: &KeptAnswers) -> Expectations {
    let mut operators = kept.parts.clone();
    for result in run.results.iter().filter(|result| result.counts_when_strict()) {
        if !kept.contains(&result.id) {
            operators.entry(answered_part(&result.id)).or_default().count(result);
        }
    }
    operators.retain(|_, answers| !answers.answers.is_empty());
    let mut total = OperatorAnswers::default();
    for answers in operators.values() {
        total.add(answers);
    }
    let mut measurement = first_measurement(header, true, run);
    (measurement.answers, measurement.complete) = (Some(total.answers), total.complete);
    measurement.metadata = total.metadata;
    (measurement.operators, measurement.shard) =
        (Some(operators), header.selected.shard.filter(|shard| !shard.is_whole()));
    measurement
}

/// Returns the part of the suite that a case belongs to: `ai.onnx/Add-13`, `graph/masks/where_chain`, `ir/external`, or the tests of
/// a release.
pub fn answered_part(id: &str) -> String {
    let (plain, _) = Variant::split_id(id);
    // A case between no-ops is counted for its operator version.
    let plain = WrappedCases::plain_id(plain).unwrap_or(plain);
    let parts = if plain.starts_with("graph/") { 3 } else { 2 };
    plain.split('/').take(parts).collect::<Vec<_>>().join("/")
}

/// Returns entries for all failures among these results.
fn first_entries(strict: bool, run: &WholeRun<'_>, exact: bool) -> Vec<Entry> {
    let judged: Vec<&CaseResult> =
        run.results.iter().filter(|result| result.counts(strict) && !result.outcome.is_inconclusive()).collect();
    let failures: Vec<&CaseResult> = judged.iter().copied().filter(|result| result.outcome != Outcome::Pass).collect();
    group_failures(&Grouping { failures: &failures, judged: &judged, exact, varying: &run.varying })
        .into_iter()
        .map(|(entry, _)| entry)
        .collect()
}

/// Updates the text of an expectation file to the results of a whole run. Entries that still hold keep their text, with comments
/// and reasons. An entry that no longer holds is removed, or gets the new outcome if it covers one case. New entries are
/// appended. Entries about ONNX's older releases, which a whole run omits, are kept.
pub fn updated_expectations(
    text: &str,
    matcher: &ExpectationMatcher,
    run: &WholeRun<'_>,
) -> Result<String, ExpectationError> {
    let mut updated = update_once(text, matcher, run)?;
    // A new entry may take cases from an old one.
    for _ in 0..MAX_STEPS {
        let file = Expectations::parse(matcher.expectations().path(), &updated)?;
        let again = update_once(&updated, &matcher.with_entries_of(file)?, run)?;
        if again == updated {
            break;
        }
        updated = again;
    }
    Ok(updated)
}

/// Maximum number of steps of an update.
const MAX_STEPS: usize = 8;

/// Changes the entries that no longer hold, and adds entries for failures that no other entry covers.
fn update_once(text: &str, matcher: &ExpectationMatcher, run: &WholeRun<'_>) -> Result<String, ExpectationError> {
    let expectations = matcher.expectations();
    let lines = ExpectationText::read(text).filter(|lines| lines.len() == expectations.expect.len());
    let lines = lines.ok_or_else(|| ExpectationError::ExpectationText(expectations.path().to_owned()))?;
    let owner = |result: &CaseResult| {
        let entry = matcher.verdict(result).1;
        // A case that varies has an entry of its own, unless it passes at worst: then no entry may cover it.
        let has_own_entry = run.varying.contains(&result.id) && result.outcome != Outcome::Pass;
        let names = |index: &usize| matcher.entry(*index).is_some_and(|entry| entry.names(&result.id));
        entry.filter(|index| !has_own_entry || names(index))
    };
    let assigned: Vec<Assigned<'_>> =
        run.results.iter().map(|result| Assigned { result, entry: owner(result) }).collect();
    let changes = entry_changes(matcher, run, &assigned);
    let new = new_entries(matcher, run, &assigned, &changes);
    Ok(lines.rewritten(&changes, &new))
}

/// A result, with the position of the entry that it belongs to.
struct Assigned<'a> {
    result: &'a CaseResult,
    entry: Option<usize>,
}

/// Decides the change of every entry from the results that belong to it.
fn entry_changes(matcher: &ExpectationMatcher, run: &WholeRun<'_>, assigned: &[Assigned<'_>]) -> Vec<Change> {
    let mut by_entry: BTreeMap<usize, Vec<&CaseResult>> = BTreeMap::new();
    for Assigned { result, entry } in assigned {
        if let Some(index) = entry.filter(|index| matcher.is_about(*index, result)) {
            by_entry.entry(index).or_default().push(result);
        }
    }
    let change = |(index, entry): (usize, &Entry)| {
        let results = by_entry.get(&index).map_or(&[][..], Vec::as_slice);
        let is_tested = matcher.is_active(index) && (!results.is_empty() || variant_of(entry) == run.variant);
        if may_select_from(entry, run.missing) || is_about_older_release(entry) {
            Change::Keep
        } else if matcher.expectations().exact && entry.cases.is_none() {
            // A measurement lists cases, not missing features or messages.
            Change::Drop
        } else if is_tested {
            change_of_tested(entry, matcher, run, results)
        } else {
            Change::Keep
        }
    };
    matcher.expectations().expect.iter().enumerate().map(change).collect()
}

/// Returns true if an entry may match cases of these groups, by name. A missing feature may match any group.
fn may_select_from(entry: &Entry, groups: &[String]) -> bool {
    let Some(pattern) = &entry.cases else { return !groups.is_empty() };
    let (pattern, _) = Variant::split_id(pattern);
    Filter::new(&[pattern]).is_ok_and(|filter| groups.iter().any(|group| filter.may_select_from(group)))
}

/// Returns true if an entry may match cases of ONNX's older releases, which a whole run omits.
fn is_about_older_release(entry: &Entry) -> bool {
    entry.cases.as_ref().is_some_and(|pattern| !Filter::default().selects_all_of(Variant::split_id(pattern).0))
}

/// Returns the variant of the cases that an entry covers.
fn variant_of(entry: &Entry) -> Variant {
    entry.cases.as_ref().map_or(Variant::Runtime, |pattern| Variant::split_id(pattern).1)
}

/// Decides the change of a tested entry from the results that belong to it.
fn change_of_tested(
    entry: &Entry,
    matcher: &ExpectationMatcher,
    run: &WholeRun<'_>,
    results: &[&CaseResult],
) -> Change {
    let judged: Vec<&CaseResult> = results.iter().copied().filter(|result| matcher.judges(result)).collect();
    if !results.is_empty() && judged.is_empty() {
        return Change::Keep;
    }
    let mut matches = EntryMatches::default();
    for result in results {
        matches.add(result, matcher);
    }
    let is_exact = matcher.expectations().exact;
    if let [only] = judged.as_slice()
        && run.varying.contains(&only.id)
        && only.outcome != Outcome::Pass
    {
        return if entry.varies && entry.agrees(only) {
            Change::Keep
        } else {
            let outcome = Some(only.outcome);
            Change::Rewrite(Box::new(Entry { outcome, varies: true, ulp: None, message: None, ..entry.clone() }))
        };
    }
    if !judged.is_empty() && matches.problem(entry).is_none() && judged.iter().all(|result| entry.agrees(result)) {
        return if is_exact && !entry.varies { with_distance(entry, &judged) } else { Change::Keep };
    }
    match judged.as_slice() {
        [only] if entry.names(&only.id) && only.outcome != Outcome::Pass => {
            let message = entry.message.clone().filter(|message| begins_as(&only.message, message));
            let ulp = only.mismatch_ulps().filter(|_| is_exact);
            Change::Rewrite(Box::new(Entry { outcome: Some(only.outcome), ulp, message, ..entry.clone() }))
        }
        _ => Change::Drop,
    }
}

/// Decides the change of an entry of a measurement whose outcome still holds: its distance becomes that of its cases.
/// If only some of them are inexact, the entry is replaced.
fn with_distance(entry: &Entry, judged: &[&CaseResult]) -> Change {
    let distances: Vec<u64> = judged.iter().filter_map(|result| result.mismatch_ulps()).collect();
    let ulp = distances.iter().max().copied();
    if ulp.is_some() && distances.len() < judged.len() {
        Change::Drop
    } else if ulp == entry.ulp {
        Change::Keep
    } else {
        Change::Rewrite(Box::new(Entry { ulp, ..entry.clone() }))
    }
}

/// Returns entries for the judged failures that no remaining entry covers.
fn new_entries(
    matcher: &ExpectationMatcher,
    run: &WholeRun<'_>,
    assigned: &[Assigned<'_>],
    changes: &[Change],
) -> Vec<Entry> {
    let judged: Vec<&Assigned<'_>> = assigned.iter().filter(|assigned| matcher.judges(assigned.result)).collect();
    let is_dropped = |index: usize| changes.get(index) == Some(&Change::Drop);
    let is_uncovered =
        |assigned: &&&Assigned<'_>| assigned.result.outcome != Outcome::Pass && assigned.entry.is_none_or(is_dropped);
    let uncovered: Vec<&Assigned<'_>> = judged.iter().filter(is_uncovered).copied().collect();
    let failures: Vec<&CaseResult> = uncovered.iter().map(|assigned| assigned.result).collect();
    // A case with a separate entry is excluded from every group.
    let has_separate_entry = |assigned: &Assigned<'_>| {
        assigned.entry.is_some_and(|index| !is_dropped(index) && !matcher.entry(index).is_some_and(is_for_group))
    };
    let groupable: Vec<&CaseResult> =
        judged.iter().filter(|assigned| !has_separate_entry(assigned)).map(|assigned| assigned.result).collect();
    let old_entries: Vec<Option<&Entry>> =
        uncovered.iter().map(|assigned| assigned.entry.and_then(|index| matcher.entry(index))).collect();
    let exact = matcher.expectations().exact;
    let groups = group_failures(&Grouping { failures: &failures, judged: &groupable, exact, varying: &run.varying });
    groups.into_iter().map(|group| with_reason(group, &old_entries)).collect()
}

/// Returns true if an entry selects cases by a pattern with wildcards.
fn is_for_group(entry: &Entry) -> bool {
    entry.cases.as_deref().is_some_and(is_glob)
}

/// Copies the reason and address of its cases' old entries to a new entry, and whether they blame the binding, if they all had the
/// same.
fn with_reason((entry, cases): EntryGroup, old_entries: &[Option<&Entry>]) -> Entry {
    let reason = |old: &Entry| (old.reason.clone(), old.url.clone(), old.binding);
    let mut reasons = cases.iter().map(|&index| old_entries.get(index).copied().flatten().map(reason));
    match reasons.next().flatten() {
        Some(first) if reasons.all(|reason| reason.as_ref() == Some(&first)) => {
            let (reason, url, binding) = first;
            Entry { binding, reason, url, ..entry }
        }
        _ => entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectations::{Conclusion, GateResult, Scope};
    use crate::run::test_results::{result, unsupported};
    use onnx_conformance_subject::Declaration;

    fn matcher(text: &str) -> ExpectationMatcher {
        let file = Expectations::parse("a.yaml", text).unwrap();
        ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap()
    }

    fn conclusion(text: &str, results: &[CaseResult]) -> Conclusion {
        let (matcher, mut gate_result) = (matcher(text), GateResult::default());
        for result in results {
            gate_result.add_result(result, &matcher);
        }
        gate_result.finish(&matcher, &Scope { filter: Some(&Filter::default()), variant: Variant::Runtime });
        gate_result.conclusion()
    }

    fn update(text: &str, results: &[CaseResult]) -> Result<String, ExpectationError> {
        updated_expectations(text, &matcher(text), &WholeRun::new(results.to_vec(), Variant::Runtime))
    }

    /// Updates a file, checks the new text, and compares it with the results.
    fn check(text: &str, results: &[CaseResult], expected: &str) {
        let new = update(text, results).unwrap();
        assert_eq!(new, expected);
        assert_eq!(conclusion(&new, results), Conclusion::AsExpected);
        assert_eq!(update(&new, results).unwrap(), new);
    }

    #[test]
    fn valid_entries_stay_and_others_are_replaced() {
        let results = [
            result("d/A-1/x", Outcome::Error),
            result("d/A-1/y", Outcome::Crash),
            result("d/A-1/z", Outcome::Pass),
            result("d/B-1/x/s", Outcome::Error),
            result("d/B-1/x/t", Outcome::Crash),
            result("d/B-1/y", Outcome::Pass),
            result("d/C-1/x", Outcome::Mismatch),
            unsupported("d/D-1/x", "operator d/D"),
        ];
        check(
            "# Ours.\nruntime: a\nexpect:\n  # x fails\n  - {cases: d/A-1/x, outcome: error, reason: known}\n  \
             # y fails\n  - {cases: d/A-1/y, outcome: error, url: u}\n  # z fails\n  \
             - {cases: d/A-1/z, outcome: error}\n  # all of B\n  - {cases: 'd/B-1/x/**', outcome: error, reason: B}\n  \
             # gone\n  - {unsupported: operator d/E}\n  - {cases: e, outcome: error, when: {platform: none}}\n",
            &results,
            "# Ours.\nruntime: a\nexpect:\n  # x fails\n  - {cases: d/A-1/x, outcome: error, reason: known}\n  \
             # y fails\n  - {cases: d/A-1/y, outcome: crash, url: u}\n  # gone\n  \
             - {cases: e, outcome: error, when: {platform: none}}\n  - {unsupported: operator d/D}\n  \
             - {cases: d/B-1/x/s, outcome: error, reason: B}\n  - {cases: d/B-1/x/t, outcome: crash, reason: B}\n  \
             - {cases: d/C-1/x, outcome: mismatch}\n",
        );
    }

    #[test]
    fn a_measurement_gets_the_distances_of_its_cases() {
        let mismatch = |id: &str, ulps| CaseResult { ulps, ..result(id, Outcome::Mismatch) };
        let results = [
            mismatch("d/A-1/x", Some(2)),
            mismatch("d/A-1/y", None),
            result("d/A-1/z", Outcome::Pass),
            mismatch("d/B-1/x/s", Some(1)),
            mismatch("d/B-1/x/t", Some(4)),
            result("d/B-1/y", Outcome::Pass),
            mismatch("d/C-1/x/s", Some(1)),
            mismatch("d/C-1/x/t", None),
            result("d/C-1/y", Outcome::Pass),
            CaseResult { ulps: Some(7), ..result("d/D-1/x", Outcome::Error) },
            mismatch("d/E-1/x", Some(9)),
        ];
        let head = "runtime: a\nversion: 1\nexact: true\nexpect:\n";
        check(
            &format!(
                "{head}  - {{cases: d/A-1/x, outcome: mismatch, ulp: 1, reason: known}}\n  \
                 - {{cases: d/A-1/y, outcome: mismatch, ulp: 1}}\n  - {{cases: 'd/B-1/x/**', outcome: mismatch}}\n  \
                 - {{cases: 'd/C-1/x/**', outcome: mismatch, ulp: 1, reason: C}}\n  \
                 - {{cases: d/D-1/x, outcome: mismatch, ulp: 1}}\n  - {{cases: d/E-1/x, outcome: error}}\n"
            ),
            &results,
            &format!(
                "{head}  - {{cases: d/A-1/x, outcome: mismatch, ulp: 2, reason: known}}\n  \
                 - {{cases: d/A-1/y, outcome: mismatch}}\n  - {{cases: \"d/B-1/x/**\", outcome: mismatch, ulp: 4}}\n  \
                 - {{cases: d/D-1/x, outcome: error}}\n  - {{cases: d/E-1/x, outcome: mismatch, ulp: 9}}\n  \
                 - {{cases: d/C-1/x/s, outcome: mismatch, ulp: 1, reason: C}}\n  \
                 - {{cases: d/C-1/x/t, outcome: mismatch, reason: C}}\n"
            ),
        );
    }

    #[test]
    fn a_distance_is_no_expectation() {
        let near = [CaseResult { ulps: Some(3), ..result("d/A-1/x", Outcome::Mismatch) }];
        let far = [result("d/A-1/x", Outcome::Mismatch)];
        let text = "runtime: a\nexpect:\n  - {cases: d/A-1/x, outcome: mismatch, ulp: 1}\n";
        for text in [text.to_owned(), text.replace("runtime: a\n", "runtime: a\nversion: 1\nexact: true\n")] {
            assert_eq!(conclusion(&text, &near), Conclusion::AsExpected);
            assert_eq!(conclusion(&text, &far), Conclusion::AsExpected);
        }
        // Only a measurement has distances that the program writes.
        check(text, &near, text);
        check("runtime: a\nexpect: []\n", &near, &text.replace(", ulp: 1", ""));
    }

    #[test]
    fn no_group_covers_a_case_that_passes_or_is_not_sent() {
        let run = |outcome| {
            let case = |id: &str, outcome| result(&format!("d/A-1/{id}"), outcome);
            vec![case("x", outcome), case("y", Outcome::Error), case("z", Outcome::Error)]
        };
        let text = "runtime: a\nexpect:\n  - {cases: 'd/A-1/**', outcome: error}\n";
        let runs = [run(Outcome::NotApplicable), run(Outcome::Pass)];
        let worst = WholeRun::worst_of(runs.to_vec(), Variant::Runtime);
        let new = updated_expectations(text, &matcher(text), &worst).unwrap();
        let entry = |id: &str| format!("  - {{cases: d/A-1/{id}, outcome: error}}\n");
        assert_eq!(new, format!("runtime: a\nexpect:\n{}{}", entry("y"), entry("z")));
        for run in runs {
            assert_eq!(conclusion(&new, &run), Conclusion::AsExpected);
        }
    }

    #[test]
    fn groups_without_results_keep_their_entries() {
        let text = "runtime: a\nexpect:\n  - {cases: d/A-1/x, outcome: error}\n  - {cases: 'd/A-*/y', outcome: error}\n  \
                    - {cases: d/B-1/x, outcome: crash}\n  - {unsupported: operator d/C}\n";
        let update = |missing: &[String]| {
            let run = WholeRun::new(vec![result("d/D-1/x", Outcome::Pass)], Variant::Runtime);
            updated_expectations(text, &matcher(text), &WholeRun { missing, ..run })
        };
        assert_eq!(update(&[]).unwrap(), "runtime: a\nexpect: []\n");
        let kept = text.replace("  - {cases: d/B-1/x, outcome: crash}\n", "");
        assert_eq!(update(&["d/A-1".to_owned()]).unwrap(), kept);
    }

    #[test]
    fn a_first_file_holds() {
        const TYPES: [&str; 4] = ["float", "int8", "bfloat16", "string"];
        const OPERATORS: [&str; 2] = ["A", "B"];
        let outcomes = [Outcome::Pass, Outcome::Error, Outcome::Error, Outcome::Mismatch, Outcome::Unsupported];
        for seed in 0..40_usize {
            let case = |index: usize| {
                let id = format!("d/{}-{}/{}/T={}", OPERATORS[index % 2], index / 2 % 3, index / 6 % 3, index / 18);
                match outcomes
                    [(index * index * (seed + 3) + index * seed * 7 + index / (1 + seed % 5)) % outcomes.len()]
                {
                    Outcome::Unsupported => unsupported(
                        &id,
                        &format!("tensor({}) in d/{}-{}", TYPES[index % 4], OPERATORS[index % 2], index % 3),
                    ),
                    outcome => result(&id, outcome),
                }
            };
            let results: Vec<CaseResult> = (0..60).map(case).collect();
            let text = first_expectations("a", false, &WholeRun::new(results.clone(), Variant::Runtime)).to_yaml();
            assert_eq!(conclusion(&text, &results), Conclusion::AsExpected, "{text}");
            let empty = "runtime: a\nexpect: []\n";
            let updated = update(empty, &results).unwrap();
            assert_eq!(conclusion(&updated, &results), Conclusion::AsExpected, "{updated}");
            let next: Vec<CaseResult> =
                (5..60).map(|index| CaseResult { id: results[index].id.clone(), ..case(index - 5) }).collect();
            let text = update(&text, &next).unwrap();
            assert_eq!(conclusion(&text, &next), Conclusion::AsExpected, "{text}");
        }
    }

    #[test]
    fn a_file_that_is_written_otherwise_is_left_alone() {
        let text = "runtime: a\nexpect: [{cases: x, outcome: error}]\n";
        let error = update(text, &[]).unwrap_err();
        assert!(error.to_string().contains("one `- ` line per entry"), "{error}");
    }
}
