//! Checkers by what is wrong with the models that they accept, and by the groups of valid models that they refuse.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{CaseId, RefusalKind, Variant};
use onnx_conformance_cases::suite::{CheckedRefusal, HostileCases};
use onnx_conformance_harness::expectations::{ExpectationError, Expectations, answered_part, refusals_name};
use onnx_conformance_harness::measure::{AskedParts, EarlierAnswers};
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::OperatorVersion;
use serde::{Deserialize, Serialize};

/// Path of the file in the project.
pub const PATH: &str = "crates/report/src/site/checkers.json";

/// The file, which the site shows.
const FILE: &str = include_str!("site/checkers.json");

/// Answers of checkers by what is wrong with a model, and by group of valid models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckerTable {
    /// The command that writes the file.
    #[serde(rename = "$comment")]
    pub comment: String,
    /// The checkers, in the order of columns.
    pub checkers: Vec<CheckerColumn>,
    /// Invalid models, by what is wrong with them. A right answer refuses the model.
    pub invalid: Vec<CheckerRow>,
    /// Valid models, by the beginning of their ids. A right answer accepts the model.
    pub valid: Vec<CheckerRow>,
}

/// A measured version of a checker, and the numbers of models that no row counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckerColumn {
    /// The checker.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Number of invalid models about which it was not asked, or whose part of the suite has changed since.
    pub unknown_invalid: usize,
    /// Number of invalid models that prove nothing, since the checker refuses the same model without the violation. A part of the suite
    /// counts as a whole if it has such models and they are not known one by one.
    pub not_judged: usize,
    /// Number of other models about which it was not asked, or whose part of the suite has changed since.
    pub unknown_valid: usize,
}

/// Answers of each checker about models of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckerRow {
    /// The words of what is wrong with the models, or the beginning of their ids.
    pub name: String,
    /// The numbers of answers, in the order of columns.
    pub counts: Vec<CheckerCounts>,
}

/// Numbers of right answers, wrong ones, and others such as crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckerCounts(pub [usize; 3]);

/// The cases of the suite, as the table needs them.
#[derive(Clone, Copy, Debug)]
pub struct CheckedSuite<'a> {
    /// The ids of all cases, without variant.
    pub ids: &'a [&'a str],
    /// The models that a checker must refuse.
    pub refusals: &'a [CheckedRefusal],
}

impl CheckerCounts {
    fn add(&mut self, outcome: Outcome, wrong: Outcome, number: usize) {
        let CheckerCounts([right, wrongs, others]) = self;
        match outcome {
            Outcome::Pass => *right += number,
            outcome if outcome == wrong => *wrongs += number,
            _ => *others += number,
        }
    }

    /// Adds the numbers of other answers.
    pub fn extend(&mut self, other: CheckerCounts) {
        for (sum, number) in self.0.iter_mut().zip(other.0) {
            *sum += number;
        }
    }

    /// Returns the number of all answers.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }
}

impl CheckerTable {
    /// Counts the answers of measured checkers.
    pub fn new(
        command: &str,
        measured: &[EarlierAnswers],
        suite: CheckedSuite<'_>,
    ) -> Result<CheckerTable, ExpectationError> {
        let (mut invalid, mut valid) = (Rows::new(measured.len()), Rows::new(measured.len()));
        let mut checkers = Vec::new();
        for (at, answers) in measured.iter().enumerate() {
            let asked = Asked::new(answers, suite);
            let file = answers.file();
            let mut column = CheckerColumn {
                name: file.runtime.clone(),
                version: file.version.clone().unwrap_or_default(),
                ..CheckerColumn::default()
            };
            asked.count_invalid(&mut column, &mut |key, outcome| {
                invalid.add(at, key, (outcome, Outcome::Accepted), 1);
            })?;
            column.unknown_valid = asked.count_unknown_valid();
            for (group, outcome, number) in asked.valid() {
                valid.add(at, group, (outcome, Outcome::Error), number);
            }
            checkers.push(column);
        }
        let comment = format!("Written by `{command}` from expectations/tools; do not edit.");
        let name = |(kind, topic): (RefusalKind, String)| format!("{}{topic}", kind.words());
        let (invalid, valid) = (invalid.named(name), valid.named(|group| group));
        Ok(CheckerTable { comment, checkers, invalid, valid })
    }

    /// Reads the file.
    pub fn embedded() -> serde_json::Result<CheckerTable> {
        serde_json::from_str(FILE)
    }

    /// Formats the file.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Rows of counts by key, with a column for each checker.
struct Rows<K> {
    columns: usize,
    counts: BTreeMap<K, Vec<CheckerCounts>>,
}

impl<K: Ord> Rows<K> {
    fn new(columns: usize) -> Rows<K> {
        Rows { columns, counts: BTreeMap::new() }
    }

    /// Adds answers with an outcome, given the one that is wrong.
    fn add(&mut self, column: usize, key: K, (outcome, wrong): (Outcome, Outcome), number: usize) {
        let row = self.counts.entry(key).or_insert_with(|| vec![CheckerCounts::default(); self.columns]);
        if let Some(counts) = row.get_mut(column) {
            counts.add(outcome, wrong, number);
        }
    }

    fn named(self, name: impl Fn(K) -> String) -> Vec<CheckerRow> {
        self.counts.into_iter().map(|(key, counts)| CheckerRow { name: name(key), counts }).collect()
    }
}

/// Cases of today's suite about which a checker was asked.
struct Asked<'a> {
    answers: &'a EarlierAnswers,
    suite: CheckedSuite<'a>,
    parts: AskedParts,
    /// The ids in the measured part of the suite; `None` for the whole.
    shard: Option<BTreeSet<&'a str>>,
}

impl<'a> Asked<'a> {
    fn new(answers: &'a EarlierAnswers, suite: CheckedSuite<'a>) -> Asked<'a> {
        let shard = answers.file().shard.map(|shard| shard.part_of(suite.ids.iter().copied()).into_iter().collect());
        Asked { answers, suite, parts: answers.parts(suite.ids), shard }
    }

    fn file(&self) -> &'a Expectations {
        self.answers.file()
    }

    /// Returns true if the answer about a case is known, by its id.
    fn is_known(&self, id: &str) -> bool {
        self.shard.as_ref().is_none_or(|shard| shard.contains(id)) && self.parts.is_unchanged(id)
    }

    /// Passes on each answer about an invalid model, by its kind and topic.
    fn count_invalid(
        &self,
        column: &mut CheckerColumn,
        add: &mut dyn FnMut((RefusalKind, String), Outcome),
    ) -> Result<(), ExpectationError> {
        let mut parts: BTreeMap<String, Vec<&CheckedRefusal>> = BTreeMap::new();
        for refusal in self.suite.refusals {
            if self.is_known(&refusal.id) {
                parts.entry(answered_part(&refusal.id)).or_default().push(refusal);
            } else {
                column.unknown_invalid += 1;
            }
        }
        for (part, refusals) in parts {
            let mut judged = Vec::new();
            for refusal in &refusals {
                if self.accepts_control(refusal)? {
                    judged.push((key(refusal), self.outcome(&refusal.id)?));
                }
            }
            // The measurement has the number of judged answers.
            if judged.len() != self.counted(&part) {
                judged.clear();
            }
            column.not_judged += refusals.len() - judged.len();
            for (key, outcome) in judged {
                add(key, outcome);
            }
        }
        Ok(())
    }

    /// Returns false if the checker refuses the same model without the violation, as far as the control is known.
    fn accepts_control(&self, refusal: &CheckedRefusal) -> Result<bool, ExpectationError> {
        let outcome = refusal.control.as_deref().map(|control| self.outcome(control)).transpose()?;
        Ok(outcome.is_none_or(|outcome| outcome == Outcome::Pass))
    }

    /// Returns the outcome of a case that was asked about.
    fn outcome(&self, id: &str) -> Result<Outcome, ExpectationError> {
        let results = self.answers.kept_results([id], Variant::Check)?;
        Ok(results.first().map_or(Outcome::Pass, |result| result.outcome))
    }

    /// Returns the number of judged answers about the invalid models of a part of the suite.
    fn counted(&self, part: &str) -> usize {
        let name = refusals_name(Variant::Check);
        let answers = self.file().operators.as_ref().and_then(|parts| parts.get(part)?.answers.get(&name));
        answers.map_or(0, |outcomes| outcomes.values().sum())
    }

    /// Returns the numbers of answers about valid models by the beginning of their ids.
    fn valid(&self) -> impl Iterator<Item = (String, Outcome, usize)> {
        let unchanged = &self.parts.unchanged;
        let parts = self.file().operators.iter().flatten().filter(move |(part, _)| unchanged.contains(*part));
        parts.flat_map(|(part, answers)| {
            let group = group(part);
            let outcomes = answers.answers.get(Variant::Check.name()).into_iter().flatten();
            outcomes.map(move |(outcome, number)| (group.clone(), *outcome, *number))
        })
    }

    fn count_unknown_valid(&self) -> usize {
        if self.shard.is_none() && self.parts.stale.is_empty() {
            return 0;
        }
        let is_hostile = |id: &str| id.split('/').next() == Some(HostileCases::GROUP);
        let is_valid = |id: &str| RefusalKind::from_id(CaseId::parse(id)).is_none() && !is_hostile(id);
        self.suite.ids.iter().filter(|id| is_valid(id) && !self.is_known(id)).count()
    }
}

/// Returns the row of a refusal: its kind and, if it is of no operator, its topic.
fn key(refusal: &CheckedRefusal) -> (RefusalKind, String) {
    let is_of_topic = refusal.kind == RefusalKind::Format;
    let topic = if is_of_topic { format!(" ({})", CaseId::parse(&refusal.id).group()) } else { String::new() };
    (refusal.kind, topic)
}

/// Returns the common beginning of the ids of parts: the domain of an operator, `graph`, `ir`, or a release.
fn group(part: &str) -> String {
    let first = || part.split('/').next().unwrap_or(part).to_owned();
    part.parse().map_or_else(|_| first(), |version: OperatorVersion| version.domain)
}

#[cfg(test)]
mod tests {
    use onnx_conformance_harness::measure::MeasuredDigests;
    use onnx_conformance_harness::run::Shard;

    use super::*;

    const IDS: [&str; 8] = [
        "ai.onnx/Abs-13/known_values/T=float",
        "ai.onnx/Abs-13/refuse/T=uint2",
        "ai.onnx/Abs-13/refuse/missing=X",
        "ai.onnx/Neg-13/known_values/T=float",
        "ai.onnx/Neg-13/refuse/missing=X",
        "ir/scope/plain",
        "ir/scope/refuse/of-another",
        "ir/scope/refuse/of-plain",
    ];

    /// The head of a measurement in which the control `ir/scope/other` is refused.
    const HEAD: &str = "runtime: a\nversion: '1.0'\nexact: true\noperators:\n  \
        ai.onnx/Abs-13: {check: {pass: 1}, check-refusals: {pass: 1, accepted: 1}}\n  \
        ai.onnx/Neg-13: {check: {error: 1}, check-refusals: {crash: 1}}\n  \
        ir/scope: {check: {pass: 1, error: 1}, check-refusals: {pass: 1}}\n";

    const ENTRIES: &str = "expect:\n  - {cases: ai.onnx/Abs-13/refuse/T=uint2@check, outcome: accepted}\n  \
        - {cases: ai.onnx/Neg-13/refuse/missing=X@check, outcome: crash}\n  \
        - {cases: ir/scope/other@check, outcome: error}\n";

    fn refusals() -> Vec<CheckedRefusal> {
        let control = |id: &str| match id {
            "ir/scope/refuse/of-another" => Some("ir/scope/other".to_owned()),
            "ir/scope/refuse/of-plain" => Some("ir/scope/plain".to_owned()),
            _ => None,
        };
        let refusal = |id: &str| {
            let kind = RefusalKind::from_id(CaseId::parse(id))?;
            Some(CheckedRefusal { id: id.to_owned(), kind, control: control(id) })
        };
        IDS.into_iter().filter_map(refusal).collect()
    }

    fn digests() -> String {
        MeasuredDigests::for_tool(&IDS.into_iter().collect(), false).to_text()
    }

    fn table(text: &str, digests: &str) -> CheckerTable {
        let measured = EarlierAnswers::read("a.yaml", text, Some(digests)).unwrap();
        CheckerTable::new("a command", &[measured], CheckedSuite { ids: &IDS, refusals: &refusals() }).unwrap()
    }

    fn rows(rows: &[CheckerRow]) -> Vec<(&str, [usize; 3])> {
        rows.iter().map(|row| (row.name.as_str(), row.counts[0].0)).collect()
    }

    #[test]
    fn answers_are_counted_by_kind_and_group() {
        let table = table(&format!("{HEAD}{ENTRIES}"), &digests());
        let expected = [
            ("a required input is missing", [1, 0, 1]),
            ("the version does not allow a type", [0, 1, 0]),
            ("a rule of the format is broken (ir/scope)", [1, 0, 0]),
        ];
        assert_eq!(rows(&table.invalid), expected);
        assert_eq!(rows(&table.valid), [("ai.onnx", [1, 1, 0]), ("ir", [1, 1, 0])]);
        let column = &table.checkers[0];
        assert_eq!((column.unknown_invalid, column.not_judged, column.unknown_valid), (0, 1, 0));
        let read: CheckerTable = serde_json::from_str(&table.to_json().unwrap()).unwrap();
        assert_eq!(read, table);
    }

    #[test]
    fn a_part_that_has_changed_or_is_not_known_one_by_one_is_left_out() {
        let text = digests();
        let line = text.lines().find(|line| line.starts_with("ai.onnx/Abs-13 ")).unwrap();
        let changed = text.replace(line, "ai.onnx/Abs-13 0123456789abcdef");
        // A checker that refuses the control of an operator has no answer about its refusals.
        let unjudged = HEAD.replace(", check-refusals: {crash: 1}", "");
        let table = table(&format!("{unjudged}{ENTRIES}"), &changed);
        assert_eq!(rows(&table.invalid), [("a rule of the format is broken (ir/scope)", [1, 0, 0])]);
        assert_eq!(rows(&table.valid), [("ai.onnx", [0, 1, 0]), ("ir", [1, 1, 0])]);
        let column = &table.checkers[0];
        assert_eq!((column.unknown_invalid, column.not_judged, column.unknown_valid), (2, 2, 1));
    }

    #[test]
    fn a_part_of_the_suite_is_known_alone() {
        let shard: Shard = "1/2".parse().unwrap();
        let asked: BTreeSet<&str> = shard.part_of(IDS.into_iter()).into_iter().collect();
        let digests = MeasuredDigests::for_tool(&asked, true).to_text();
        let table = table(&format!("shard: 1/2\n{HEAD}{ENTRIES}"), &digests);
        let column = &table.checkers[0];
        let counted: usize = table.invalid.iter().map(|row| row.counts[0].total()).sum();
        assert_eq!(counted + column.unknown_invalid + column.not_judged, refusals().len());
        assert!(column.unknown_invalid + column.unknown_valid >= IDS.len() - asked.len(), "{column:?}");
    }
}
