//! Table of an operator version: its cases, their behaviours and types, and the results of all columns.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use onnx_conformance_cases::case::{CaseId, Level};
use onnx_conformance_cases::suite::{RecordedCase, is_in_float, opset_of, recorded_cases};
use onnx_conformance_harness::measure::Measured;
use onnx_conformance_reference::spec::{LookupError, OpSpec, OperatorVersion, Specs};

use crate::site::case_name::{CaseName, type_label};
use crate::site::column::{Column, OutcomesOfVersion};
use crate::site::severity::{CellState, Ending};

/// An operator version with the results of every column.
#[derive(Debug)]
pub(crate) struct VersionTable {
    /// The version.
    pub(crate) version: OperatorVersion,
    /// Its definition in the standard.
    pub(crate) spec: &'static OpSpec,
    /// Opsets that select it.
    pub(crate) opsets: RangeInclusive<u32>,
    /// The behaviours, by name.
    pub(crate) behaviours: Vec<Behaviour>,
    /// The cases, grouped by behaviour.
    pub(crate) cases: Vec<CaseRow>,
    /// Most frequent type of each type parameter.
    plain: BTreeMap<String, String>,
}

/// A behaviour tested by some cases of a version, with any types and alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// The name: `literal`, `large/many_elements`, `refuse/empty`.
    pub(crate) name: String,
    /// True if the cases must be refused.
    pub(crate) is_refusal: bool,
    /// Least binding level of its cases.
    pub(crate) level: Level,
    /// True if it is about special values.
    pub(crate) is_edge: bool,
}

/// A case.
#[derive(Clone, Debug)]
pub(crate) struct CaseRow {
    /// Position of the behaviour.
    pub(crate) behaviour: usize,
    /// The id without the version.
    pub(crate) name: String,
    /// The level.
    pub(crate) level: Level,
    /// The opset of the operator's domain in its model.
    pub(crate) opset: u32,
    /// Types by type parameter, in the spelling of ids.
    pub(crate) types: Vec<(String, String)>,
    /// Settings of the node under test: `axis=1 rank=3`.
    pub(crate) settings: String,
    /// Outcome per column.
    pub(crate) measured: Vec<Measured>,
    /// Judged ending per column.
    pub(crate) endings: Vec<Ending>,
}

/// Levels that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Levels {
    /// Required cases only, and others that end without an answer.
    Required,
    /// Required and recommended cases.
    Recommended,
}

impl VersionTable {
    /// Collects the results of every column for every case of a version.
    pub(crate) fn new(version: &OperatorVersion, columns: &[Column]) -> Result<VersionTable, LookupError> {
        let spec = Specs::embedded().get(version)?;
        let recorded = recorded_cases(version);
        let parsed: Vec<ParsedCase<'_>> = recorded.iter().map(|case| ParsedCase::new(case, spec)).collect();
        let mut behaviours: BTreeMap<&str, Behaviour> = BTreeMap::new();
        for case in &parsed {
            let facts = &case.recorded.facts;
            let behaviour = behaviours.entry(case.name.behaviour).or_insert_with(|| Behaviour {
                name: case.name.behaviour.to_owned(),
                is_refusal: facts.refusal.is_some(),
                level: facts.level,
                is_edge: facts.is_edge,
            });
            behaviour.level = behaviour.level.max(facts.level);
        }
        let positions: BTreeMap<&str, usize> =
            behaviours.keys().enumerate().map(|(position, name)| (*name, position)).collect();
        let mut outcomes: Vec<OutcomesOfVersion<'_>> =
            columns.iter().map(|column| column.at_version(&spec.version)).collect();
        let mut cases: Vec<CaseRow> = parsed
            .iter()
            .map(|case| {
                let behaviour = positions.get(case.name.behaviour).copied().unwrap_or_default();
                case.row(spec, behaviour, &mut outcomes)
            })
            .collect();
        cases.sort_by(|a, b| (a.behaviour, &a.name).cmp(&(b.behaviour, &b.name)));
        let opsets = Specs::embedded().opsets(version)?;
        Ok(VersionTable {
            version: version.clone(),
            spec,
            opsets,
            behaviours: behaviours.into_values().collect(),
            plain: plain_types(&cases),
            cases,
        })
    }

    /// Returns the positions of the cases of a behaviour, which is given by its position.
    pub(crate) fn range_of(&self, behaviour: usize) -> Range<usize> {
        let start = self.cases.partition_point(|case| case.behaviour < behaviour);
        start..self.cases.partition_point(|case| case.behaviour <= behaviour)
    }

    /// Returns the state of the whole version for each column.
    pub(crate) fn states(&self, levels: Levels, columns: usize) -> Vec<CellState> {
        let all: Vec<&CaseRow> = self.cases.iter().collect();
        states(&all, levels, columns)
    }

    /// Returns the cases that use float wherever the version allows it, grouped by behaviour. The overview of measurements counts
    /// the same cases.
    pub(crate) fn cases_in_float(&self) -> Vec<&CaseRow> {
        let prefix = self.version.qualified();
        let is_chosen = |case: &&CaseRow| is_in_float(self.spec, CaseId::parse(&format!("{prefix}/{}", case.name)));
        self.cases.iter().filter(is_chosen).collect()
    }

    /// Returns the types that the version allows, in the spelling of ids, each with the parameters that allow it.
    pub(crate) fn types(&self) -> BTreeMap<String, Vec<&'static str>> {
        let mut types: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
        for (parameter, allowed) in &self.spec.types {
            for value_type in allowed {
                types.entry(type_label(value_type)).or_default().push(parameter);
            }
        }
        types
    }

    /// Returns the cases that test a type of a type parameter. The other parameters must have their most frequent
    /// types, so that a fault of another type does not count against this one. If a behaviour has no such cases for a
    /// less frequent type, all its cases with the type count.
    pub(crate) fn cases_of(&self, parameter: &str, label: &str) -> Vec<&CaseRow> {
        let has = |case: &&CaseRow| case.types.iter().any(|(name, known)| name == parameter && known == label);
        let with_type: Vec<&CaseRow> = self.cases.iter().filter(has).collect();
        let is_plain = |case: &&CaseRow| {
            case.types.iter().all(|(name, known)| name == parameter || self.plain.get(name) == Some(known))
        };
        let is_unusual = self.plain.get(parameter).is_none_or(|plain| plain != label);
        let mut chosen: Vec<&CaseRow> = Vec::new();
        for of_behaviour in with_type.chunk_by(|a, b| a.behaviour == b.behaviour) {
            let plain: Vec<&CaseRow> = of_behaviour.iter().copied().filter(|case| is_plain(case)).collect();
            match plain.as_slice() {
                [] if is_unusual => chosen.extend(of_behaviour),
                plain => chosen.extend(plain),
            }
        }
        chosen
    }

    /// Returns the cases that test a type in any type parameter, grouped by behaviour.
    pub(crate) fn cases_of_type(&self, parameters: &[&str], label: &str) -> Vec<&CaseRow> {
        let mut chosen: Vec<&CaseRow> =
            parameters.iter().flat_map(|parameter| self.cases_of(parameter, label)).collect();
        chosen.sort_by(|a, b| (a.behaviour, &a.name).cmp(&(b.behaviour, &b.name)));
        chosen.dedup_by(|a, b| a.name == b.name);
        chosen
    }
}

/// Returns the most frequent type of each type parameter.
fn plain_types(cases: &[CaseRow]) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (parameter, label) in cases.iter().flat_map(|case| &case.types) {
        *counts.entry(parameter).or_default().entry(label).or_default() += 1;
    }
    let most = |(parameter, counts): (&str, BTreeMap<&str, usize>)| {
        let (label, _) = counts.into_iter().max_by_key(|(label, count)| (*count, *label == "float"))?;
        Some((parameter.to_owned(), label.to_owned()))
    };
    counts.into_iter().filter_map(most).collect()
}

/// Returns the state of cases for each column.
pub(crate) fn states(cases: &[&CaseRow], levels: Levels, columns: usize) -> Vec<CellState> {
    (0..columns)
        .map(|column| {
            let counts = |case: &&&CaseRow| {
                let is_judged = |measured: &Measured| measured.judged(case.level, false).is_some();
                levels == Levels::Recommended
                    || case.level != Level::Recommended
                    || case.measured.get(column).is_some_and(is_judged)
            };
            let ending =
                |case: &&CaseRow| (case.behaviour, case.endings.get(column).copied().unwrap_or(Ending::Unknown));
            CellState::from_endings(cases.iter().filter(counts).map(ending))
        })
        .collect()
}

/// Returns the id of a case without its version.
pub(crate) fn name_of<'a>(case: &'a RecordedCase, version: &OperatorVersion) -> &'a str {
    let rest = case.id.strip_prefix(version.qualified().as_str()).and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(&case.id)
}

/// A recorded case with its parsed name.
struct ParsedCase<'a> {
    name: CaseName<'a>,
    recorded: &'a RecordedCase,
}

impl<'a> ParsedCase<'a> {
    fn new(recorded: &'a RecordedCase, spec: &OpSpec) -> ParsedCase<'a> {
        ParsedCase { name: CaseName::parse(name_of(recorded, &spec.version), spec), recorded }
    }

    /// Collects the results of every column. `behaviour` is the position of the case's behaviour.
    fn row(&self, spec: &OpSpec, behaviour: usize, columns: &mut [OutcomesOfVersion<'_>]) -> CaseRow {
        let (version, facts) = (&spec.version, &self.recorded.facts);
        let measured: Vec<Measured> = columns.iter_mut().map(|column| column.of_case(self.recorded)).collect();
        let endings =
            measured.iter().map(|measured| Ending::from_measured(*measured, facts.level, facts.is_edge)).collect();
        let mut types: Vec<(String, String)> =
            self.name.types.iter().map(|(parameter, label)| ((*parameter).to_owned(), (*label).to_owned())).collect();
        if facts.refusal.is_none() {
            // Ids omit type parameters that allow a single type.
            let single = spec.types.iter().filter_map(|(parameter, allowed)| match allowed.as_slice() {
                [only] => Some((parameter.clone(), type_label(only))),
                _ => None,
            });
            types.extend(single);
        }
        CaseRow {
            behaviour,
            name: name_of(self.recorded, version).to_owned(),
            level: facts.level,
            opset: opset_of(version, CaseId::parse(&self.recorded.id)),
            types,
            settings: facts.settings.to_string(),
            measured,
            endings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_harness::run::Read;
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{Header, Outcome, Selected};
    use onnx_conformance_subject::Declaration;

    /// Creates the table of a version for a results file with these outcomes, where all other cases pass.
    fn table(version: &str, outcomes: &[(&str, Outcome)]) -> VersionTable {
        let version: OperatorVersion = version.parse().unwrap();
        let results: Vec<_> = recorded_cases(&version)
            .iter()
            .map(|case| {
                let name = name_of(case, &version);
                let outcome = outcomes.iter().find(|(known, _)| *known == name).map_or(Outcome::Pass, |(_, it)| *it);
                result(&case.id, outcome)
            })
            .collect();
        let selected = Selected { cases: results.len(), ..Selected::default() };
        let header = Header::new(Declaration::named("a", "1"), "d".to_owned(), selected);
        let column = Column::from_results("a.jsonl", &Read { header, results, is_torn: false }, "d");
        assert!(column.remarks().is_empty(), "{:?}", column.remarks());
        VersionTable::new(&version, &[column]).unwrap()
    }

    fn state(cases: &[&CaseRow]) -> String {
        states(cases, Levels::Required, 1)[0].to_string()
    }

    #[test]
    fn a_fault_of_one_type_is_not_held_against_another() {
        let all = table("ai.onnx/Gather-13", &[]);
        let strings: Vec<&CaseRow> = all.cases_of("T", "string");
        let failing = strings.iter().find(|case| case.types.contains(&("Tind".to_owned(), "int64".to_owned())));
        let failing = failing.map_or_else(|| strings[0].name.clone(), |case| case.name.clone());
        let table = table("ai.onnx/Gather-13", &[(&failing, Outcome::Mismatch)]);
        assert!(state(&table.cases_of("T", "string")).starts_with("w1/"));
        assert!(state(&table.cases_of("T", "int8")).starts_with('r'));
        assert!(state(&table.cases_of("Tind", "int64")).starts_with('r'));
        assert_eq!(table.states(Levels::Required, 1).len(), 1);
    }

    #[test]
    fn cases_in_float_leave_out_other_types_where_float_is_allowed() {
        let names = |version: &str| {
            let table = table(version, &[]);
            table.cases_in_float().into_iter().map(|case| case.name.clone()).collect::<Vec<_>>()
        };
        let gather = names("ai.onnx/Gather-13");
        assert!(gather.iter().any(|name| name.ends_with("/T=float,Tind=int64")), "{gather:?}");
        assert!(!gather.iter().any(|name| name.contains("T=string")), "{gather:?}");
        assert!(!names("ai.onnx/And-7").is_empty());
    }

    #[test]
    fn every_type_that_a_version_allows_is_there() {
        let table = table("ai.onnx/Cast-13", &[]);
        let types = table.types();
        assert_eq!(types.get("bfloat16").unwrap(), &["T1", "T2"]);
        assert!(!types.contains_key("int4"));
        assert!(state(&table.cases_of_type(&["T1", "T2"], "string")).starts_with('r'));
    }
}
