//! Report on a search as data.

use onnx_conformance_cases::case::Named;
use onnx_conformance_check::finding::NodePlace;
use serde::Serialize;

use crate::describe_case::shown;
use crate::models::trace::answer::{Fault, Trace, TraceOutcome, Traced};

/// Report on a search, described by `docs/schema/trace.json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TraceReport {
    tool: &'static str,
    /// The model as named in the command.
    file: String,
    status: TraceStatus,
    /// The result in one line.
    summary: String,
    /// The folder that the nodes were written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    #[serde(flatten)]
    search: Option<SearchReport>,
}

/// Kind of result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum TraceStatus {
    /// The file contains no model.
    #[default]
    Unreadable,
    /// All outputs agree.
    Same,
    /// Some nodes differ.
    Found,
    /// The runtime fails on every model with the same versions.
    EveryModel,
    /// The whole file differs, but no part of it.
    OnlyWhole,
}

/// Part of the report on a search that ran.
#[derive(Clone, Debug, Serialize)]
struct SearchReport {
    runtime: String,
    reference: String,
    /// The inputs, such as `generated input 0` or the name of a folder.
    inputs: String,
    nodes: usize,
    /// End of the whole model, if it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<DifferenceReport>,
    random: Vec<NodePlace>,
    runs: RunsReport,
}

/// Number of runs on each side.
#[derive(Clone, Copy, Debug, Serialize)]
struct RunsReport {
    runtime: usize,
    reference: usize,
}

/// Nodes that differ.
#[derive(Clone, Debug, Serialize)]
struct DifferenceReport {
    fault: &'static str,
    cause: String,
    /// Number of nodes until the difference shows, if a small difference of one node grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    shows_behind: Option<usize>,
    text: String,
    nodes: Vec<NodePlace>,
    inputs: Vec<ValueReport>,
    expected: Vec<ValueReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<Vec<ValueReport>>,
}

/// A value, with the first of its elements as text.
#[derive(Clone, Debug, Serialize)]
struct ValueReport {
    name: String,
    #[serde(rename = "type")]
    value_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<usize>>,
    text: String,
}

impl TraceReport {
    /// Creates the report on a file without a model.
    pub fn unreadable(file: String, summary: String) -> TraceReport {
        TraceReport { tool: env!("CARGO_PKG_VERSION"), file, summary, ..TraceReport::default() }
    }

    /// Creates the report on the search in a file with these inputs.
    pub fn new(file: String, inputs: String, trace: &Trace) -> TraceReport {
        let (status, whole, difference) = match &trace.outcome {
            TraceOutcome::Same { .. } => (TraceStatus::Same, None, None),
            TraceOutcome::EveryModel { message } => (TraceStatus::EveryModel, Some(message), None),
            TraceOutcome::OnlyWhole { message } => (TraceStatus::OnlyWhole, Some(message), None),
            TraceOutcome::Found(found) => (TraceStatus::Found, Some(&found.whole), Some(DifferenceReport::new(found))),
        };
        let [runtime, reference] = trace.runs;
        let search = SearchReport {
            runtime: trace.runtime.clone(),
            reference: trace.reference.clone(),
            inputs,
            nodes: trace.nodes,
            whole: whole.cloned(),
            difference,
            random: trace.random.clone(),
            runs: RunsReport { runtime, reference },
        };
        TraceReport { status, search: Some(search), ..TraceReport::unreadable(file, trace.summary()) }
    }
}

impl DifferenceReport {
    fn new(found: &Traced) -> DifferenceReport {
        let (fault, shows_behind) = match found.fault {
            Fault::Node => ("node", None),
            Fault::Grows { nodes } => ("grows", Some(nodes)),
            Fault::Graph => ("graph", None),
        };
        DifferenceReport {
            fault,
            cause: found.cause(),
            shows_behind,
            text: found.shown.clone(),
            nodes: found.places.clone(),
            inputs: reports(&found.inputs),
            expected: reports(&found.expected),
            actual: found.actual.as_deref().map(reports),
        }
    }
}

fn reports(values: &[Named]) -> Vec<ValueReport> {
    let report = |Named { name, value }: &Named| ValueReport {
        name: name.clone(),
        value_type: value.value_type().to_string(),
        shape: value.as_tensor().map(|tensor| tensor.shape().to_vec()),
        text: shown(value),
    };
    values.iter().map(report).collect()
}
