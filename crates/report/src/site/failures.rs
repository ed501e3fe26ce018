//! Failures of each column by behaviour, changes since the previous release, and behaviours where runtimes agree against the text.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use onnx_conformance_cases::case::Level;
use onnx_conformance_harness::measure::{Measured, Severity};
use serde::Serialize;

use crate::site::columns::ShownColumns;
use crate::site::operator::letter;
use crate::site::severity::Ending;
use crate::site::table::VersionTable;
use crate::site::together::Together;

/// A failing behaviour on a column, for all versions with the same outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    /// The operator, such as `ai.onnx/Conv`. The page of a runtime has its failures by operator.
    #[serde(skip)]
    pub(crate) operator: String,
    #[serde(rename = "v")]
    pub(crate) versions: Vec<u32>,
    #[serde(rename = "b")]
    pub(crate) behaviour: String,
    /// The letter of the worst severity.
    #[serde(rename = "s")]
    pub(crate) state: char,
    /// True if the standard requires it, which the data omits.
    #[serde(skip_serializing_if = "bool::clone")]
    pub(crate) required: bool,
    /// Number of cases with this outcome, and number of judged cases.
    #[serde(rename = "n")]
    pub(crate) count: (usize, usize),
    /// Letter of the worst outcome.
    #[serde(rename = "o")]
    pub(crate) outcome: char,
    /// Types of these cases, for the first type parameter. The page of a runtime has each list once.
    #[serde(skip)]
    pub(crate) types: BTreeSet<String>,
}

/// A behaviour with a different outcome than in the previous release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Changed {
    #[serde(rename = "op")]
    pub(crate) operator: String,
    pub(crate) since: u32,
    #[serde(rename = "b")]
    pub(crate) behaviour: String,
    /// Letters before and after.
    pub(crate) from: char,
    pub(crate) to: char,
}

/// A behaviour on which several runtimes agree against the text, or one that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Disagreement {
    #[serde(rename = "op")]
    pub(crate) operator: String,
    /// Versions in which the behaviour of each runtime is the same.
    #[serde(rename = "v")]
    pub(crate) versions: Vec<u32>,
    #[serde(rename = "b")]
    pub(crate) behaviour: String,
    pub(crate) open: bool,
    /// Letter of the worst outcome per measured runtime, by column key.
    pub(crate) ends: BTreeMap<String, char>,
}

/// Failures of an operator, for the pages of runtimes.
#[derive(Debug, Default)]
pub(crate) struct OperatorFailures {
    /// Failures by column.
    pub(crate) failures: Vec<Vec<Failure>>,
    /// Changes by column.
    pub(crate) changes: Vec<Vec<Changed>>,
    pub(crate) disagreements: Vec<Disagreement>,
    /// Shared failures of the newest version of each runtime.
    pub(crate) together: Together,
}

/// Outcome of a behaviour on a column.
struct End {
    worst: Severity,
    worst_measured: Measured,
    at_worst: Vec<usize>,
    judged: usize,
}

impl OperatorFailures {
    /// Collects the failures of an operator.
    pub(crate) fn new(tables: &[VersionTable], columns: &ShownColumns) -> OperatorFailures {
        let mut all = OperatorFailures {
            failures: columns.iter().map(|_| Vec::new()).collect(),
            changes: columns.iter().map(|_| Vec::new()).collect(),
            disagreements: Vec::new(),
            together: Together::default(),
        };
        for table in tables {
            for position in 0..table.behaviours.len() {
                all.add(table, position, columns);
            }
        }
        all
    }

    /// Adds the failures, changes and disagreements of the behaviour at a position.
    fn add(&mut self, table: &VersionTable, position: usize, columns: &ShownColumns) {
        let Some(behaviour) = table.behaviours.get(position) else { return };
        let operator = format!("{}/{}", table.version.domain, table.version.name);
        let (since, name) = (table.version.since, &behaviour.name);
        let own = table.range_of(position);
        let ends: Vec<Option<End>> = (0..columns.len()).map(|column| end(table, &own, column)).collect();
        for (column, end) in ends.iter().enumerate() {
            let Some(end) = end else { continue };
            if end.worst != Severity::Right
                && let Some(failures) = self.failures.get_mut(column)
            {
                add_failure(failures, failure(table, position, &operator, end));
            }
            let earlier = columns.previous(column).and_then(|earlier| ends.get(earlier)?.as_ref());
            if let Some(earlier) = earlier.filter(|earlier| earlier.worst != end.worst)
                && let Some(changes) = self.changes.get_mut(column)
            {
                let (from, to) = (earlier.worst.letter(), end.worst.letter());
                changes.push(Changed { operator: operator.clone(), since, behaviour: name.clone(), from, to });
            }
        }
        let newest: Vec<Option<Severity>> =
            columns.newest().iter().map(|&column| Some(ends.get(column)?.as_ref()?.worst)).collect();
        self.together.add(&newest);
        let open = behaviour.level == Level::Open;
        let mut letters: BTreeMap<String, char> = BTreeMap::new();
        let mut counts: BTreeMap<Severity, usize> = BTreeMap::new();
        for &column in columns.newest() {
            let Some(key) = columns.get(column).map(|column| column.key.clone()) else { continue };
            if open {
                letters.extend(recorded(table, &own, column).map(|letter| (key, letter)));
            } else if let Some(end) = ends.get(column).and_then(Option::as_ref) {
                *counts.entry(end.worst).or_default() += 1;
                letters.insert(key, letter(end.worst_measured));
            }
        }
        let against = |(severity, count): (&Severity, &usize)| {
            *count >= 2
                && !matches!(
                    severity,
                    Severity::Right | Severity::Inexact | Severity::Declined | Severity::RefusesValid
                )
        };
        let differs = letters.values().any(|letter| Some(letter) != letters.values().next());
        if (open && differs) || counts.iter().any(against) {
            let is_same = |known: &&mut Disagreement| known.behaviour == *name && known.ends == letters;
            match self.disagreements.iter_mut().find(is_same) {
                Some(known) => known.versions.push(since),
                None => self.disagreements.push(Disagreement {
                    operator,
                    versions: vec![since],
                    behaviour: name.clone(),
                    open,
                    ends: letters,
                }),
            }
        }
    }
}

/// Returns the outcome of a behaviour on a column, by the positions of its cases; `None` if no case is judged.
fn end(table: &VersionTable, own: &Range<usize>, column: usize) -> Option<End> {
    let mut end: Option<End> = None;
    for (index, case) in table.cases.iter().enumerate().skip(own.start).take(own.len()) {
        let Some(Ending::Judged(severity)) = case.endings.get(column) else { continue };
        let measured = case.measured.get(column).copied().unwrap_or(Measured::Unknown);
        let end = end.get_or_insert_with(|| End {
            worst: *severity,
            worst_measured: measured,
            at_worst: Vec::new(),
            judged: 0,
        });
        end.judged += 1;
        if *severity > end.worst {
            (end.worst, end.worst_measured) = (*severity, measured);
            end.at_worst.clear();
        }
        if *severity == end.worst {
            end.at_worst.push(index);
        }
    }
    end
}

/// Returns the letter of the worst recorded outcome of an open behaviour, by the positions of its cases.
fn recorded(table: &VersionTable, own: &Range<usize>, column: usize) -> Option<char> {
    let of_behaviour = table.cases.get(own.clone()).unwrap_or_default();
    let ended = of_behaviour.iter().filter_map(|case| match case.measured.get(column) {
        Some(measured) => Some((measured.outcome().filter(|outcome| !outcome.is_inconclusive())?, *measured)),
        None => None,
    });
    ended.max_by_key(|(outcome, _)| outcome.rank()).map(|(_, measured)| letter(measured))
}

/// Merges a failure into an equal one of another version, or adds it.
fn add_failure(failures: &mut Vec<Failure>, failure: Failure) {
    let is_equal = |known: &&mut Failure| {
        known.behaviour == failure.behaviour && (known.state, known.outcome) == (failure.state, failure.outcome)
    };
    match failures.iter_mut().find(is_equal) {
        Some(known) => {
            known.versions.extend(failure.versions);
            known.types.extend(failure.types);
            known.count = (known.count.0 + failure.count.0, known.count.1 + failure.count.1);
            known.required |= failure.required;
        }
        None => failures.push(failure),
    }
}

fn failure(table: &VersionTable, position: usize, operator: &str, end: &End) -> Failure {
    let cases = end.at_worst.iter().filter_map(|index| table.cases.get(*index));
    Failure {
        operator: operator.to_owned(),
        versions: vec![table.version.since],
        behaviour: table.behaviours.get(position).map(|behaviour| behaviour.name.clone()).unwrap_or_default(),
        state: end.worst.letter(),
        required: cases.clone().any(|case| case.level == Level::Required),
        count: (end.at_worst.len(), end.judged),
        outcome: letter(end.worst_measured),
        types: cases.filter_map(|case| case.types.first()).map(|(_, label)| label.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::column::Column;
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{Header, Outcome, Read, Selected};
    use onnx_conformance_subject::Declaration;

    /// Returns the failures of two runtimes for Abs, where each fails the cases that `fails` selects.
    fn failures(fails: impl Fn(usize, &str) -> Option<Outcome>) -> OperatorFailures {
        let versions = [6, 13].map(|since| format!("ai.onnx/Abs-{since}").parse().unwrap());
        let plain: Vec<VersionTable> =
            versions.iter().map(|version| VersionTable::new(version, &[]).unwrap()).collect();
        let column = |index: usize| {
            let ids = plain.iter().flat_map(|table| {
                table.cases.iter().map(|case| format!("{}/{}", table.version.qualified(), case.name))
            });
            let results: Vec<_> = ids.map(|id| result(&id, fails(index, &id).unwrap_or(Outcome::Pass))).collect();
            let selected = Selected { cases: results.len(), ..Selected::default() };
            let header = Header::new(Declaration::named(format!("r{index}"), "1"), "d".to_owned(), selected);
            Column::from_results("a", &Read { header, results, is_torn: false }, "d")
        };
        let columns = ShownColumns::new(vec![column(0), column(1)]);
        // The second column counts as the next release of the first.
        let columns = ShownColumns { previous: vec![None, Some(0)], ..columns };
        let tables: Vec<VersionTable> =
            versions.iter().map(|version| VersionTable::new(version, &columns).unwrap()).collect();
        OperatorFailures::new(&tables, &columns)
    }

    #[test]
    fn a_behaviour_that_fails_equally_in_two_versions_is_one_failure() {
        let fails = |index: usize, id: &str| {
            (index == 0 && id.contains("/extremes/") && id.ends_with("T=float")).then_some(Outcome::Mismatch)
        };
        let found = failures(fails);
        let [failure] = found.failures[0].as_slice() else { panic!("{:?}", found.failures[0]) };
        assert_eq!(
            (failure.versions.as_slice(), failure.state, failure.outcome),
            (&[6, 13][..], 's', 'M'),
            "extremes are special values"
        );
        assert_eq!((failure.count.0, failure.types.clone()), (2, BTreeSet::from(["float".to_owned()])));
        assert!(found.failures[1].is_empty() && found.disagreements.is_empty());
        assert_eq!(found.changes[1].len(), 2, "the second column is the release after");
        assert_eq!((found.changes[1][0].from, found.changes[1][0].to), ('s', 'r'));
    }

    #[test]
    fn two_runtimes_with_the_same_wrong_results_disagree_with_the_text() {
        let found = failures(|_, id| id.contains("/extremes/").then_some(Outcome::Mismatch));
        let [one] = found.disagreements.as_slice() else { panic!("{:?}", found.disagreements) };
        assert_eq!((one.behaviour.as_str(), one.versions.as_slice(), one.open), ("extremes", &[6, 13][..], false));
        assert_eq!(one.ends.values().collect::<String>(), "MM");
        let declined = failures(|_, id| id.contains("/extremes/").then_some(Outcome::Unsupported));
        assert!(declined.disagreements.is_empty());
    }
}
