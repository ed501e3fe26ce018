//! The file of graphs that measured runtimes get wrong: made from findings, measurements and the cases below `graph/`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use onnx_conformance_cases::case::{Case, CaseId};
use onnx_conformance_cases::suite::{GraphCases, Source as _, SuiteError};
use onnx_conformance_check::Limits;
use onnx_conformance_check::infer::{Inferred, infer_facts};
use onnx_conformance_check::pattern::{Constants, ModelIndex, Pattern, Sizes, Strictness};
use onnx_conformance_harness::findings::{Finding, Findings};
use onnx_conformance_harness::measure::{Measurement, Measurements};
use onnx_conformance_reference::model::text::print_model;
use onnx_conformance_reference::proto::{Message as _, ModelProto};
use rayon::prelude::*;

use crate::models::{FailingInputs, KnownGraph};

/// Path of the file in the project.
pub const PATH: &str = "crates/report/src/models/known_graphs.txt";

/// Beginning of the ids of graphs. Findings with other samples are about single nodes.
const GRAPHS: &str = "graph/";

/// Contexts that add nodes or outputs, which no other model has.
const CONTEXTS: [&str; 3] = ["/in/intermediate_outputs", "/in/intermediates_read_twice", "/in/weights_behind_identity"];

/// Maximum number of elements of a constant in the file.
const MAX_ELEMENTS: usize = 4096;

/// Strictness of a graph that also passes, with other inputs.
const STRICTEST: Strictness = Strictness::new(Sizes::Ones, Constants::Equal);

/// Failure to make the file.
#[derive(Debug, thiserror::Error)]
pub enum KnownGraphsError {
    /// A case cannot be made.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A measurement cannot be read.
    #[error(transparent)]
    Measurement(#[from] onnx_conformance_harness::expectations::ExpectationError),
    /// The findings cannot be read.
    #[error(transparent)]
    Finding(#[from] onnx_conformance_harness::findings::FindingError),
    /// The text syntax cannot express a model.
    #[error("{case}: {error}")]
    Print {
        /// The case.
        case: String,
        /// The reason.
        error: String,
    },
}

/// The cases below `graph/`, with their models.
struct GraphModels {
    cases: Vec<Case>,
    models: Vec<ModelProto>,
}

/// A failing case of a finding.
struct Failing {
    finding: &'static Finding,
    /// Position of the case.
    at: usize,
    pattern: Pattern,
    /// Versions that fail.
    versions: Vec<&'static Measurement>,
}

/// Returns the text of the file. A graph of a failing case is searched as tolerantly as possible: no case that the same version
/// passes may contain it.
pub fn page(command: &str) -> Result<String, KnownGraphsError> {
    let all = GraphModels::load()?;
    let inferred: Vec<Inferred<'_>> =
        all.models.par_iter().map(|model| infer_facts(model, &Limits::default())).collect();
    let indices: Vec<ModelIndex<'_>> = inferred.par_iter().map(ModelIndex::new).collect();
    let mut text = format!(
        "# Written by `{command}` from the findings and the measurements; do not edit. Each graph: finding, case, versions, \
         strictness and failing inputs; operators; model.\n"
    );
    for finding in Findings::embedded()?.all().filter(|finding| finding.sample.starts_with(GRAPHS)) {
        let failing = failing_cases(finding, &all)?;
        let known: Vec<(&Failing, KnownGraph)> = failing
            .par_iter()
            .map(|failing| known_graph(failing, &all, &indices).map(|graph| (failing, graph)))
            .collect::<Result<_, _>>()?;
        let mut kept: Vec<(&Failing, KnownGraph)> = Vec::new();
        for (failing, graph) in known {
            if !kept.iter().any(|(other, kept)| covers((other, kept), (failing, &graph), &indices)) {
                text.push_str(&graph.to_text());
                kept.push((failing, graph));
            }
        }
    }
    Ok(text)
}

impl GraphModels {
    fn load() -> Result<GraphModels, SuiteError> {
        let groups = GraphCases.groups()?;
        let cases = groups.par_iter().map(|group| GraphCases.load(group, &|_| true));
        let cases: Vec<Case> = cases.collect::<Result<Vec<_>, SuiteError>>()?.into_iter().flatten().collect();
        // A case's own model can be decoded.
        let models = cases.iter().map(|case| ModelProto::decode(case.model.clone()).unwrap_or_default()).collect();
        Ok(GraphModels { cases, models })
    }
}

/// Returns the failing graphs of a finding, with the sample first and good forms before others.
fn failing_cases(finding: &'static Finding, all: &GraphModels) -> Result<Vec<Failing>, KnownGraphsError> {
    let measurements = Measurements::embedded().all()?;
    let of_runtime: Vec<&Measurement> =
        measurements.into_iter().filter(|measurement| measurement.runtime() == finding.runtime).collect();
    let is_usual =
        |case: &Case| !CONTEXTS.iter().any(|context| case.id.ends_with(context)) || case.id == finding.sample;
    let mut found = Vec::new();
    for (at, case) in all.cases.iter().enumerate().filter(|(_, case)| is_usual(case) && finding.is_about(&case.id)) {
        let fails = |measurement: &&&Measurement| {
            measurement.entry(&case.id).is_some_and(|entry| {
                let outcome = entry.outcome();
                Findings::embedded().is_ok_and(|all| {
                    all.for_outcome(finding.runtime, &case.id, outcome).is_some_and(|it| it.id == finding.id)
                })
            })
        };
        let versions: Vec<&Measurement> = of_runtime.iter().filter(fails).copied().collect();
        let Some(model) = all.models.get(at).filter(|_| !versions.is_empty()) else { continue };
        if let Some(pattern) = Pattern::from_model(model) {
            found.push(Failing { finding, at, pattern, versions });
        }
    }
    let order = |failing: &Failing| {
        let id = all.cases.get(failing.at).map(|case| case.id.as_str()).unwrap_or_default();
        (id != finding.sample, !id.contains("/good"), !id.contains("/near/"), failing.at)
    };
    found.sort_by_key(order);
    Ok(found)
}

/// Makes the entry of a failing case.
fn known_graph(
    failing: &Failing,
    all: &GraphModels,
    indices: &[ModelIndex<'_>],
) -> Result<KnownGraph, KnownGraphsError> {
    let Failing { finding, at, pattern, versions } = failing;
    let operators: BTreeSet<_> = pattern.operators().into_iter().cloned().collect();
    let related: Vec<(&Case, &ModelIndex<'_>)> = all
        .cases
        .iter()
        .zip(indices)
        .filter(|(_, index)| operators.iter().all(|operator| index.has(operator)))
        .collect();
    let passes_somewhere = |strictness: &Strictness| {
        let contains = |index: &ModelIndex<'_>| !pattern.find(index, *strictness).is_empty();
        // A case without an entry counts as passing even before it is measured, so that a new case cannot make a search tolerant.
        let passes = |case: &Case| versions.iter().any(|version| version.entry(&case.id).is_none());
        related.iter().any(|(case, index)| passes(case) && contains(index))
    };
    let strictness = Strictness::ALL.into_iter().find(|strictness| !passes_somewhere(strictness));
    let case = &all.cases[*at];
    let printed = print_model(&ModelProto { producer_name: None, ..all.models[*at].clone() }, MAX_ELEMENTS);
    let model = printed.map_err(|error| KnownGraphsError::Print { case: case.id.clone(), error: error.to_string() })?;
    Ok(KnownGraph {
        finding: finding.full_id(),
        case: CaseId::parse(&case.id).path.to_owned(),
        versions: versions.iter().map(|version| version.version().to_owned()).collect(),
        strictness: strictness.unwrap_or(STRICTEST),
        inputs: match strictness {
            _ if case.is_edge => FailingInputs::Special,
            Some(_) => FailingInputs::Any,
            None => FailingInputs::Some,
        },
        operators,
        model,
        pattern: OnceLock::new(),
    })
}

/// Failing case with its graph.
type CaseGraph<'a> = (&'a Failing, &'a KnownGraph);

/// Returns true if every model with a graph also has another graph, whose versions include the first one's.
fn covers((other, known): CaseGraph<'_>, (failing, graph): CaseGraph<'_>, indices: &[ModelIndex<'_>]) -> bool {
    known.inputs == graph.inputs
        && graph.versions.iter().all(|version| known.versions.contains(version))
        && indices.get(failing.at).is_some_and(|index| !other.pattern.find(index, known.strictness).is_empty())
}
