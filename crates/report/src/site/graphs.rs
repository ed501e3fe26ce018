//! Data of the page of graphs: the patterns by topic with the state of each column, and a file for each pattern with its cases.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{Case, Level};
use onnx_conformance_cases::generate::{self, PlannedGraph, planned_graphs};
use onnx_conformance_cases::suite::{CaseGroup, GraphCases, GraphId, GraphRole, Source as _, SuiteError};
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::{Finding, Findings};
use onnx_conformance_harness::measure::{Measured, Severity};
use onnx_conformance_harness::run::DecodedCase;
use rayon::prelude::*;
use serde::Serialize;

use crate::describe_case;
use crate::site::column::Column;
use crate::site::findings::FindingText;
use crate::site::front;
use crate::site::intern::Interned;
use crate::site::operator::letter;
use crate::site::severity::{CellState, Ending};

/// Error while collecting the graphs.
#[derive(Debug, thiserror::Error)]
pub enum GraphsError {
    /// A case cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// An expectation file is invalid.
    #[error(transparent)]
    Expectations(#[from] ExpectationError),
}

/// Data of the page.
#[derive(Debug, Serialize)]
pub(crate) struct GraphsData {
    topics: Vec<TopicRow>,
    /// States of all columns, separated by spaces.
    rows: Vec<String>,
    /// Positions of the columns that were measured on graphs.
    measured: BTreeSet<usize>,
}

#[derive(Debug, Serialize)]
struct TopicRow {
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "s")]
    summary: String,
    patterns: Vec<PatternRow>,
}

#[derive(Debug, Serialize)]
struct PatternRow {
    #[serde(rename = "n")]
    name: String,
    says: String,
    cases: usize,
    /// Position of the states.
    row: usize,
}

/// A topic before equal states are merged.
pub(crate) struct Topic {
    name: String,
    summary: String,
    patterns: Vec<(PatternData, Vec<CellState>)>,
}

/// Data of a pattern.
#[derive(Debug, Serialize)]
pub(crate) struct PatternData {
    #[serde(skip)]
    name: String,
    says: String,
    /// Reports of wrong rewrites: `microsoft/onnxruntime#32105`.
    threads: Vec<String>,
    forms: Vec<FormData>,
    /// Letters of all columns.
    outcomes: Vec<String>,
    findings: Vec<GraphFinding>,
}

/// The good form, a near miss or a context.
#[derive(Debug, Serialize)]
struct FormData {
    /// The name in ids: `good`, `near/other_permutations`, `in/in_branch`.
    #[serde(rename = "n")]
    name: String,
    /// The condition that a near miss does not meet, or what a context changes.
    why: String,
    /// True if it is about special values.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    edge: bool,
    /// The end of each id, and the position of its outcomes.
    cases: Vec<(String, usize)>,
    /// Model, inputs and expected outputs of the first case. A context has the values of the good form.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A finding that cases of a pattern show.
#[derive(Debug, Serialize)]
struct GraphFinding {
    #[serde(flatten)]
    text: FindingText,
    /// The cases, without the prefix of the pattern.
    cases: Vec<String>,
}

/// Collects every topic with the results of every column.
pub(crate) fn topics(columns: &[Column], findings: &Findings) -> Result<Vec<Topic>, GraphsError> {
    let files = GraphCases::topics()?;
    files.par_iter().map(|file| Topic::new(file, columns, findings)).collect()
}

/// Merges equal states.
pub(crate) fn data(topics: &[Topic]) -> GraphsData {
    let (mut rows, mut measured) = (Interned::default(), BTreeSet::new());
    let mut pattern = |(pattern, states): &(PatternData, Vec<CellState>)| {
        let known = states.iter().enumerate().filter(|(_, state)| **state != CellState::Untested);
        measured.extend(known.map(|(column, _)| column));
        PatternRow {
            name: pattern.name.clone(),
            says: pattern.says.clone(),
            cases: pattern.forms.iter().map(|form| form.cases.len()).sum(),
            row: rows.position(front::text(states)),
        }
    };
    let topic = |topic: &Topic| TopicRow {
        name: topic.name.clone(),
        summary: topic.summary.clone(),
        patterns: topic.patterns.iter().map(&mut pattern).collect(),
    };
    let topics = topics.iter().map(topic).collect();
    GraphsData { topics, rows: rows.into_texts(), measured }
}

impl Topic {
    fn new(file: &generate::Topic, columns: &[Column], findings: &Findings) -> Result<Topic, GraphsError> {
        let name = file.name().to_owned();
        let group = CaseGroup { name: format!("{}/{name}", GraphCases::GROUP) };
        let planned = planned_graphs(file).map_err(SuiteError::from)?;
        let made = made_cases(&group, &planned)?;
        let mut patterns = Vec::new();
        for pattern in file.patterns() {
            let prefix = format!("{}/{name}/{}/", GraphCases::GROUP, pattern.name);
            let own: Vec<OwnCase<'_>> =
                planned.iter().filter_map(|graph| OwnCase::new(graph, made.get(&graph.id), &prefix, columns)).collect();
            let mut outcomes = Interned::default();
            let forms = forms(&own, &mut outcomes);
            let states = (0..columns.len()).map(|column| state(&own, &forms, column)).collect();
            let data = PatternData {
                name: pattern.name.clone(),
                says: pattern.says.clone(),
                threads: pattern.threads.clone(),
                findings: findings_of(&own, columns, findings)?,
                forms,
                outcomes: outcomes.into_texts(),
            };
            patterns.push((data, states));
        }
        Ok(Topic { name, summary: file.summary().trim().to_owned(), patterns })
    }

    /// Returns the data of each pattern, with its path in the site.
    pub(crate) fn files(&self) -> impl Iterator<Item = (String, &PatternData)> {
        self.patterns.iter().map(|(pattern, _)| (format!("data/graph/{}/{}.js", self.name, pattern.name), pattern))
    }
}

/// Makes the cases that the page shows, the first one of each form that is no context, and those whose models have to be read. Returns
/// them by id.
fn made_cases(group: &CaseGroup, planned: &[PlannedGraph]) -> Result<BTreeMap<String, Case>, GraphsError> {
    let mut forms = BTreeSet::new();
    let mut is_shown = |graph: &PlannedGraph| {
        let parsed = GraphId::parse(&graph.id).filter(|parsed| parsed.role != GraphRole::Context);
        parsed.is_some_and(|parsed| forms.insert((parsed.pattern.to_owned(), parsed.role, parsed.name.to_owned())))
    };
    let wanted: BTreeSet<&str> = planned
        .iter()
        .filter(|graph| is_shown(graph) || graph.versions.is_none())
        .map(|graph| graph.id.as_str())
        .collect();
    let cases = GraphCases.load(group, &|id| wanted.contains(id))?;
    Ok(cases.into_iter().map(|case| (case.id.clone(), case)).collect())
}

/// A case of a pattern.
struct OwnCase<'a> {
    graph: &'a PlannedGraph,
    /// The case, if it was made.
    case: Option<&'a Case>,
    /// The name of the form, and the rest of the id.
    form: &'a str,
    rest: &'a str,
    /// Outcome per column.
    measured: Vec<Measured>,
}

impl<'a> OwnCase<'a> {
    /// Returns `None` for a case of another pattern.
    fn new(graph: &'a PlannedGraph, case: Option<&'a Case>, prefix: &str, columns: &[Column]) -> Option<OwnCase<'a>> {
        let path = graph.id.strip_prefix(prefix)?;
        let parts = if path.starts_with("good") { 1 } else { 2 };
        let end = path.match_indices('/').nth(parts - 1).map_or(path.len(), |(at, _)| at);
        let (form, rest) = path.split_at(end);
        let decoded = case.map(DecodedCase::new);
        let measured = columns.iter().map(|column| column.measured_graph(graph, decoded.as_ref())).collect();
        Some(OwnCase { graph, case, form, rest, measured })
    }

    fn ending(&self, column: usize) -> Ending {
        let measured = self.measured.get(column).copied().unwrap_or(Measured::Unknown);
        Ending::from_measured(measured, Level::Required, self.graph.is_edge)
    }
}

/// Groups cases by form, in their order.
fn forms(cases: &[OwnCase<'_>], outcomes: &mut Interned) -> Vec<FormData> {
    let mut forms: Vec<FormData> = Vec::new();
    for OwnCase { graph, case, form, rest, measured } in cases {
        let outcome = outcomes.position(measured.iter().map(|measured| letter(*measured)).collect());
        let row = ((*rest).to_owned(), outcome);
        match forms.iter_mut().find(|known| known.name == *form) {
            Some(known) => known.cases.push(row),
            None => forms.push(FormData {
                name: (*form).to_owned(),
                why: graph.note.clone(),
                edge: graph.is_edge,
                cases: vec![row],
                text: case.filter(|_| !form.starts_with("in/")).map(describe_case::describe_parts),
            }),
        }
    }
    forms
}

/// Returns the state of a pattern on a column. It counts forms.
fn state(cases: &[OwnCase<'_>], forms: &[FormData], column: usize) -> CellState {
    let of_form = |(at, form): (usize, &FormData)| {
        let own = cases.iter().filter(|case| case.form == form.name);
        own.map(|case| (at, case.ending(column))).collect::<Vec<_>>()
    };
    CellState::from_endings(forms.iter().enumerate().flat_map(of_form))
}

/// Returns the findings that failing cases of a pattern show.
fn findings_of(
    cases: &[OwnCase<'_>],
    columns: &[Column],
    findings: &Findings,
) -> Result<Vec<GraphFinding>, ExpectationError> {
    let fails = |case: &OwnCase<'_>, finding: &Finding| {
        columns.iter().enumerate().any(|(at, column)| {
            let is_failure =
                matches!(case.ending(at), Ending::Judged(severity) if !matches!(severity, Severity::Right | Severity::Declined));
            column.runtime() == finding.runtime && is_failure
        })
    };
    let mut found = Vec::new();
    for finding in findings.all().filter(|finding| finding.has_graphs()) {
        let shown = cases.iter().filter(|case| fails(case, finding) && finding.is_about(&case.graph.id));
        let shown: Vec<String> = shown.map(|case| format!("{}{}", case.form, case.rest)).collect();
        if !shown.is_empty() {
            found.push(GraphFinding { text: FindingText::new(finding)?, cases: shown });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_its_forms_and_the_states_of_every_column() {
        let columns = Column::committed().unwrap();
        let files = GraphCases::topics().unwrap();
        let file = files.iter().find(|file| file.name() == "transposes").unwrap();
        let topic = Topic::new(file, &columns, Findings::embedded().unwrap()).unwrap();
        let (pattern, states) =
            topic.patterns.iter().find(|(it, _)| it.name == "transposed_operand_of_product").unwrap();
        let names: Vec<&str> = pattern.forms.iter().map(|form| form.name.as_str()).collect();
        assert_eq!(names.first(), Some(&"good"));
        assert!(names.contains(&"near/vector_behind") && names.contains(&"in/in_branch"), "{names:?}");
        let newest = columns.iter().rposition(|column| column.runtime() == "onnxruntime").unwrap();
        assert!(matches!(states[newest], CellState::Worst(Severity::Wrong, ..)), "{states:?}");
        let finding = pattern.findings.iter().find(|finding| finding.text.id == "transposed-matrix-by-vector").unwrap();
        assert!(finding.cases.contains(&"near/vector_behind/T=float".to_owned()), "{finding:?}");
        let other = columns.iter().position(|column| column.runtime() == "opencv").unwrap();
        assert_eq!(states[other], CellState::Untested, "opencv was not given graphs");
        let page = data(&[topic]);
        assert!(page.measured.contains(&newest) && !page.measured.contains(&other));
    }
}
