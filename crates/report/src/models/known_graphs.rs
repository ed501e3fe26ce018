//! Search in users' models for graphs that measured runtimes get wrong.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

use onnx_conformance_check::infer::{Bodies, Inferred, NodeId};
use onnx_conformance_check::pattern::{ModelIndex, Pattern, Strictness};
use onnx_conformance_harness::expectations::Entry;
use onnx_conformance_harness::findings::{Finding, Findings};
use onnx_conformance_harness::measure::Measurement;
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::spec::OperatorVersion;
use serde::Serialize;

use crate::models::mentions::{FindingReport, short_place};

/// The graphs, generated from the findings and the measurements.
const TEXT: &str = include_str!("known_graphs.txt");

/// Beginning of the first line of each graph.
pub(crate) const MARK: &str = "== ";

/// Graph of a failing case.
#[derive(Debug)]
pub(crate) struct KnownGraph {
    /// Full id of the finding.
    pub(crate) finding: String,
    /// Id of the case.
    pub(crate) case: String,
    /// Versions of the runtime that fail.
    pub(crate) versions: Vec<String>,
    pub(crate) strictness: Strictness,
    pub(crate) inputs: FailingInputs,
    /// Operator versions of the nodes.
    pub(crate) operators: BTreeSet<OperatorVersion>,
    /// The model as text.
    pub(crate) model: String,
    /// The model as a pattern, made on first use.
    pub(crate) pattern: OnceLock<Option<Pattern>>,
}

/// Inputs that make a graph fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FailingInputs {
    /// No case with the same graph passes.
    Any,
    /// A case with the same graph and other inputs passes.
    Some,
    /// Inputs or constants with special values, such as infinities, zeros of a sign, or ties.
    Special,
}

/// A graph in a model that a runtime gets wrong.
#[derive(Clone, Debug, Serialize)]
pub struct GraphReport {
    /// The finding about it.
    pub finding: FindingReport,
    /// The case that has the same graph.
    pub case: String,
    /// Outcome of the case.
    pub outcome: Outcome,
    /// Inputs that make it fail.
    pub inputs: FailingInputs,
    /// Number of places in the model.
    pub places: usize,
    /// The nodes of the first place.
    pub nodes: Vec<String>,
    /// Measured versions of the runtime with the fault.
    pub versions: String,
}

impl FailingInputs {
    const ALL: [FailingInputs; 3] = [FailingInputs::Any, FailingInputs::Some, FailingInputs::Special];

    const fn name(self) -> &'static str {
        match self {
            FailingInputs::Any => "any",
            FailingInputs::Some => "some",
            FailingInputs::Special => "special",
        }
    }

    /// Returns the words of a report.
    const fn words(self) -> &'static str {
        match self {
            FailingInputs::Any => "",
            FailingInputs::Some => " for some inputs",
            FailingInputs::Special => " for special values",
        }
    }
}

impl KnownGraph {
    /// Parses one graph of the file.
    fn parse(text: &str) -> Option<KnownGraph> {
        let mut lines = text.splitn(3, '\n');
        let mut head = lines.next()?.split(' ');
        let (finding, case, versions) = (head.next()?, head.next()?, head.next()?);
        let (strictness, inputs) = (head.next()?.parse().ok()?, head.next()?);
        let operators = lines.next()?.split(' ').map(|operator| operator.parse().ok()).collect::<Option<_>>()?;
        Some(KnownGraph {
            finding: finding.to_owned(),
            case: case.to_owned(),
            versions: versions.split(',').map(str::to_owned).collect(),
            strictness,
            inputs: FailingInputs::ALL.into_iter().find(|known| known.name() == inputs)?,
            operators,
            model: lines.next()?.to_owned(),
            pattern: OnceLock::new(),
        })
    }

    /// Returns the text that is parsed back.
    pub(crate) fn to_text(&self) -> String {
        let KnownGraph { finding, case, strictness, inputs, model, .. } = self;
        let operators: Vec<String> = self.operators.iter().map(OperatorVersion::qualified).collect();
        let (versions, inputs) = (self.versions.join(","), inputs.name());
        format!("{MARK}{finding} {case} {versions} {strictness} {inputs}\n{}\n{}\n", operators.join(" "), model.trim())
    }

    pub(crate) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.get_or_init(|| Pattern::from_model(&parse_model(&self.model).ok()?)).as_ref()
    }

    fn runtime(&self) -> &str {
        self.finding.split('/').next().unwrap_or_default()
    }
}

/// Returns the graphs of all findings.
pub(crate) fn known_graphs() -> &'static [KnownGraph] {
    static ALL: OnceLock<Vec<KnownGraph>> = OnceLock::new();
    // A test reads every graph.
    ALL.get_or_init(|| TEXT.split(MARK).skip(1).filter_map(KnownGraph::parse).collect())
}

/// Finds the graphs in a model that a measured version of a runtime gets wrong, one report for each finding.
pub(super) fn graphs_in(inferred: &Inferred<'_>, measurement: &Measurement) -> Vec<GraphReport> {
    let of_version = |graph: &&KnownGraph| {
        graph.runtime() == measurement.runtime() && graph.versions.iter().any(|it| it == measurement.version())
    };
    let graphs: Vec<&KnownGraph> = known_graphs().iter().filter(of_version).collect();
    let mut found: Vec<GraphReport> = Vec::new();
    if graphs.is_empty() {
        return found;
    }
    let index = ModelIndex::new(inferred);
    let mut places: BTreeSet<(String, BTreeSet<NodeId>)> = BTreeSet::new();
    for graph in graphs {
        if !graph.operators.iter().all(|operator| index.has(operator)) {
            continue;
        }
        let matches = graph.pattern().map(|pattern| pattern.find(&index, graph.strictness)).unwrap_or_default();
        for nodes in matches.iter().map(|found| &found.nodes) {
            if !places.insert((graph.finding.clone(), nodes.iter().copied().collect())) {
                continue;
            }
            match found.iter_mut().find(|report| report.finding.id == graph.finding) {
                Some(report) => report.places += 1,
                None => found.extend(report(graph, nodes, &inferred.bodies, measurement)),
            }
        }
    }
    found
}

fn report(graph: &KnownGraph, nodes: &[NodeId], bodies: &Bodies<'_>, measurement: &Measurement) -> Option<GraphReport> {
    let finding: &Finding = Findings::embedded().ok()?.named(&graph.finding).into_iter().next()?;
    Some(GraphReport {
        finding: FindingReport { id: finding.full_id(), title: finding.title.clone() },
        case: graph.case.clone(),
        outcome: measurement.entry(&graph.case).map(Entry::outcome)?,
        inputs: graph.inputs,
        places: 1,
        nodes: nodes.iter().map(|node| short_place(&bodies.place_of(*node))).collect(),
        versions: finding.measured_in().ok()?.to_string(),
    })
}

impl fmt::Display for GraphReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GraphReport { finding: FindingReport { id, title }, places, nodes, versions, .. } = self;
        let ending = match self.outcome {
            Outcome::Mismatch | Outcome::WrongShape | Outcome::WrongType => "wrong together",
            outcome if outcome.is_without_answer() => "crash together",
            _ => "fail together",
        };
        let more = match places {
            1 => String::new(),
            2 => ", and in 1 more place".to_owned(),
            places => format!(", and in {} more places", places - 1),
        };
        let nodes = nodes.join(", ");
        write!(f, "{nodes}{more}: {ending}{}: {title}; finding {id}; measured in {versions}", self.inputs.words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::case::CaseId;
    use onnx_conformance_cases::suite::{CaseGroup, GraphCases, Source as _};
    use onnx_conformance_check::Limits;
    use onnx_conformance_check::infer::infer_facts;
    use onnx_conformance_harness::measure::Measurements;
    use onnx_conformance_reference::proto::{Message as _, ModelProto};
    use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs};

    /// Returns the model of a case.
    fn model(id: &str) -> ModelProto {
        let group = CaseGroup { name: id.split('/').take(2).collect::<Vec<_>>().join("/") };
        let cases = GraphCases.load(&group, &|other| other == id).unwrap();
        ModelProto::decode(cases.first().unwrap_or_else(|| panic!("{id}")).model.clone()).unwrap()
    }

    #[test]
    fn every_graph_of_the_file_is_read_and_written_alike() {
        let graphs = known_graphs();
        assert_eq!(graphs.len(), TEXT.matches(MARK).count());
        let text: String = graphs.iter().map(KnownGraph::to_text).collect();
        assert_eq!(TEXT.split_once(MARK).map(|(_, graphs)| format!("{MARK}{graphs}")).unwrap_or_default(), text);
        for graph in graphs {
            let pattern = graph.pattern().unwrap_or_else(|| panic!("{}", graph.case));
            assert_eq!(pattern.operators().into_iter().cloned().collect::<BTreeSet<_>>(), graph.operators);
        }
    }

    #[test]
    fn the_sample_of_each_finding_is_noted_in_every_version_that_fails_it() {
        let samples = Findings::embedded().unwrap().all().filter(|finding| finding.sample.starts_with("graph/"));
        let mut noted = 0;
        for finding in samples {
            let model = model(&finding.sample);
            // Nodes with bodies are not compared.
            if model.graph.iter().flat_map(|graph| &graph.node).any(|node| matches!(node.op_type(), "Loop" | "Scan")) {
                continue;
            }
            // A function is compared by its nodes, so a call that a runtime takes for the operator of the same name is not.
            let is_operator = |name: &str| Specs::embedded().versions(DEFAULT_DOMAIN, name).next().is_some();
            if model.functions.iter().any(|function| is_operator(function.name())) {
                continue;
            }
            let inferred = infer_facts(&model, &Limits::default());
            for version in &finding.measured_in().unwrap().fails {
                let measurement = Measurements::embedded().get(finding.runtime, version).unwrap().unwrap();
                let found = graphs_in(&inferred, measurement);
                let is_named = found.iter().any(|graph| graph.finding.id == finding.full_id());
                assert!(is_named, "{} {version}: {found:?}", finding.full_id());
                noted += 1;
            }
        }
        assert!(noted > 50, "{noted}");
    }

    #[test]
    fn a_good_form_that_passes_is_not_noted() {
        let all = Measurements::embedded();
        let newest = all.newest("onnxruntime").unwrap().unwrap();
        for id in [
            "graph/transposes/pair_that_cancels/good/T=float",
            "graph/matmuls/transpose_before_matmul/good/T=float",
            "graph/slices/slice_of_everything/good/T=float",
        ] {
            assert!(newest.entry(CaseId::parse(id).path).is_none(), "{id} fails");
            let model = model(id);
            let found = graphs_in(&infer_facts(&model, &Limits::default()), newest);
            assert!(found.is_empty(), "{id}: {found:?}");
        }
    }
}
