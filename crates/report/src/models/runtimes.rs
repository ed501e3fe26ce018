//! Results of a model on measured runtimes, node by node.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use onnx_conformance_check::Limits;
use onnx_conformance_check::facts::NodeFacts;
use onnx_conformance_check::infer::{Inferred, NodeId, runtime_with_kernel};
use onnx_conformance_check::validity::ModelFacts;
use onnx_conformance_harness::findings::Findings;
use onnx_conformance_harness::measure::{Measurement, NodeAnswer, NodeKind, NodeVerdict, distance_text};
use onnx_conformance_reference::spec::{Specs, canonical_domain};
use serde::Serialize;

use crate::models::known_graphs::{GraphReport, graphs_in};
use crate::models::mentions::{FindingReport, short_place};
use crate::models::probe::{Probed, RuntimeProbe, probe};
use crate::models::single_node::Origin;
use crate::models::trace::{TriedModel, TriedResult, try_model};

/// Results of a model on a measured runtime.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeReport {
    /// The runtime.
    pub runtime: String,
    /// Its version.
    pub version: String,
    /// The day of the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Platform of the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// Version that was started to try nodes that no measurement covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// True if the model breaks rules of ONNX. Then only the whole model was tried.
    #[serde(skip)]
    pub is_invalid: bool,
    /// Overall verdict.
    pub verdict: RuntimeVerdict,
    /// Result of trying the whole model on the started version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<TriedModel>,
    /// Reason why the whole model could not be tried on the started version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<String>,
    /// Reason why the runtime does not accept the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The nodes by kind, worst first.
    pub kinds: Vec<KindReport>,
    /// Graphs in the model that the measured version gets wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<GraphReport>,
}

/// Verdict on a model for a runtime, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuntimeVerdict {
    /// Similar cases pass for every node.
    Runs,
    /// Like `Runs`, although outputs of some nodes are inexact.
    Inexact,
    /// Like `Runs`, although for some nodes no case has all settings.
    LikelyRuns,
    /// The runtime loaded the model, but its result is unknown.
    Loads,
    /// Some nodes are unknown.
    Unknown,
    /// Some node gives a wrong result on some processors.
    WrongOnSomeProcessors,
    /// Some cases similar to a node are declined or fail, others pass.
    MayFail,
    /// Some node gives a result that violates the standard, or crashes the runtime.
    WrongSomewhere,
    /// Every case similar to a node fails, and not all of them are declined.
    FailsWhenRun,
    /// The file is not accepted, or every case similar to some node is declined.
    WillNotLoad,
}

impl fmt::Display for RuntimeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RuntimeVerdict::Runs => "runs",
            RuntimeVerdict::Inexact => "runs, inexact",
            RuntimeVerdict::LikelyRuns => "likely runs",
            RuntimeVerdict::Loads => "loads",
            RuntimeVerdict::Unknown => "unknown",
            RuntimeVerdict::WrongOnSomeProcessors => "wrong on some processors",
            RuntimeVerdict::MayFail => "may fail",
            RuntimeVerdict::WrongSomewhere => "wrong somewhere",
            RuntimeVerdict::FailsWhenRun => "fails when run",
            RuntimeVerdict::WillNotLoad => "will not load",
        })
    }
}

/// The nodes of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindReport {
    /// The operator version with the types of its type parameters: `ai.onnx/Resize-19 T1=float`.
    pub kind: String,
    /// The settings: `mode=cubic antialias rank=4`.
    pub settings: String,
    /// Number of nodes of the kind.
    pub nodes: usize,
    /// Name of the first node.
    pub first: String,
    /// Id of the first node.
    #[serde(skip)]
    pub(super) id: Option<NodeId>,
    /// Answer of the measurement, or of the probe.
    #[serde(flatten)]
    pub answer: NodeAnswer,
    /// Finding for the answer's case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<FindingReport>,
}

/// Nodes of a model by kind, and calls of operators that ONNX does not have.
#[derive(Debug, Default)]
pub(super) struct NodeKinds {
    kinds: BTreeMap<NodeKind, NodeGroup>,
    others: BTreeMap<ForeignCall, NodeGroup>,
}

/// Kind of a node as a [`KindReport`] has it: the operator version with its types, and the settings.
pub(super) type KindLabel = (String, String);

/// Returns the kind of a node; `None` for a call of a function of the model.
pub(super) fn kind_label(inferred: &Inferred<'_>, id: NodeId) -> Option<KindLabel> {
    let facts = inferred.node_facts(id)?;
    if inferred.bodies.function_of(facts.node).is_some() {
        return None;
    }
    Some(match NodeKind::from_facts(&facts) {
        Some(kind) => (kind.to_string(), kind.settings.to_string()),
        None => foreign_label(&foreign_call(&facts)),
    })
}

/// Returns the call of an operator that ONNX does not have.
fn foreign_call(facts: &NodeFacts<'_>) -> ForeignCall {
    let name = format!("{}/{}", canonical_domain(facts.node.domain()), facts.node.op_type());
    let input = |position: usize| facts.inputs.get(position)?.as_ref()?.value_type.clone();
    (name, runtime_with_kernel(facts.node.domain(), facts.node.op_type(), input))
}

fn foreign_label((operator, with_kernel): &ForeignCall) -> KindLabel {
    (operator.clone(), with_kernel.map(|runtime| format!("kernel={runtime}")).unwrap_or_default())
}

/// Operator that ONNX does not have, and the runtime that is known to have a kernel for the types of the node.
type ForeignCall = (String, Option<&'static str>);

/// Group of nodes of one kind: their number and the first one.
#[derive(Debug)]
struct NodeGroup {
    count: usize,
    id: NodeId,
    place: String,
}

impl NodeKinds {
    /// Groups the nodes of a model.
    pub(super) fn from_inferred(inferred: &Inferred<'_>) -> NodeKinds {
        let mut all = NodeKinds::default();
        for id in inferred.nodes() {
            let Some(facts) = inferred.node_facts(id) else { continue };
            let first = || NodeGroup { count: 0, id, place: short_place(&inferred.bodies.place_of(id)) };
            if inferred.bodies.function_of(facts.node).is_some() {
                continue;
            }
            let group = if let Some(kind) = NodeKind::from_facts(&facts) {
                all.kinds.entry(kind).or_insert_with(first)
            } else {
                all.others.entry(foreign_call(&facts)).or_insert_with(first)
            };
            group.count += 1;
        }
        all
    }
}

/// A requested runtime.
pub(super) enum AskedRuntime<'a> {
    /// Answers from measurements only.
    Measured(&'a Measurement),
    /// Answers from measurements, and from runs of nodes on the started runtime.
    Started(&'a RuntimeProbe),
}

impl<'a> AskedRuntime<'a> {
    fn measurement(&self) -> Option<&'a Measurement> {
        match self {
            AskedRuntime::Measured(measurement) => Some(measurement),
            AskedRuntime::Started(probe) => probe.measurement,
        }
    }

    /// Returns the answer for a kind of node: measured, or else probed with its first node if `probes`.
    fn answer(&self, kind: &NodeKind, first: NodeId, origin: &Origin<'_>, probes: bool) -> NodeAnswer {
        let measured = self.measurement().map_or_else(NodeAnswer::unknown, |measurement| measurement.answer(kind));
        match self {
            AskedRuntime::Started(runtime) if probes && measured.verdict > NodeVerdict::Inexact => {
                let outcome = match origin.single_node(first) {
                    Ok(model) => probe(&*runtime.host, &model),
                    Err(error) => Probed::NotProbed(error.to_string()),
                };
                match outcome {
                    Probed::Verdict(verdict, reason) => probed(verdict, reason),
                    Probed::NotProbed(why) => NodeAnswer { reason: Some(format!("not probed: {why}")), ..measured },
                }
            }
            _ => measured,
        }
    }
}

/// Answer of a node that ran on the runtime itself.
fn probed(verdict: NodeVerdict, reason: Option<String>) -> NodeAnswer {
    NodeAnswer { verdict, reason, is_probed: true, ..NodeAnswer::unknown() }
}

impl RuntimeReport {
    /// Creates the report on a model for a runtime.
    pub(super) fn new(
        runtime: &AskedRuntime<'_>,
        facts: &ModelFacts,
        nodes: &NodeKinds,
        origin: &Origin<'_>,
        limits: &Limits,
    ) -> RuntimeReport {
        let measurement = runtime.measurement();
        let (tried, why_not) = match runtime {
            AskedRuntime::Measured(_) => (None, None),
            AskedRuntime::Started(probe) => match try_file(probe, origin, limits) {
                Ok(tried) => (Some(tried), None),
                Err(why) => (None, Some(why)),
            },
        };
        // A whole model that was tried says more than its nodes.
        let probes =
            tried.as_ref().is_none_or(|tried| tried.result == TriedResult::Loads) && !limits.deadline.is_over();
        let kind = |(kind, group): (&NodeKind, &NodeGroup)| {
            let answer = match &tried {
                Some(tried) if tried.result == TriedResult::Runs => probed(NodeVerdict::Runs, None),
                _ => runtime.answer(kind, group.id, origin, probes),
            };
            KindReport {
                kind: kind.to_string(),
                settings: kind.settings.to_string(),
                nodes: group.count,
                first: group.place.clone(),
                id: Some(group.id),
                finding: measurement.and_then(|measurement| shown_finding(measurement.runtime(), &answer)),
                answer,
            }
        };
        let declaration = match runtime {
            AskedRuntime::Measured(_) => None,
            AskedRuntime::Started(probe) => Some(probe.host.declaration()),
        };
        let (declared_name, started) = declaration.map(|it| (it.name, it.version)).unzip();
        let name = measurement.map(|it| it.runtime().to_owned()).or(declared_name).unwrap_or_default();
        let mut kinds: Vec<KindReport> = nodes.kinds.iter().map(kind).collect();
        kinds.extend(nodes.others.iter().map(|(call, group)| KindReport::of_foreign_call(call, group, &name)));
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.answer.verdict));
        let refused = measurement.and_then(|measurement| refusal(measurement, facts));
        let worst = kinds.iter().map(|kind| runtime_verdict(kind.answer.verdict)).max().unwrap_or(RuntimeVerdict::Runs);
        RuntimeReport {
            runtime: name,
            version: measurement.map(|it| it.version().to_owned()).or_else(|| started.clone()).unwrap_or_default(),
            date: measurement.and_then(Measurement::date).map(str::to_owned),
            platform: measurement.and_then(Measurement::platform).map(str::to_owned),
            started,
            is_invalid: false,
            verdict: match &tried {
                Some(tried) => tried_verdict(tried.result, worst),
                None if refused.is_some() => RuntimeVerdict::WillNotLoad,
                None => worst,
            },
            refused: refused.filter(|_| tried.is_none()),
            tried,
            not_tried: why_not,
            kinds,
            graphs: measurement.map(|it| graphs_in(origin.inferred, it)).unwrap_or_default(),
        }
    }

    /// Creates the report on a model that breaks rules of ONNX, for a started runtime: the result of the whole model.
    /// The results of similar cases apply only to valid models.
    pub(super) fn of_invalid(probe: &RuntimeProbe, origin: &Origin<'_>, limits: &Limits) -> RuntimeReport {
        let declaration = probe.host.declaration();
        let (tried, not_tried) = match try_file(probe, origin, limits) {
            Ok(tried) => (Some(tried), None),
            Err(why) => (None, Some(why)),
        };
        let result = tried.as_ref().map(|tried| tried.result);
        RuntimeReport {
            runtime: probe.measurement.map_or(declaration.name, |measurement| measurement.runtime().to_owned()),
            version: declaration.version.clone(),
            date: None,
            platform: None,
            started: Some(declaration.version),
            is_invalid: true,
            verdict: result.map_or(RuntimeVerdict::Unknown, |result| tried_verdict(result, RuntimeVerdict::Loads)),
            tried,
            not_tried,
            refused: None,
            kinds: Vec::new(),
            graphs: Vec::new(),
        }
    }

    /// Summarizes the result of a model that breaks rules of ONNX.
    fn invalid_line(&self) -> String {
        let name = format!("{} {}", self.runtime, self.version);
        let Some(TriedModel { result, message, .. }) = &self.tried else {
            let why = self.not_tried.as_deref().unwrap_or_default();
            return format!("{name} did not run it: {why}");
        };
        let message = message.as_deref();
        let does = match result {
            TriedResult::Runs | TriedResult::RunsUncompared | TriedResult::Wrong => "loads and runs it",
            TriedResult::Loads => "loads it",
            TriedResult::Fails | TriedResult::Crashes | TriedResult::WillNotLoad => {
                return format!("{name}: {} (tried){}", self.verdict, after_colon(message));
            }
        };
        let outputs = match (result, message) {
            (TriedResult::RunsUncompared, Some(message)) => format!("; {message}"),
            (TriedResult::Wrong, message) => format!("; its outputs differ{}", after_colon(message)),
            (_, message) => after_colon(message),
        };
        format!("{name} {does}, although it breaks rules of ONNX{outputs}")
    }

    /// Describes the inputs on which the whole model was tried: their sizes, or the reason why they do not fit.
    pub fn inputs_line(&self) -> Option<String> {
        let TriedModel { result, message, sizes } = self.tried.as_ref()?;
        let inputs = match (result, sizes) {
            (TriedResult::Loads, _) => message.clone()?,
            (_, sizes) => format!("tried with {}", sizes.as_ref()?),
        };
        Some(format!("{} {}: {inputs}", self.runtime, self.started.as_ref().unwrap_or(&self.version)))
    }

    /// Summarizes the report in one line, the cause first.
    pub fn line(&self) -> String {
        if self.is_invalid {
            return self.invalid_line();
        }
        let started = self.started.as_ref().filter(|started| **started != self.version);
        if let Some(TriedModel { result, message, .. }) =
            self.tried.as_ref().filter(|it| it.result != TriedResult::Loads)
        {
            let version = started.unwrap_or(&self.version);
            let hint = match result {
                TriedResult::Runs | TriedResult::RunsUncompared => "",
                _ => "; `trace MODEL --runtime NAME` finds the node",
            };
            let message = after_colon(message.as_deref());
            return format!("{} {version}: {} (tried){message}{hint}", self.runtime, self.verdict);
        }
        let cause = self.refused.clone().or_else(|| {
            let worst = self.kinds.first().filter(|kind| kind.answer.verdict > NodeVerdict::RunsButForSpecialValues)?;
            let inexact = self.kinds.iter().find(|kind| kind.answer.verdict == NodeVerdict::Inexact);
            let inexact = inexact.filter(|_| worst.answer.verdict == NodeVerdict::LikelyRuns);
            Some([Some(worst), inexact].into_iter().flatten().map(KindReport::line).collect::<Vec<_>>().join("; "))
        });
        let started = started.map(|started| format!(" (probed on {started})")).unwrap_or_default();
        let name = format!("{} {}{started}: {}", self.runtime, self.version, self.verdict);
        cause.map_or(name.clone(), |cause| format!("{name}: {cause}"))
    }
}

impl KindReport {
    /// Creates the report on calls of an operator that ONNX does not have. The call names the runtime with a kernel for its types.
    fn of_foreign_call(call: &ForeignCall, group: &NodeGroup, runtime: &str) -> KindReport {
        let (_, with_kernel) = call;
        let (kind, settings) = foreign_label(call);
        let (verdict, reason) = if *with_kernel == Some(runtime) {
            (NodeVerdict::LikelyRuns, "an operator of the runtime itself, not of ONNX")
        } else {
            (NodeVerdict::Unknown, "not an operator of ONNX")
        };
        KindReport {
            kind,
            settings,
            nodes: group.count,
            first: group.place.clone(),
            id: Some(group.id),
            answer: NodeAnswer { verdict, reason: Some(reason.to_owned()), ..NodeAnswer::unknown() },
            finding: None,
        }
    }

    /// Describes the first node and the answer: `node 3 (Sqrt-13), T=float: wrong in 2 of 25 similar cases`.
    fn line(&self) -> String {
        let types = self.kind.split_once(' ').map(|(_, types)| format!(", {types}")).unwrap_or_default();
        format!("{}{types}: {}", self.first, self.says())
    }

    /// Describes the answer: `wrong in 2 of 25 similar cases`.
    pub fn says(&self) -> String {
        let NodeAnswer { verdict, cases, of_these, ulp, other_ranks, reason, is_probed, .. } = &self.answer;
        let rank = if *other_ranks { " of other ranks" } else { "" };
        let ended = match (verdict, ulp) {
            (NodeVerdict::Inexact, Some(ulp)) => format!("differs by {}", distance_text(*ulp)),
            (verdict, _) => verdict.to_string(),
        };
        let mut text = match verdict {
            _ if *is_probed => format!("{verdict} (probed)"),
            NodeVerdict::Unknown => verdict.to_string(),
            NodeVerdict::LikelyRuns if *cases == 0 => verdict.to_string(),
            NodeVerdict::LikelyRuns => {
                let inexact = ulp.map(|ulp| format!(", some with a difference of {}", distance_text(ulp)));
                let inexact = inexact.unwrap_or_default();
                format!("{verdict}: no case has all its settings; {cases} passing cases cover each of them{inexact}")
            }
            NodeVerdict::Runs if *cases == 1 => format!("runs in the only similar case{rank}"),
            NodeVerdict::Runs => format!("runs in all {cases} similar cases{rank}"),
            _ if *cases == 1 => format!("{ended} in the only similar case{rank}"),
            _ => format!("{ended} in {of_these} of {cases} similar cases{rank}"),
        };
        if let Some(reason) = reason {
            text = format!("{text}: {reason}");
        }
        if let Some(FindingReport { id, title }) = &self.finding {
            text = format!("{text}; finding {id}: {title}");
        }
        text
    }
}

/// Returns the finding for an answer's case, if that case fails and is not just declined. The case of an unknown node is a
/// failure.
fn shown_finding(runtime: &str, answer: &NodeAnswer) -> Option<FindingReport> {
    let fails = matches!(
        answer.verdict,
        NodeVerdict::RunsButForSpecialValues
            | NodeVerdict::Inexact
            | NodeVerdict::Unknown
            | NodeVerdict::WrongOnSomeProcessors
            | NodeVerdict::PartlyFails
            | NodeVerdict::Fails
            | NodeVerdict::Wrong
            | NodeVerdict::Crashes
    );
    let finding = Findings::embedded().ok()?.for_case(runtime, answer.case.as_deref().filter(|_| fails)?)?;
    Some(FindingReport { id: finding.full_id(), title: finding.title.clone() })
}

/// Returns the reason why a runtime does not accept the file at all.
fn refusal(measurement: &Measurement, facts: &ModelFacts) -> Option<String> {
    let accepts = measurement.accepts()?;
    if let Some(ir) = facts.ir.declared.filter(|ir| !accepts.ir.contains(*ir)) {
        let lowest = facts.ir.lowest;
        let fit = accepts.ir.newest().min(u32::try_from(ir).unwrap_or(u32::MAX));
        let way_out = if lowest <= i64::from(fit) {
            format!("set ir_version to {fit}: nothing in the file needs {ir}")
        } else {
            format!("the file needs {lowest} or newer")
        };
        return Some(format!("IR version {ir}, but it accepts {}; {way_out}", accepts.ir));
    }
    let is_onnx = |domain: &str| Specs::embedded().domains().any(|known| known == domain);
    facts.opsets.iter().find_map(|(domain, opset)| {
        let domain = canonical_domain(domain);
        let opsets = accepts.opsets.get(domain);
        // A runtime refuses an import that no node uses only if it knows other versions of the domain.
        let is_unused = facts.unused.iter().any(|unused| unused == domain);
        if !is_onnx(domain) || (is_unused && opsets.is_none()) || opsets.is_some_and(|opsets| opsets.contains(*opset)) {
            return None;
        }
        Some(match opsets {
            Some(opsets) => format!("opset {opset} of {domain}, but it accepts {opsets}; see `convert --opset`"),
            None => format!("opset {opset} of {domain}, a domain that it does not accept"),
        })
    })
}

/// Returns the text after a colon, if there is one.
fn after_colon(text: Option<&str>) -> String {
    text.map(|text| format!(": {text}")).unwrap_or_default()
}

/// Tries the whole file of a model on a runtime. `Err` has the reason why there is no result.
fn try_file(probe: &RuntimeProbe, origin: &Origin<'_>, limits: &Limits) -> Result<TriedModel, String> {
    let length = usize::try_from(origin.file.len()).ok().filter(|length| *length <= limits.bytes);
    let mut bytes = vec![0; length.ok_or("the file is larger than the memory limit")?];
    origin.file.read_at(0, &mut bytes).map_err(|error| error.to_string())?;
    let folder = origin.home.map(|home| if home.as_os_str().is_empty() { Path::new(".") } else { home });
    try_model(probe, &bytes.into(), folder, limits)
}

/// Returns the verdict on a model that was tried. If its result is unknown, the worst verdict of its nodes counts,
/// unless this verdict is that the model does not load.
fn tried_verdict(result: TriedResult, of_nodes: RuntimeVerdict) -> RuntimeVerdict {
    match result {
        TriedResult::Runs | TriedResult::RunsUncompared => RuntimeVerdict::Runs,
        TriedResult::Loads if of_nodes == RuntimeVerdict::WillNotLoad => RuntimeVerdict::Loads,
        TriedResult::Loads => of_nodes.max(RuntimeVerdict::Loads),
        TriedResult::Wrong | TriedResult::Crashes => RuntimeVerdict::WrongSomewhere,
        TriedResult::Fails => RuntimeVerdict::FailsWhenRun,
        TriedResult::WillNotLoad => RuntimeVerdict::WillNotLoad,
    }
}

const fn runtime_verdict(verdict: NodeVerdict) -> RuntimeVerdict {
    match verdict {
        NodeVerdict::Runs | NodeVerdict::RunsButForSpecialValues => RuntimeVerdict::Runs,
        NodeVerdict::Inexact => RuntimeVerdict::Inexact,
        NodeVerdict::LikelyRuns => RuntimeVerdict::LikelyRuns,
        NodeVerdict::Unknown => RuntimeVerdict::Unknown,
        NodeVerdict::WrongOnSomeProcessors => RuntimeVerdict::WrongOnSomeProcessors,
        NodeVerdict::PartlyNotHere | NodeVerdict::PartlyFails => RuntimeVerdict::MayFail,
        NodeVerdict::NotHere => RuntimeVerdict::WillNotLoad,
        NodeVerdict::Fails => RuntimeVerdict::FailsWhenRun,
        NodeVerdict::Wrong | NodeVerdict::Crashes => RuntimeVerdict::WrongSomewhere,
    }
}
