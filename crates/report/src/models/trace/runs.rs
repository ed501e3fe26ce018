//! Runs of a model and its parts on the runtime and on the reference, and how they end.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use onnx_conformance_cases::case::Named;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ask, Ended, Host, Output, Phase, Ran, Request, Response};

use crate::models::closeness::coarsest_half;
use crate::models::comparison::{Roundings, Steps, difference, differs_in_kind, requested_output};
use crate::models::trace::accuracy::{OwnBound, SingleRun, bound_at_zero};
use crate::models::trace::divided::{DividedModel, PartModel};
use crate::models::trace::error::TraceError;
use crate::models::trace::reference::{Reference, Seen};

/// A model, its inputs, and the runtimes to compare.
pub struct TraceQuestion<'a> {
    /// The bytes of the model.
    pub model: &'a Bytes,
    /// Folder of the model's external data.
    pub folder: Option<&'a Path>,
    /// Inputs of the model.
    pub inputs: &'a [Named],
    /// The runtime.
    pub runtime: &'a dyn Host,
    /// The runtime whose values count as correct.
    pub reference: Reference<'a>,
    /// Types of values that were inferred. The built-in executor needs none.
    pub types: BTreeMap<String, ValueType>,
    /// Deadline of the whole search.
    pub deadline: Deadline,
    /// Memory limit of the built-in executor in bytes.
    pub bytes: usize,
}

impl<'a> TraceQuestion<'a> {
    pub(super) fn request<'b>(&self, model: &'b PartModel, outputs: &'b [Output]) -> Request<'b>
    where
        'a: 'b,
    {
        // A host copies the files of a folder.
        let folder = self.folder.filter(|_| model.has_external_data);
        Request { id: "trace", model: &model.bytes, folder, inputs: &model.inputs, outputs, ask: Ask::RUN }
    }
}

/// Kind of an ending without outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Load,
    Run,
    Crash,
}

/// End of a run, compared with the reference's outputs.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    Agrees(Vec<Value>),
    Differs { output: usize, message: String, actual: Vec<Value> },
    Fails(Failure, String),
}

impl Ending {
    pub(super) fn failure(&self) -> Option<Failure> {
        match self {
            Ending::Fails(failure, _) => Some(*failure),
            _ => None,
        }
    }

    /// Describes the end of a run with these outputs.
    pub(super) fn describe(&self, outputs: &[String]) -> String {
        match self {
            Ending::Agrees(_) => "agrees".to_owned(),
            Ending::Differs { output, message, .. } => {
                format!("output '{}': {message}", outputs.get(*output).cloned().unwrap_or_default())
            }
            Ending::Fails(Failure::Load, message) => format!("does not load: {message}"),
            Ending::Fails(Failure::Run, message) => format!("fails when run: {message}"),
            Ending::Fails(Failure::Crash, message) => format!("ends without an answer: {message}"),
        }
    }

    /// Returns true if two runs differ in the same way: both give other outputs, or both fail in one phase.
    pub(super) fn is_like(&self, other: &Ending) -> bool {
        !matches!(self, Ending::Agrees(_)) && !matches!(other, Ending::Agrees(_)) && self.failure() == other.failure()
    }
}

/// The reference's outputs of some nodes.
pub(super) struct Expected<'a> {
    pub(super) nodes: &'a [usize],
    pub(super) outputs: &'a [String],
    pub(super) values: &'a [Value],
}

/// Runs on both sides.
pub(super) struct Runs<'a> {
    pub(super) question: &'a TraceQuestion<'a>,
    pub(super) divided: &'a DividedModel<'a>,
    /// The reference's types, and all its values if they are few.
    pub(super) seen: Seen,
    /// Number of runs on the runtime and on the reference.
    pub(super) counts: [usize; 2],
}

impl Runs<'_> {
    /// Runs nodes on the reference.
    pub(super) fn reference_on_part(
        &mut self,
        part: &PartModel,
        nodes: &[usize],
        outputs: &[String],
    ) -> Result<Vec<Value>, TraceError> {
        let (from, to) = (nodes.first().copied().unwrap_or(0), nodes.last().copied().unwrap_or(0));
        self.reference(part, outputs).map_err(|error| match error {
            TraceError::Reference { name, message } => TraceError::Part { name, from, to, message },
            failed @ (TraceError::NotLoaded(_) | TraceError::NotConverted { .. }) => {
                TraceError::Part { name: self.question.reference.name(), from, to, message: failed.to_string() }
            }
            other => other,
        })
    }

    /// Runs a model on the reference.
    pub(super) fn reference(&mut self, model: &PartModel, outputs: &[String]) -> Result<Vec<Value>, TraceError> {
        self.check_time()?;
        let requested = |name: &String| {
            let known = self.seen.types.get(name).cloned().ok_or_else(|| TraceError::UnknownType(name.clone()))?;
            Ok(Output::new(name.clone(), known, 1 << 20))
        };
        let requested: Vec<Output> = match self.question.reference {
            Reference::Builtin(_) => Vec::new(),
            Reference::Host(_) | Reference::Converted(..) => outputs.iter().map(requested).collect::<Result<_, _>>()?,
        };
        self.counts[1] += 1;
        let question = self.question;
        question.reference.run(&question.request(model, &requested), &question.deadline, &mut self.seen)
    }

    /// Runs a model on the runtime, and compares its outputs.
    pub(super) fn runtime(&mut self, model: &PartModel, expected: &Expected<'_>) -> Result<Ending, TraceError> {
        self.check_time()?;
        let requested: Vec<Output> =
            expected.outputs.iter().zip(expected.values).map(|(name, value)| requested_output(name, value)).collect();
        self.counts[0] += 1;
        let request = self.question.request(model, &requested);
        let Ran { ended, flaky, .. } = self.question.runtime.run(&request);
        if let Some(message) = flaky {
            return Ok(Ending::Fails(Failure::Crash, format!("in one of two runs: {message}")));
        }
        let actual = match ended.into_values() {
            Ok(values) => values,
            Err(Ended::Timeout(_)) if self.question.deadline.is_over() => return Err(TraceError::Late),
            Err(ended) => {
                let failure = match &ended {
                    Ended::Answered(Response::Error { phase: Phase::Run, .. }) => Failure::Run,
                    Ended::Answered(_) => Failure::Load,
                    Ended::Timeout(_) | Ended::OutOfMemory(_) | Ended::Crash(_) | Ended::ProtocolError(_) => {
                        Failure::Crash
                    }
                };
                return Ok(Ending::Fails(failure, ended.message().to_owned()));
            }
        };
        Ok(self.compared(&request, expected, actual))
    }

    /// Compares outputs. Outputs of a single node must also exceed the bound of its operator.
    fn compared(&self, request: &Request<'_>, expected: &Expected<'_>, actual: Vec<Value>) -> Ending {
        let Expected { nodes, outputs, values } = *expected;
        let random = self.divided.random_values(nodes);
        let roundings = self.roundings(nodes);
        let found = outputs.iter().zip(values.iter().zip(&actual)).enumerate().find_map(|(at, (name, pair))| {
            let (expected, actual) = pair;
            let message = if !random.contains(name.as_str()) {
                let absolute = self.divided.absolute_bound(name, expected.value_type().element_type(), bound_at_zero);
                difference(expected, actual, Roundings { absolute, ..roundings })
            } else if nodes.len() == 1 {
                differs_in_kind(expected, actual)
            } else {
                let (expected, actual) = (expected.value_type(), actual.value_type());
                (expected != actual).then(|| format!("expected {expected}, got {actual}"))
            };
            message.map(|message| (at, message))
        });
        let Some((output, message)) = found else { return Ending::Agrees(actual) };
        if let [node] = nodes
            && self.own_bound(request, *node, values, &actual) == OwnBound::Within
        {
            return Ending::Agrees(actual);
        }
        Ending::Differs { output, message, actual }
    }

    /// Returns the roundings of nodes of the main graph, by the types of the values that they read and compute.
    fn roundings(&self, nodes: &[usize]) -> Roundings {
        let nodes = || nodes.iter().filter_map(|at| self.divided.node(*at));
        let names = nodes().flat_map(|node| node.input.iter().chain(&node.output));
        let types = names.filter_map(|name| Some(self.seen.types.get(&**name)?.element_type()));
        Roundings { steps: Steps::of_nodes(nodes()), half: coarsest_half(types), absolute: 0.0 }
    }

    /// Compares the outputs of a node by the bound of its operator.
    pub(super) fn own_bound(
        &self,
        request: &Request<'_>,
        position: usize,
        expected: &[Value],
        actual: &[Value],
    ) -> OwnBound {
        let Some(node) = self.divided.node(position) else { return OwnBound::Unknown };
        let has_graphs = node.attribute.iter().any(|it| it.g.is_some() || !it.graphs.is_empty());
        if has_graphs || self.divided.random().contains(&position) {
            return OwnBound::Unknown;
        }
        let Some(spec) = self.divided.spec(node) else { return OwnBound::Unknown };
        let (deadline, bytes) = (&self.question.deadline, self.question.bytes);
        let single = SingleRun { spec, request, deadline, bytes, steps: Steps::of_nodes(std::iter::once(node)) };
        single.compare(expected, actual)
    }

    fn check_time(&self) -> Result<(), TraceError> {
        if self.question.deadline.is_over() { Err(TraceError::Late) } else { Ok(()) }
    }
}
