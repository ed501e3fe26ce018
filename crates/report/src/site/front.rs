//! Data of the front page: the columns, and the state of every operator version and type per column.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::Level;
use onnx_conformance_cases::suite::SUITE_VERSION;
use onnx_conformance_harness::runtimes::released;
use onnx_conformance_reference::kernels::framework::registry;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, LookupError, Specs};
use onnx_conformance_subject::{Accepted, Opsets};
use serde::Serialize;

use crate::site::column::Column;
use crate::site::intern::Interned;
use crate::site::severity::CellState;
use crate::site::table::{CaseRow, Levels, VersionTable, states};

/// Data of the front page. Types, rows and domains are referenced by position.
#[derive(Debug, Serialize)]
pub(crate) struct Front {
    /// Version of the suite, and digest of its cases.
    pub(crate) suite: (&'static str, String),
    pub(crate) columns: Vec<ColumnData>,
    /// Columns of other suites: title, remarks, outcomes.
    pub(crate) elsewhere: Vec<Elsewhere>,
    pub(crate) domains: Vec<DomainData>,
    /// Types, in the spelling of ids.
    pub(crate) types: Vec<String>,
    /// States of all columns, separated by spaces.
    pub(crate) rows: Vec<String>,
    pub(crate) operators: Vec<OperatorRow>,
    /// For each opset of ONNX's own domain, the release that introduced it, and the opsets of all domains in the newest release
    /// that has it.
    pub(crate) releases: BTreeMap<u32, (String, BTreeMap<String, u32>)>,
    /// Number of cases.
    pub(crate) cases: usize,
    /// Coverage of the suite per kind: number of items reached, excluded, and in total.
    pub(crate) reach: Vec<(&'static str, [usize; 3])>,
    /// Number of cases confirmed by each source.
    pub(crate) evidence: Vec<(String, usize)>,
    /// Number of findings about the measured runtimes.
    pub(crate) findings: usize,
    /// Number of files with the program that runs in the browser; 0 if the site does not have it.
    pub(crate) module: usize,
}

/// A column of another suite: its title, remarks, and outcomes.
type Elsewhere = (String, Vec<String>, Vec<(&'static str, usize)>);

/// A column of the tables.
#[derive(Debug, Serialize)]
pub(crate) struct ColumnData {
    key: String,
    runtime: String,
    version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Day on which the version was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    released: Option<&'static str>,
    /// Day of the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Oldest and newest accepted IR version.
    #[serde(skip_serializing_if = "Option::is_none")]
    ir: Option<(u32, u32)>,
    /// Oldest and newest accepted opset per domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    opsets: Option<BTreeMap<String, (u32, u32)>>,
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct DomainData {
    name: String,
    newest: u32,
}

/// An operator.
#[derive(Debug, Serialize)]
pub(crate) struct OperatorRow {
    /// Position of the domain.
    #[serde(rename = "d")]
    domain: usize,
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "s")]
    summary: String,
    #[serde(rename = "f")]
    field: &'static str,
    #[serde(rename = "v")]
    versions: Vec<VersionRow>,
}

/// An operator version.
#[derive(Debug, Serialize)]
pub(crate) struct VersionRow {
    since: u32,
    last: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deprecated: bool,
    /// Rows at its last opset.
    #[serde(flatten)]
    rows: RowsOfVersion,
    /// Rows at earlier opsets, where they differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<EarlierRows>,
}

/// Rows of an operator version up to one of its opsets.
#[derive(Debug, Serialize)]
pub(crate) struct EarlierRows {
    /// The last of these opsets.
    until: u32,
    #[serde(flatten)]
    rows: RowsOfVersion,
}

/// Rows of an operator version.
#[derive(Debug, Serialize)]
pub(crate) struct RowsOfVersion {
    /// Rows of all its cases: required only, and including recommended.
    all: [usize; 2],
    /// Rows of the cases that use float wherever the version allows it.
    float: [usize; 2],
    /// Position of each type, and its rows.
    types: Vec<[usize; 3]>,
}

/// Builder of the front page, with the data that operators share.
#[derive(Debug, Default)]
pub(crate) struct FrontBuilder {
    types: Interned,
    rows: Interned,
    operators: Vec<OperatorRow>,
    cases: usize,
}

/// States of an operator version, before equal rows are merged. Computed for many operators in parallel.
#[derive(Debug)]
pub(crate) struct VersionStates {
    since: u32,
    last: u32,
    deprecated: bool,
    /// States at its last opset.
    states: StatesAtOpset,
    /// States at earlier opsets, where they differ: each with the last opset for which it holds, in order.
    before: Vec<(u32, StatesAtOpset)>,
    cases: usize,
}

/// States of an operator version at some of its opsets.
#[derive(Debug, PartialEq, Eq)]
struct StatesAtOpset {
    /// Of all its cases: required only, and including recommended.
    all: [String; 2],
    /// Of the cases that use float wherever the version allows it.
    float: [String; 2],
    /// Each type, and its states.
    types: Vec<(String, [String; 2])>,
}

impl VersionStates {
    /// Summarizes a table.
    pub(crate) fn new(table: &VersionTable, columns: usize) -> VersionStates {
        let last = *table.opsets.end();
        let selected = SelectedCases::new(table);
        let states = StatesAtOpset::new(&selected, columns, last);
        let opsets: BTreeSet<u32> = table.cases.iter().map(|case| case.opset).collect();
        let mut before: Vec<(u32, StatesAtOpset)> = Vec::new();
        // The states change where further cases count.
        for (opset, next) in opsets.iter().zip(opsets.iter().skip(1)) {
            let earlier = StatesAtOpset::new(&selected, columns, *opset);
            match before.last_mut().filter(|(_, known)| *known == earlier) {
                Some((until, _)) => *until = next - 1,
                None => before.push((next - 1, earlier)),
            }
        }
        if before.last().is_some_and(|(_, known)| *known == states) {
            before.pop();
        }
        VersionStates {
            since: table.version.since,
            last,
            deprecated: table.spec.deprecated,
            before,
            states,
            cases: table.cases.len(),
        }
    }
}

/// Cases of a table for the states of a version, at all of its opsets.
struct SelectedCases<'a> {
    all: Vec<&'a CaseRow>,
    /// Cases that use float wherever the version allows it.
    float: Vec<&'a CaseRow>,
    /// Each type, and its cases.
    types: Vec<(String, Vec<&'a CaseRow>)>,
}

impl<'a> SelectedCases<'a> {
    fn new(table: &'a VersionTable) -> SelectedCases<'a> {
        let of_type = |(label, parameters): (String, Vec<&'static str>)| {
            let cases = table.cases_of_type(&parameters, &label);
            (label, cases)
        };
        SelectedCases {
            all: table.cases.iter().collect(),
            float: table.cases_in_float(),
            types: table.types().into_iter().map(of_type).collect(),
        }
    }
}

impl StatesAtOpset {
    /// Summarizes the cases that count at an opset.
    fn new(selected: &SelectedCases<'_>, columns: usize, opset: u32) -> StatesAtOpset {
        let both = |cases: &[&CaseRow]| {
            let cases: Vec<&CaseRow> = cases.iter().copied().filter(|case| case.opset <= opset).collect();
            texts(&cases, columns)
        };
        StatesAtOpset {
            all: both(&selected.all),
            float: both(&selected.float),
            types: selected.types.iter().map(|(label, cases)| (label.clone(), both(cases))).collect(),
        }
    }
}

/// Formats the states of cases in each column: of the required ones, and including recommended.
pub(crate) fn texts(cases: &[&CaseRow], columns: usize) -> [String; 2] {
    let required = text(&states(cases, Levels::Required, columns));
    if cases.iter().all(|case| case.level != Level::Recommended) {
        return [required.clone(), required];
    }
    [required, text(&states(cases, Levels::Recommended, columns))]
}

/// Formats states separated by spaces.
pub(crate) fn text(states: &[CellState]) -> String {
    states.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl FrontBuilder {
    /// Adds an operator.
    pub(crate) fn add(&mut self, domain: &str, name: &str, summary: &str, versions: Vec<VersionStates>) {
        let mut rows = Vec::new();
        for version in versions {
            self.cases += version.cases;
            let earlier = |(until, states)| EarlierRows { until, rows: self.rows_of(states) };
            let before = version.before.into_iter().map(earlier).collect();
            rows.push(VersionRow {
                since: version.since,
                last: version.last,
                deprecated: version.deprecated,
                rows: self.rows_of(version.states),
                before,
            });
        }
        self.operators.push(OperatorRow {
            domain: Specs::embedded().domains().position(|known| known == domain).unwrap_or_default(),
            name: name.to_owned(),
            summary: summary.to_owned(),
            field: registry::field(domain, name).unwrap_or_default(),
            versions: rows,
        });
    }

    fn rows_of(&mut self, states: StatesAtOpset) -> RowsOfVersion {
        let mut both = |states: [String; 2]| states.map(|states| self.rows.position(states));
        let (all, float) = (both(states.all), both(states.float));
        let mut types = Vec::new();
        for (label, states) in states.types {
            let [required, recommended] = both(states);
            types.push([self.types.position(label), required, recommended]);
        }
        RowsOfVersion { all, float, types }
    }

    /// Returns the complete front page.
    pub(crate) fn finish(self, columns: &[Column], elsewhere: &[Column], digest: &str) -> Result<Front, LookupError> {
        let specs = Specs::embedded();
        let mut releases: BTreeMap<u32, (String, BTreeMap<String, u32>)> = BTreeMap::new();
        for release in &specs.releases()?.releases {
            if let Some(opset) = release.opsets.get(DEFAULT_DOMAIN) {
                let entry = releases.entry(*opset).or_insert_with(|| (release.onnx.clone(), BTreeMap::new()));
                entry.1 = release.opsets.clone();
            }
        }
        let domain = |name: &str| Ok(DomainData { name: name.to_owned(), newest: specs.newest_opset(name)? });
        Ok(Front {
            suite: (SUITE_VERSION, digest.to_owned()),
            columns: columns.iter().map(ColumnData::new).collect(),
            elsewhere: elsewhere
                .iter()
                .map(|column| (column.title(), column.remarks.clone(), column.outcomes_elsewhere()))
                .collect(),
            domains: specs.domains().map(domain).collect::<Result<_, LookupError>>()?,
            types: self.types.into_texts(),
            rows: self.rows.into_texts(),
            operators: self.operators,
            releases,
            cases: self.cases,
            reach: Vec::new(),
            evidence: Vec::new(),
            findings: 0,
            module: 0,
        })
    }
}

impl ColumnData {
    fn new(column: &Column) -> ColumnData {
        let range = |opsets: Opsets| match opsets {
            Opsets::UpTo(newest) => (1, newest),
            Opsets::Between(oldest, newest) => (oldest, newest),
        };
        let domains = |accepts: &Accepted| {
            accepts.opsets.iter().map(|(domain, opsets)| (domain.clone(), range(*opsets))).collect()
        };
        ColumnData {
            key: column.key.clone(),
            runtime: column.runtime.clone(),
            version: column.version.clone(),
            file: column.file.clone(),
            released: released(&column.runtime, &column.version),
            date: column.date.clone(),
            platform: column.platform.clone(),
            digest: column.digest.clone(),
            ir: column.accepts.as_ref().map(|accepts| range(accepts.ir)),
            opsets: column.accepts.as_ref().map(domains),
            remarks: column.remarks.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::recorded_cases;
    use onnx_conformance_harness::run::test_results::result;
    use onnx_conformance_harness::run::{Header, Outcome, Read, Selected};
    use onnx_conformance_reference::spec::OperatorVersion;
    use onnx_conformance_subject::Declaration;

    /// Returns the states of Abs-13 on a runtime that fails the cases whose ids satisfy the condition.
    fn states_of_abs(fails: impl Fn(&str) -> bool) -> VersionStates {
        let version = OperatorVersion::new(DEFAULT_DOMAIN, "Abs", 13);
        let outcome = |id: &str| if fails(id) { Outcome::Mismatch } else { Outcome::Pass };
        let results: Vec<_> = recorded_cases(&version).iter().map(|case| result(&case.id, outcome(&case.id))).collect();
        let selected = Selected { cases: results.len(), ..Selected::default() };
        let header = Header::new(Declaration::named("a", "1"), "d".to_owned(), selected);
        let column = Column::from_results("a.jsonl", &Read { header, results, is_torn: false }, "d");
        VersionStates::new(&VersionTable::new(&version, &[column]).unwrap(), 1)
    }

    #[test]
    fn a_case_counts_from_its_opset_on() {
        let states = states_of_abs(|id| id.contains("@opset="));
        let [(until, before), ..] = &states.before[..] else { panic!("{states:?}") };
        assert!(states.states.all[0].starts_with('w') && before.all[0].starts_with('r'), "{before:?}");
        assert!((13..states.last).contains(until), "{until}");
        let float =
            |states: &StatesAtOpset| states.types.iter().find(|(label, _)| label == "float").unwrap().1[0].clone();
        assert!(float(&states.states).starts_with('w') && float(before).starts_with('r'), "{before:?}");
        let only_last = states_of_abs(|id| id.contains("@opset=last"));
        let [.., (until, before)] = &only_last.before[..] else { panic!("{only_last:?}") };
        assert!(*until == only_last.last - 1 && before.all[0].starts_with('r'), "{only_last:?}");
        let counts =
            |states: &VersionStates| states.before.iter().map(|(_, states)| states.all[0].clone()).collect::<Vec<_>>();
        let right = counts(&states_of_abs(|_| false));
        assert!(right.iter().all(|state| state.starts_with('r')), "{right:?}");
    }
}
