//! Data of the front page: the columns, and the state of every operator version and type per column.

use std::collections::BTreeMap;

use onnx_conformance_reference::kernels::framework::registry;
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, LookupError, Specs};
use onnx_conformance_subject::{Accepted, Opsets};
use serde::Serialize;

use crate::site::column::Column;
use crate::site::intern::Interned;
use crate::site::severity::CellState;
use crate::site::table::{Levels, VersionTable, states};

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
    /// Rows of all its cases: required only, and including recommended.
    all: [usize; 2],
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
    all: [String; 2],
    types: Vec<(String, [String; 2])>,
    cases: usize,
}

impl VersionStates {
    /// Summarizes a table.
    pub(crate) fn new(table: &VersionTable, columns: usize) -> VersionStates {
        let both =
            |of: &dyn Fn(Levels) -> Vec<CellState>| [Levels::Required, Levels::Recommended].map(|it| text(&of(it)));
        let of_type = |(label, parameters): (String, Vec<&str>)| {
            let cases = table.cases_of_type(&parameters, &label);
            (label, both(&|levels| states(&cases, levels, columns)))
        };
        VersionStates {
            since: table.version.since,
            last: *table.opsets.end(),
            deprecated: table.spec.deprecated,
            all: both(&|levels| table.states(levels, columns)),
            types: table.types().into_iter().map(of_type).collect(),
            cases: table.cases.len(),
        }
    }
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
            let mut both = |states: [String; 2]| states.map(|states| self.rows.position(states));
            let all = both(version.all);
            let mut types = Vec::new();
            for (label, states) in version.types {
                let [required, recommended] = both(states);
                types.push([self.types.position(label), required, recommended]);
            }
            rows.push(VersionRow {
                since: version.since,
                last: version.last,
                deprecated: version.deprecated,
                all,
                types,
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
            suite: (env!("CARGO_PKG_VERSION"), digest.to_owned()),
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
            date: column.date.clone(),
            platform: column.platform.clone(),
            digest: column.digest.clone(),
            ir: column.accepts.as_ref().map(|accepts| range(accepts.ir)),
            opsets: column.accepts.as_ref().map(domains),
            remarks: column.remarks.clone(),
        }
    }
}
