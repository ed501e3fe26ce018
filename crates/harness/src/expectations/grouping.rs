//! Groups many failures into few entries: one per missing feature, and one per group of cases with the same outcome.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{CaseId, Cell, Level, Variant, folders};
use onnx_conformance_cases::suite::WrappedCases;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_subject::{MissingFeature, OperatorName};

use crate::expectations::entry::{Entry, EntryGroup, literal};
use crate::expectations::sharing::join_similar;
use crate::run::{CaseResult, Outcome, common_message};

/// A missing feature in the runtime's wording, and the positions of its failures.
type Missing<'a> = (&'a str, Vec<usize>);

/// Failures to group.
pub(super) struct Grouping<'a> {
    /// The failures.
    pub(super) failures: &'a [&'a CaseResult],
    /// All results that an entry for a group could cover, failures included.
    pub(super) judged: &'a [&'a CaseResult],
    /// True if all entries are for ids, and a mismatch that is only inexact does not end like others.
    pub(super) exact: bool,
    /// Ids of the cases whose outcome differs from run to run. Each has a separate entry.
    pub(super) varying: &'a BTreeSet<String>,
}

/// Returns the entries for failures. A group gets one entry only if all its cases fail in the same way.
pub(super) fn group_failures(given: &Grouping<'_>) -> Vec<EntryGroup> {
    let Grouping { failures, judged, exact, varying } = *given;
    // A case that passes at worst has no entry, and no group may cover it.
    let varies = |result: &CaseResult| result.outcome != Outcome::Pass && varying.contains(&result.id);
    let has_reason = |result: &CaseResult| !exact && result.outcome == Outcome::Unsupported && result.missing.is_some();
    let (alone, others): (Vec<usize>, Vec<usize>) = (0..failures.len()).partition(|&index| varies(failures[index]));
    let (unsupported, others): (Vec<usize>, Vec<usize>) =
        others.into_iter().partition(|&index| has_reason(failures[index]));
    let mut groups = group_by_feature(failures, &unsupported, judged);
    if !exact {
        groups.extend(group_by_message(failures, &others));
    }
    let covered: BTreeSet<usize> = groups.iter().flat_map(|(_, cases)| cases).copied().collect();
    let others: Vec<usize> = others.into_iter().filter(|index| !covered.contains(index)).collect();
    let covered: BTreeSet<&str> = covered.iter().map(|&index| failures[index].id.as_str()).collect();
    let is_left = |result: &&CaseResult| !covered.contains(result.id.as_str()) && !varies(result);
    let judged: Vec<&CaseResult> = judged.iter().copied().filter(is_left).collect();
    groups.extend(group_by_id(failures, &others, &judged, exact));
    groups.extend(alone.into_iter().map(|index| {
        let CaseResult { id, outcome, .. } = failures[index];
        (Entry { varies: true, ..Entry::ending(escaped(id), *outcome) }, vec![index])
    }));
    if !exact {
        groups = join_similar(groups);
    }
    for (entry, cases) in &mut groups {
        let is_one_feature = entry.unsupported.as_deref().and_then(literal).is_some();
        entry.spans_operators = !is_one_feature && have_several_operators(failures, cases);
    }
    groups
}

/// Minimum number of cases for an entry by outcome and message.
const MIN_CASES_OF_MESSAGE: usize = 5;

/// Number of letters that a pattern of messages has at least.
const MIN_LETTERS: usize = 12;

/// Returns true if the message of a failure may state the reason: the message of an error, or about an output's type.
/// Wrong values of two operators have nothing in common but the words.
pub(super) fn may_say_why(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Error | Outcome::WrongType)
}

/// Returns an entry per message that several cases have in common, if it may be the reason.
fn group_by_message(failures: &[&CaseResult], others: &[usize]) -> Vec<EntryGroup> {
    let mut by_message: BTreeMap<(String, Outcome), Vec<usize>> = BTreeMap::new();
    for &index in others {
        let CaseResult { outcome, message, .. } = failures[index];
        let pattern = common_message(message, &failures[index].operators());
        if may_say_why(*outcome) && pattern.chars().filter(|c| c.is_alphabetic()).count() >= MIN_LETTERS {
            by_message.entry((pattern, *outcome)).or_default().push(index);
        }
    }
    let (mut groups, mut covered) = (Vec::new(), BTreeSet::new());
    // The first entry that a message matches has the case.
    for ((pattern, outcome), _) in by_message.iter().filter(|(_, cases)| cases.len() >= MIN_CASES_OF_MESSAGE) {
        let entry = Entry::with_message(pattern.clone(), *outcome);
        let matches = |index: &usize| !covered.contains(index) && entry.agrees(failures[*index]);
        let cases: Vec<usize> = others.iter().copied().filter(matches).collect();
        covered.extend(cases.iter().copied());
        if !cases.is_empty() {
            groups.push((entry, cases));
        }
    }
    groups
}

/// Returns true if some of these cases have no operator in common.
fn have_several_operators(failures: &[&CaseResult], cases: &[usize]) -> bool {
    let mut operators = cases.iter().map(|&index| failures[index].operators()).filter(|names| !names.is_empty());
    let first = operators.next().unwrap_or_default();
    !first.is_empty() && operators.fold(first, |common, names| &common & &names).is_empty()
}

/// Returns an entry per missing feature. A type is a single feature if no case with it passes, regardless of the operator. The
/// versions of an operator are a single feature if no case of the operator, with the type, passes. A feature in none of the
/// documented forms gets a separate entry.
fn group_by_feature(failures: &[&CaseResult], unsupported: &[usize], judged: &[&CaseResult]) -> Vec<EntryGroup> {
    let passing = judged.iter().filter(|result| result.outcome == Outcome::Pass);
    let features =
        CaseFeatures::from_cells(passing.flat_map(|result| result.executed_cells.iter().chain(&result.declared_cells)));
    let mut by_text: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for &index in unsupported {
        by_text.entry(failures[index].missing.as_deref().unwrap_or_default()).or_default().push(index);
    }
    let mut by_pattern: BTreeMap<String, Vec<Missing<'_>>> = BTreeMap::new();
    let mut groups = Vec::new();
    for (text, cases) in by_text {
        match text.parse().ok().and_then(|feature| features.pattern(&feature)) {
            Some(pattern) => by_pattern.entry(pattern).or_default().push((text, cases)),
            None => groups.push((Entry::unsupported(&escaped(text)), cases)),
        }
    }
    for (pattern, missing) in by_pattern {
        let entry = match missing.as_slice() {
            [(text, _)] => Entry::unsupported(&escaped(text)),
            _ => Entry::unsupported(&pattern),
        };
        groups.push((entry, missing.into_iter().flat_map(|(_, cases)| cases).collect()));
    }
    groups.sort_by(|(a, _), (b, _)| a.unsupported.cmp(&b.unsupported));
    groups
}

/// Features of the passing cases.
#[derive(Default)]
struct CaseFeatures {
    elements: BTreeSet<ElementType>,
    /// Domains and names.
    operators: BTreeSet<(String, String)>,
    types: BTreeMap<(String, String), BTreeSet<ValueType>>,
}

impl CaseFeatures {
    /// Reads operator versions and type cells.
    fn from_cells<'a>(cells: impl Iterator<Item = &'a String>) -> CaseFeatures {
        let mut features = CaseFeatures::default();
        // Cases share most of their cells.
        let cells: BTreeSet<&String> = cells.collect();
        for cell in cells.into_iter().filter_map(|cell| cell.parse::<Cell>().ok()) {
            let version = cell.version();
            let operator = (version.domain.clone(), version.name.clone());
            features.operators.insert(operator.clone());
            if let Cell::Type(cell) = cell {
                features.elements.insert(cell.value_type.element_type());
                features.types.entry(operator).or_default().insert(cell.value_type);
            }
        }
        features
    }

    /// Returns the pattern of the wider feature that contains a missing one, unless some case with that feature passes.
    fn pattern(&self, missing: &MissingFeature) -> Option<String> {
        match missing {
            MissingFeature::Type(value_type @ ValueType::Tensor(element), _) if !self.elements.contains(element) => {
                Some(format!("{}*", escaped(&value_type.to_string())))
            }
            MissingFeature::Type(value_type, Some(operator)) => {
                let types = self.types.get(&(operator.domain.clone(), operator.name.clone()));
                let passes = types.is_some_and(|types| types.contains(value_type));
                let pattern = |versions| MissingFeature::Type(value_type.clone(), Some(versions));
                all_versions(operator).filter(|_| !passes).map(|versions| every_version(&pattern(versions)))
            }
            MissingFeature::Operator(operator) => {
                let passes = self.operators.contains(&(operator.domain.clone(), operator.name.clone()));
                let versions = all_versions(operator).filter(|_| !passes)?;
                Some(every_version(&MissingFeature::Operator(versions)))
            }
            _ => None,
        }
    }
}

/// Returns the operator without its version.
fn all_versions(operator: &OperatorName) -> Option<OperatorName> {
    operator.since.map(|_| OperatorName { since: None, ..operator.clone() })
}

/// Returns a pattern for the missing feature in every version of one operator.
fn every_version(missing: &MissingFeature) -> String {
    format!("{}-*", escaped(&missing.to_string()))
}

/// A group of cases and its pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// All versions of an operator.
    Operator(String),
    /// All cases below a folder, by its depth.
    Folder(usize, String),
    /// All cases of a unit that have a part of this name, such as a type.
    Part(String, String),
    /// All cases below a folder in every version of an operator, or a case in every version.
    InVersions(String, String),
    /// All cases of an operator, in every version, that have a part of this name, such as a type.
    PartInVersions(String, String),
}

impl Group {
    /// Returns the groups of a case, by its id without a variant.
    fn all(id: &str) -> Vec<Group> {
        let id = CaseId::parse(id);
        let mut groups = Vec::new();
        let min_depth = match id.version() {
            Some(version) => {
                let operator = format!("{}/{}", version.domain, version.name);
                let inside = id.path.strip_prefix(id.group()).unwrap_or_default().trim_start_matches('/');
                let inside = folders(inside).map(|folder| format!("{folder}/**")).chain([escaped(inside)]);
                groups.extend(inside.map(|inside| Group::InVersions(operator.clone(), inside)));
                let parts = id.parts().skip(2);
                groups.extend(parts.map(|part| Group::PartInVersions(operator.clone(), part.to_owned())));
                groups.push(Group::Operator(operator));
                groups.extend(id.parts().skip(2).map(|part| Group::Part(id.group().to_owned(), part.to_owned())));
                2
            }
            // Vendored folders with fewer than three parts contain tests of several operators, and so do folders of a
            // domain between no-ops: `graph/wrapped/ai.onnx`.
            None if WrappedCases::plain_id(id.path).is_some() => 4,
            None => 3,
        };
        let folders = id.folders().enumerate().map(|(index, folder)| (index + 1, folder));
        let folders = folders.filter(|(depth, _)| *depth >= min_depth);
        groups.extend(folders.map(|(depth, folder)| Group::Folder(depth, folder.to_owned())));
        groups
    }

    fn pattern(&self) -> String {
        match self {
            Group::Operator(operator) => format!("{}-*/**", escaped(operator)),
            Group::InVersions(operator, inside) => format!("{}-*/{inside}", escaped(operator)),
            Group::PartInVersions(operator, part) => format!("{}-*/**/{}", escaped(operator), escaped(part)),
            Group::Folder(_, folder) => format!("{}/**", escaped(folder)),
            Group::Part(unit, part) => format!("{}/**/{}", escaped(unit), escaped(part)),
        }
    }
}

/// Escapes a text as a glob that matches only itself.
fn escaped(text: &str) -> String {
    globset::escape(text)
}

/// Returns an entry per group of cases with the same ending, for the widest possible groups. A case of level `open` is
/// judged only if it ends without an answer. It therefore gets a separate entry and is not counted in its group. With
/// `exact`, an entry has the distance of its cases.
fn group_by_id(failures: &[&CaseResult], others: &[usize], judged: &[&CaseResult], exact: bool) -> Vec<EntryGroup> {
    let is_open = |result: &CaseResult| result.level == Level::Open;
    let mut sizes: BTreeMap<(Group, Variant), usize> = BTreeMap::new();
    for result in judged.iter().filter(|result| !is_open(result)) {
        let (id, variant) = Variant::split_id(&result.id);
        for group in Group::all(id) {
            *sizes.entry((group, variant)).or_default() += 1;
        }
    }
    let mut members: BTreeMap<(Group, Variant), Vec<usize>> = BTreeMap::new();
    for &index in others.iter().filter(|&&index| !is_open(failures[index])) {
        let (id, variant) = Variant::split_id(&failures[index].id);
        for group in Group::all(id) {
            members.entry((group, variant)).or_default().push(index);
        }
    }
    let ulp_of = |index: usize| failures[index].mismatch_ulps().filter(|_| exact);
    members.retain(|group, cases| {
        let ended = |&index: &usize| (failures[index].outcome, ulp_of(index).is_some());
        let ends: BTreeSet<(Outcome, bool)> = cases.iter().map(ended).collect();
        ends.len() == 1 && sizes.get(group) == Some(&cases.len())
    });
    let entry = |pattern: String, cases: &[usize]| {
        let outcome = cases.first().map(|&first| failures[first].outcome);
        let ulp = cases.iter().filter_map(|&index| ulp_of(index)).max();
        Entry { cases: Some(pattern), outcome, ulp, ..Entry::default() }
    };
    let mut remaining: BTreeSet<usize> = others.iter().copied().collect();
    let mut groups = Vec::new();
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by_key(|(_, cases)| Reverse(cases.len()));
    for ((group, variant), cases) in members {
        let cases: Vec<usize> = cases.into_iter().filter(|index| remaining.contains(index)).collect();
        if cases.len() > 1 {
            for index in &cases {
                remaining.remove(index);
            }
            groups.push((entry(variant.id(&group.pattern()), &cases), cases));
        }
    }
    let alone = |index: usize| (entry(escaped(&failures[index].id), &[index]), vec![index]);
    groups.extend(remaining.into_iter().map(alone));
    groups.sort_by(|(a, _), (b, _)| a.cases.cmp(&b.cases));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::{result, unsupported};

    fn check(results: &[CaseResult], expected: &[&str]) {
        let judged: Vec<&CaseResult> = results.iter().collect();
        let failures: Vec<&CaseResult> = results.iter().filter(|result| result.outcome != Outcome::Pass).collect();
        let given = Grouping { failures: &failures, judged: &judged, exact: false, varying: &BTreeSet::new() };
        let groups = group_failures(&given);
        assert_eq!(groups.iter().map(|(entry, _)| entry.to_yaml()).collect::<Vec<_>>(), expected);
        let mut covered: Vec<usize> = groups.into_iter().flat_map(|(_, cases)| cases).collect();
        covered.sort_unstable();
        assert_eq!(covered, (0..failures.len()).collect::<Vec<_>>());
    }

    #[test]
    fn no_entry_covers_the_cases_of_a_domain_between_no_ops() {
        check(
            &[
                result("graph/wrapped/d/A-1/x/T=1", Outcome::Error),
                result("graph/wrapped/d/A-1/x/T=2", Outcome::Error),
                result("graph/wrapped/d/B-1/x/T=1", Outcome::Error),
                result("graph/wrapped/d/B-1/x/T=2", Outcome::Error),
            ],
            &["{cases: \"graph/wrapped/d/{A-1,B-1}/**\", outcome: error}"],
        );
    }

    #[test]
    fn an_open_case_without_an_answer_has_an_entry_of_its_own() {
        let open = |id: &str| CaseResult { level: Level::Open, ..result(id, Outcome::Crash) };
        check(
            &[
                open("d/A-1/x/T=1"),
                open("d/A-1/x/T=2"),
                result("d/A-1/y/T=1", Outcome::Error),
                result("d/A-1/y/T=2", Outcome::Error),
            ],
            &[
                "{cases: \"d/A-*/**\", outcome: error}",
                "{cases: d/A-1/x/T=1, outcome: crash}",
                "{cases: d/A-1/x/T=2, outcome: crash}",
            ],
        );
    }

    #[test]
    fn a_type_that_no_passing_case_has_is_one_thing_to_lack() {
        let pass = CaseResult {
            declared_cells: vec!["d/A-1 T=tensor(double)".to_owned()],
            ..result("d/A-1/p", Outcome::Pass)
        };
        check(
            &[
                unsupported("d/A-1/x", "tensor(bfloat16) in d/A-1"),
                unsupported("d/B-1/x", "tensor(bfloat16) in d/B-1"),
                unsupported("d/A-1/y", "tensor(double) in d/A-1"),
                unsupported("d/B-1/y", "tensor(double) in d/B-1"),
                unsupported("d/B-1/z", "operator d/B"),
                unsupported("d/B-1/w", "operator d/B"),
                unsupported("d/C-1/w", "operator d/C-1"),
                unsupported("d/C-6/w", "operator d/C-6"),
                unsupported("d/A-1/v", "operator d/A-1"),
                unsupported("d/A-6/v", "operator d/A-6"),
                unsupported("d/D-1/v", "tensor(double) in d/D-1"),
                unsupported("d/D-6/v", "tensor(double) in d/D-6"),
                pass,
            ],
            &[
                "{unsupported: operator d/A-1}",
                "{unsupported: operator d/A-6}",
                "{unsupported: operator d/B}",
                "{unsupported: \"operator d/C-*\"}",
                "{unsupported: \"tensor(bfloat16)*\", spans_operators: true}",
                "{unsupported: \"tensor(double) in d/{A-1,B-1,D-*}\", spans_operators: true}",
            ],
        );
    }

    #[test]
    fn cases_with_the_same_outcome_share_the_widest_entry() {
        let error = |id: &str| result(id, Outcome::Error);
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/b/T=x"), error("d/A-6/a/T=x"), result("d/B-1/a", Outcome::Pass)],
            &["{cases: \"d/A-*/**\", outcome: error}"],
        );
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/b/T=x"), result("d/A-6/a/T=x", Outcome::Pass)],
            &["{cases: \"d/A-1/**\", outcome: error}"],
        );
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/b/T=x"), result("d/A-1/b/T=y", Outcome::Pass)],
            &["{cases: \"d/A-1/**/T=x\", outcome: error}"],
        );
        check(
            &[error("d/A-1/a/T=x"), error("d/A-1/a/T=y"), result("d/A-1/b/T=y", Outcome::Crash)],
            &["{cases: \"d/A-1/a/**\", outcome: error}", "{cases: d/A-1/b/T=y, outcome: crash}"],
        );
        check(
            &[error("onnx-1/node/test_a"), error("onnx-1/node/test_b")],
            &["{cases: onnx-1/node/test_a, outcome: error}", "{cases: onnx-1/node/test_b, outcome: error}"],
        );
    }

    #[test]
    fn an_exact_file_lists_single_cases() {
        let results = [
            unsupported("d/A-1/x", "operator d/A-1"),
            unsupported("d/B-1/x", "operator d/B-1"),
            result("d/B-1/y", Outcome::Pass),
        ];
        let judged: Vec<&CaseResult> = results.iter().collect();
        let groups = group_failures(&Grouping {
            failures: &judged[..2],
            judged: &judged,
            exact: true,
            varying: &BTreeSet::new(),
        });
        let lines: Vec<String> = groups.iter().map(|(entry, _)| entry.to_yaml()).collect();
        assert_eq!(lines, ["{cases: d/A-1/x, outcome: unsupported}", "{cases: d/B-1/x, outcome: unsupported}"]);
    }

    #[test]
    fn an_exact_file_separates_inexact_cases_from_wrong_ones() {
        let mismatch = |id: &str, ulps| CaseResult { ulps, ..result(id, Outcome::Mismatch) };
        let results = [
            mismatch("d/A-1/x/T=1", Some(1)),
            mismatch("d/A-1/x/T=2", Some(3)),
            mismatch("d/A-1/y/T=1", None),
            mismatch("d/A-1/y/T=2", None),
            mismatch("d/A-1/z/T=1", Some(2)),
            mismatch("d/A-1/z/T=2", None),
            CaseResult { ulps: Some(5), ..result("d/B-1/x", Outcome::Pass) },
            CaseResult { ulps: Some(5), ..result("d/B-1/y", Outcome::Error) },
        ];
        let judged: Vec<&CaseResult> = results.iter().collect();
        let failures: Vec<&CaseResult> = results.iter().filter(|result| result.outcome != Outcome::Pass).collect();
        let lines = |exact| -> Vec<String> {
            group_failures(&Grouping { failures: &failures, judged: &judged, exact, varying: &BTreeSet::new() })
                .iter()
                .map(|(entry, _)| entry.to_yaml())
                .collect()
        };
        assert_eq!(
            lines(true),
            [
                "{cases: \"d/A-1/x/**\", outcome: mismatch, ulp: 3}",
                "{cases: \"d/A-1/y/**\", outcome: mismatch}",
                "{cases: d/A-1/z/T=1, outcome: mismatch, ulp: 2}",
                "{cases: d/A-1/z/T=2, outcome: mismatch}",
                "{cases: d/B-1/y, outcome: error}",
            ]
        );
        assert_eq!(lines(false), ["{cases: \"d/A-*/**\", outcome: mismatch}", "{cases: d/B-1/y, outcome: error}"]);
    }

    #[test]
    fn variants_are_listed_apart() {
        let error = |id: &str| result(id, Outcome::Error);
        check(
            &[error("d/A-1/a@constants"), error("d/A-1/b@constants"), result("d/A-1/a", Outcome::Pass)],
            &["{cases: \"d/A-*/**@constants\", outcome: error}"],
        );
        check(&[error("a[b")], &["{cases: \"a[[]b\", outcome: error}"]);
    }
}
