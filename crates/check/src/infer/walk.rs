//! Walk over every node in order, with the known facts about its inputs, through subgraphs and function calls.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use onnx_conformance_reference::proto::{AttributeProto, Message, NodeProto, TensorProto, Text, ValueInfoProto};

use crate::facts::ValueFact;
use crate::finding::{Described, Finding, NodePlace, PathStep, Place};
use crate::findings::Findings;
use crate::infer::bodies::{Bodies, BodyId, BodySource, Definition, NodeId, NodeOutputs, ValueId};
use crate::infer::declared::{self, Contradiction, contradiction, refine};
use crate::infer::digest::{Digest, Digester};
use crate::infer::execute::Executor;
use crate::infer::memo::{Facts, Memo, Question};
use crate::infer::microsoft;
use crate::infer::shared::SharedFacts;
use crate::infer::types;
use crate::limits::Limits;
use crate::rules::RuleId;
use onnx_conformance_reference::infer::{Attributes, CallAttributes};
use onnx_conformance_reference::infer::{NodeView, tensor_fact};
use onnx_conformance_reference::spec::OpSpec;
use smallvec::SmallVec;

/// Maximum depth of function calls to follow.
const MAX_CALL_DEPTH: usize = 64;

/// Maximum number of calls of one function to follow with the types and shapes of their inputs.
const MAX_CALLS_WITH_SHAPES: usize = 16;

/// Maximum number of calls of one function to follow with the types of their inputs. Further calls are followed with no
/// facts about their inputs.
const MAX_CALLS_WITH_TYPES: usize = 64;

/// Maximum number of findings to deduplicate over calls; beyond it, each call counts.
const MAX_SEEN: usize = 1 << 20;

/// Maximum number of visited nodes; each call visits the nodes of its function again.
const MAX_VISITS: usize = 20_000_000;

/// The state of the walk.
pub(super) struct Walk<'b, 'm> {
    pub(super) bodies: &'b Bodies<'m>,
    limits: &'b Limits,
    pub(super) facts: Vec<Arc<ValueFact>>,
    shared: SharedFacts,
    memo: Memo,
    /// The fact about a value that is not defined.
    unknown: Arc<ValueFact>,
    /// The facts that hold for all calls of a function, by the numbers of its values.
    joined: HashMap<usize, Vec<Arc<ValueFact>>>,
    calls: HashMap<Digest, Vec<Arc<ValueFact>>>,
    call_counts: HashMap<usize, usize>,
    /// The calls being followed: the node, and the function.
    stack: Vec<(NodeId, usize)>,
    findings: Findings,
    seen: HashSet<(NodeId, u64)>,
    hasher: RandomState,
    digester: Digester,
    visits: usize,
    /// The number of enclosing branches of conditions.
    pub(super) branches: usize,
    pub(super) executor: Executor,
}

/// Visited node, with the attributes of the function call that the walk follows.
#[derive(Clone, Copy)]
pub(super) struct Visit<'c, 'm> {
    pub(super) id: NodeId,
    pub(super) node: &'m NodeProto,
    /// `None` outside of functions, and in a function with no known call.
    pub(super) call: Option<&'c CallAttributes<'m>>,
}

impl<'c, 'm> Visit<'c, 'm> {
    pub(super) fn attributes(self) -> Attributes<'c, 'm> {
        Attributes::new(self.node, self.call)
    }
}

/// Call of a function of the model: everything that determines its result.
struct FunctionCall<'m> {
    function: usize,
    inputs: Vec<ValueFact>,
    attributes: CallAttributes<'m>,
    /// True if an attribute refers to an unknown one of the caller.
    is_open: bool,
}

impl FunctionCall<'_> {
    fn digest(&self, digester: &Digester) -> Digest {
        /// Maximum size of an attribute that is compared by value; larger ones are compared by address.
        const MAX_COMPARED: usize = 4096;
        let mut digest = digester.begin();
        digest.text(format_args!("{} {} {:?}", self.function, self.is_open, self.inputs));
        let mut attributes: Vec<(&&str, &&AttributeProto)> = self.attributes.iter().collect();
        attributes.sort_unstable_by_key(|(name, _)| **name);
        for (name, attribute) in attributes {
            digest.bytes(name.as_bytes());
            if attribute.encoded_len() <= MAX_COMPARED {
                digest.bytes(&attribute.encode_to_vec());
            } else {
                digest.text(format_args!("{:p}", *attribute));
            }
        }
        digest.end()
    }
}

/// Node or body that a finding is about.
#[derive(Clone, Copy)]
enum Subject {
    Node(NodeId),
    Body(BodyId),
}

impl Subject {
    fn body(self) -> BodyId {
        match self {
            Subject::Node(node) => node.body,
            Subject::Body(body) => body,
        }
    }
}

impl<'b, 'm> Walk<'b, 'm> {
    pub(super) fn new(bodies: &'b Bodies<'m>, limits: &'b Limits) -> Walk<'b, 'm> {
        Walk {
            bodies,
            limits,
            facts: vec![Arc::default(); bodies.values.len()],
            shared: SharedFacts::new(limits.fact_bytes()),
            memo: Memo::default(),
            unknown: Arc::default(),
            joined: HashMap::new(),
            calls: HashMap::new(),
            call_counts: HashMap::new(),
            stack: Vec::new(),
            findings: Findings::new(limits),
            seen: HashSet::new(),
            hasher: RandomState::new(),
            digester: Digester::default(),
            visits: 0,
            branches: 0,
            executor: Executor::new(&limits.deadline),
        }
    }

    /// Does not try nodes on values for their unknown inputs.
    pub(super) fn without_probes(mut self) -> Walk<'b, 'm> {
        self.executor.disable_probes();
        self
    }

    /// Walks the main graph with everything it calls, then the functions that are never called.
    pub(super) fn run(mut self) -> (Vec<Arc<ValueFact>>, Findings) {
        if self.bodies.model.graph.is_some() {
            self.body(BodyId(0), None, None);
        }
        for (function, &body) in self.bodies.functions.iter().enumerate() {
            if !self.call_counts.contains_key(&function) {
                self.body(body, None, None);
                self.join_facts(function, body);
            }
        }
        for (function, facts) in std::mem::take(&mut self.joined) {
            if let Some(body) = self.bodies.functions.get(function) {
                let range = self.bodies.body(*body).range.clone();
                self.facts.splice(range, facts);
            }
        }
        if self.shared.is_truncated {
            let message = "the memory for shapes and constants is exhausted, so there may be more problems";
            let finding = Finding::new(RuleId::FileLimit, Place::default(), message);
            self.findings.push(finding.with_edit("allow more memory with --memory"));
        }
        (self.facts, self.findings)
    }

    /// Walks a body with the caller's facts about its inputs, and returns the facts about its outputs.
    pub(super) fn body(
        &mut self,
        id: BodyId,
        given: Option<Vec<ValueFact>>,
        call: Option<&CallAttributes<'m>>,
    ) -> Vec<ValueFact> {
        let body = self.bodies.body(id);
        let mut infos: HashMap<&'m str, ValueFact> = HashMap::new();
        let listed: &[&'m [ValueInfoProto]] = &match body.source {
            BodySource::Graph(graph) => [graph.value_info.as_slice(), graph.output.as_slice()],
            BodySource::Function(function) => [function.value_info.as_slice(), &[]],
        };
        for info in listed.iter().copied().flatten() {
            infos.insert(info.name(), declared::declared(info));
        }
        self.inputs(id, given);
        self.initializers(id);
        let mut values = self.bodies.outputs(id);
        for (node, index) in body.nodes().iter().zip(0..) {
            self.visits += 1;
            if self.visits > MAX_VISITS || self.visits.is_multiple_of(256) && self.limits.deadline.is_over() {
                self.visits = MAX_VISITS;
                break;
            }
            let visit = Visit { id: NodeId { body: id, index }, node, call };
            let outputs = self.node(visit);
            self.outputs(visit, outputs, &infos, &mut values);
        }
        self.check_passed_through(id, &infos);
        body.outputs().into_iter().map(|name| self.fact_of(id, name)).collect()
    }

    fn set(&mut self, value: ValueId, fact: ValueFact) {
        let fact = self.shared.share(fact);
        self.set_shared(value, fact);
    }

    fn set_shared(&mut self, value: ValueId, fact: Arc<ValueFact>) {
        if let Some(place) = self.facts.get_mut(value.0) {
            self.shared.forget(place);
            *place = self.shared.counted(fact);
        }
    }

    fn share_all(&mut self, facts: Vec<ValueFact>) -> Facts {
        facts.into_iter().map(|fact| self.shared.share(fact)).collect()
    }

    fn inputs(&mut self, id: BodyId, given: Option<Vec<ValueFact>>) {
        let body = self.bodies.body(id);
        let declared: Vec<ValueFact> = match body.source {
            BodySource::Graph(graph) => graph.input.iter().map(declared::declared).collect(),
            BodySource::Function(function) => function.input.iter().map(|_| ValueFact::default()).collect(),
        };
        let mut given = given.into_iter().flatten();
        for ((name, declared), at) in body.inputs().into_iter().zip(declared).zip(0..) {
            let fact = given.next().unwrap_or_default();
            self.check_subgraph_input(id, at, &declared, &fact);
            if let Some(value) = body.names.get(name).copied() {
                self.set(value, refine(&declared, fact));
            }
        }
    }

    /// Checks the declaration of a subgraph's input against the value that the node passes in.
    pub(super) fn check_subgraph_input(&mut self, id: BodyId, at: usize, declared: &ValueFact, given: &ValueFact) {
        let bodies = self.bodies;
        let message = |declared: &dyn fmt::Display, given: &dyn fmt::Display| {
            let name = bodies.body(id).inputs().get(at).copied().unwrap_or_default();
            format!("input {at} '{name}' of the subgraph is declared as {declared}, but the node passes {given}")
        };
        let finding = match contradiction(declared, given) {
            Some(Contradiction::Type(declared, given)) => {
                let edit = format!("declare {given}, or omit the type");
                Finding::new(RuleId::SubgraphType, Place::default(), message(&declared, &given)).with_edit(edit)
            }
            Some(Contradiction::Shape(declared, given)) => {
                Finding::new(RuleId::SubgraphType, Place::default(), message(&declared, &given))
            }
            None => return,
        };
        self.push_for_body(id, finding);
    }

    fn initializers(&mut self, id: BodyId) {
        let body = self.bodies.body(id);
        let Some(graph) = body.graph() else { return };
        let are_defaults = self.bodies.model.ir_version() >= 4;
        for tensor in &graph.initializer {
            let Some(value) = body.names.get(tensor.name()).copied() else { continue };
            let site = self.bodies.values.get(value.0).map(|site| site.definition);
            let fact = tensor_fact(tensor);
            if let Some(Definition::Input(_)) = site {
                let declared = self.facts.get(value.0).map_or_else(ValueFact::default, |fact| ValueFact::clone(fact));
                self.check_declared(Subject::Body(id), tensor.name(), &declared, &fact);
                if !are_defaults {
                    self.set(value, ValueFact { constant: fact.constant.clone(), ..refine(&declared, fact) });
                }
                continue;
            }
            self.set(value, fact);
        }
        for sparse in &graph.sparse_initializer {
            let Some(values) = &sparse.values else { continue };
            let Some(value) = body.names.get(values.name()).copied() else { continue };
            let tensor =
                TensorProto { dims: sparse.dims.clone(), data_type: values.data_type, ..TensorProto::default() };
            self.set(value, ValueFact { constant: None, ..tensor_fact(&tensor) });
        }
    }

    /// Returns the facts about the outputs of a node.
    fn node(&mut self, visit: Visit<'_, 'm>) -> Facts {
        let Visit { id, node, .. } = visit;
        if let Some(function) = self.bodies.function_of(node) {
            let outputs = self.call(visit, function);
            return self.share_all(outputs);
        }
        let Some(spec) = self.bodies.spec(id.body, node) else {
            self.unknown_subgraphs(visit);
            let outputs = self.outputs_of_another_domain(visit);
            return self.share_all(outputs);
        };
        let subgraphs = self.subgraphs(visit, spec);
        let (bodies, facts, unknown) = (self.bodies, std::mem::take(&mut self.facts), Arc::clone(&self.unknown));
        let input = |name: &'m Text| {
            let known = || bodies.lookup(id.body, name).and_then(|value| facts.get(value.0)).unwrap_or(&unknown);
            (!name.is_empty()).then(known)
        };
        let inputs: SmallVec<[Option<&Arc<ValueFact>>; 4]> = node.input.iter().map(input).collect();
        let outputs = self.node_on(visit, spec, subgraphs, &inputs);
        drop(inputs);
        self.facts = facts;
        outputs
    }

    /// Returns the facts about the outputs of a node from those about its inputs.
    fn node_on(
        &mut self,
        visit: Visit<'_, 'm>,
        spec: &'static OpSpec,
        subgraphs: Option<Vec<ValueFact>>,
        inputs: &[Option<&Arc<ValueFact>>],
    ) -> Facts {
        let Visit { id, node, call } = visit;
        let (bodies, is_probed) = (self.bodies, self.branches == 0);
        let opset = bodies.opset(id.body, node.domain()).unwrap_or(0);
        let is_alike = subgraphs.is_none() && bodies.body(id.body).function.is_none();
        let key = if is_alike { Question { node, spec, opset, is_probed, inputs }.key() } else { None };
        if let Some(known) = key.as_ref().and_then(|key| self.memo.get(key)) {
            return known;
        }
        let attributes = visit.attributes();
        let facts = inputs.iter().map(|fact| fact.map(AsRef::as_ref)).collect();
        let view = NodeView { node, spec, opset, attributes, inputs: facts };
        let (bindings, found) = types::check(&view, call.is_some() || bodies.body(id.body).function.is_none());
        let mut outputs = match subgraphs {
            Some(outputs) => outputs,
            None => types::outputs(&view, &bindings),
        };
        if found.is_empty() {
            onnx_conformance_reference::infer::refine(&view, &mut outputs);
            self.executor.refine(&view, &mut outputs);
        }
        let described: Vec<Described> = if found.is_empty() { Vec::new() } else { describe(&view) };
        let refused = if found.is_empty() && is_probed { self.executor.refusal(&view) } else { None };
        let described = if refused.is_some() { describe(&view) } else { described };
        let outputs = self.share_all(outputs);
        if let (Some(key), true, None) = (key, found.is_empty(), &refused) {
            self.memo.insert(key, inputs, &outputs);
        }
        for violation in found {
            let value = violation.input.and_then(|at| bodies.lookup(id.body, node.input.get(at)?));
            let origin = value.and_then(|value| bodies.origin(value));
            let finding = Finding {
                origin,
                edit: violation.edit,
                ..Finding::new(violation.rule, Place::default(), violation.message)
            };
            self.push(id, Finding { inputs: described.clone(), ..finding });
        }
        if let Some(message) = refused {
            let finding = Finding::new(RuleId::NodeConstraint, Place::default(), message);
            self.push(id, Finding { inputs: described, ..finding });
        }
        outputs
    }

    /// Follows a call of a function of the model.
    fn call(&mut self, visit: Visit<'_, 'm>, function: usize) -> Vec<ValueFact> {
        let is_recursive = self.stack.iter().any(|(_, other)| *other == function);
        let (Some(proto), Some(&body)) =
            (self.bodies.model.functions.get(function), self.bodies.functions.get(function))
        else {
            return Vec::new();
        };
        if is_recursive || self.stack.len() >= MAX_CALL_DEPTH {
            return Vec::new();
        }
        let given = visit.attributes();
        let mut attributes: CallAttributes<'m> =
            proto.attribute_proto.iter().map(|default| (default.name(), default)).collect();
        attributes.extend(given.all());
        let Visit { id, node, .. } = visit;
        let mut inputs: Vec<ValueFact> = node.input.iter().map(|name| self.fact_of(id.body, name)).collect();
        for fact in &mut inputs {
            fact.constant = None;
            fact.elements = None;
        }
        let count = self.call_counts.entry(function).or_insert(0);
        if *count >= MAX_CALLS_WITH_SHAPES {
            for fact in &mut inputs {
                fact.shape = None;
            }
        }
        if *count >= MAX_CALLS_WITH_TYPES {
            inputs.fill(ValueFact::default());
        }
        let call = FunctionCall { function, inputs, attributes, is_open: given.any_open() };
        let key = call.digest(&self.digester);
        if let Some(outputs) = self.calls.get(&key) {
            return outputs.iter().map(|fact| ValueFact::clone(fact)).collect();
        }
        *count += 1;
        let range = self.bodies.body(body).range.clone();
        if let Some(facts) = self.facts.get_mut(range) {
            for fact in facts.iter() {
                self.shared.forget(fact);
            }
            facts.fill(Arc::default());
        }
        self.stack.push((id, function));
        let passed = (!call.is_open).then_some(&call.attributes);
        let outputs = self.body(body, Some(call.inputs), passed);
        self.stack.pop();
        self.join_facts(function, body);
        let kept = self.share_all(outputs.clone());
        let kept = kept.into_iter().map(|fact| self.shared.counted(fact)).collect();
        self.calls.insert(key, kept);
        outputs
    }

    /// Joins the facts about a function's values with the facts from its other calls.
    fn join_facts(&mut self, function: usize, body: BodyId) {
        let range = self.bodies.body(body).range.clone();
        let Some(facts) = self.facts.get(range) else { return };
        match self.joined.get_mut(&function) {
            Some(joined) => {
                for (joined, fact) in joined.iter_mut().zip(facts) {
                    if joined != fact {
                        *joined = Arc::new(joined.join(fact));
                    }
                }
            }
            None => drop(self.joined.insert(function, facts.to_vec())),
        }
    }

    pub(super) fn fact_of(&self, body: BodyId, name: &str) -> ValueFact {
        let value = self.bodies.lookup(body, name);
        value.and_then(|value| self.facts.get(value.0)).map_or_else(ValueFact::default, |fact| ValueFact::clone(fact))
    }

    /// Returns the type of the first output of a node with an operator that is not ONNX's, if the type is known.
    fn outputs_of_another_domain(&self, visit: Visit<'_, 'm>) -> Vec<ValueFact> {
        let Visit { id, node, .. } = visit;
        let input = |position: usize| {
            let value = self.bodies.lookup(id.body, node.input.get(position)?)?;
            self.facts.get(value.0)?.value_type.clone()
        };
        let first = microsoft::output_type(node.domain(), node.op_type(), input);
        first.map(ValueFact::from_type).into_iter().collect()
    }

    /// Keeps the facts about a node's outputs after comparing them with their declarations.
    fn outputs(
        &mut self,
        visit: Visit<'_, 'm>,
        outputs: Facts,
        infos: &HashMap<&str, ValueFact>,
        values: &mut NodeOutputs,
    ) {
        let Visit { id, node, .. } = visit;
        let mut outputs = outputs.into_iter();
        for (name, at) in node.output.iter().zip(0..) {
            let fact = outputs.next().unwrap_or_else(|| Arc::clone(&self.unknown));
            let Some(value) = values.find(self.bodies, id.index, at) else { continue };
            match infos.get(name.as_str()) {
                Some(declared) => {
                    self.check_declared(Subject::Node(id), name, declared, &fact);
                    self.set(value, refine(declared, ValueFact::clone(&fact)));
                }
                None => self.set_shared(value, fact),
            }
        }
    }

    /// Compares outputs of a graph that are its inputs or initializers, and values of enclosing graphs, with their declarations,
    /// too.
    fn check_passed_through(&mut self, id: BodyId, infos: &HashMap<&str, ValueFact>) {
        let body = self.bodies.body(id);
        let Some(graph) = body.graph() else { return };
        let outer = graph.value_info.iter().map(ValueInfoProto::name).filter(|name| !body.names.contains_key(name));
        for name in graph.output.iter().map(ValueInfoProto::name).chain(outer) {
            let Some(value) = self.bodies.lookup(id, name) else { continue };
            let site = self.bodies.values.get(value.0);
            let is_own_node =
                site.is_some_and(|site| site.body == id && matches!(site.definition, Definition::Node(..)));
            let (Some(declared), Some(fact), false) = (infos.get(name), self.facts.get(value.0), is_own_node) else {
                continue;
            };
            let fact = Arc::clone(fact);
            self.check_declared(Subject::Body(id), name, declared, &fact);
        }
    }

    fn check_declared(&mut self, subject: Subject, name: &str, declared: &ValueFact, known: &ValueFact) {
        let finding = match contradiction(declared, known) {
            Some(Contradiction::Type(declared, known)) => {
                let message = format!("'{name}' is {known}, but is declared as {declared}");
                Finding::new(RuleId::ValueType, Place::default(), message).with_edit(format!("declare {known}"))
            }
            Some(Contradiction::Shape(declared, known)) => {
                let message = format!("'{name}' has shape {known}, but is declared with {declared}");
                Finding::new(RuleId::ValueShape, Place::default(), message).with_edit(format!("declare {known}"))
            }
            None => return,
        };
        let origin = self.bodies.lookup(subject.body(), name).and_then(|value| self.bodies.origin(value));
        let item = match subject {
            Subject::Node(_) => None,
            Subject::Body(_) => Some(format!("value '{name}'")),
        };
        let place = Place { item, ..Place::default() };
        self.push_once(subject, Finding { place, ..finding.with_origin(origin) });
    }

    /// Adds a finding about a node.
    pub(super) fn push(&mut self, id: NodeId, finding: Finding) {
        self.push_once(Subject::Node(id), finding);
    }

    /// Adds a finding about a graph.
    pub(super) fn push_for_body(&mut self, body: BodyId, finding: Finding) {
        self.push_once(Subject::Body(body), finding);
    }

    /// Adds a finding once for all calls of a function.
    fn push_once(&mut self, subject: Subject, finding: Finding) {
        let (key, node) = match subject {
            Subject::Node(node) => (node, Some(node)),
            // No node has this position.
            Subject::Body(body) => (NodeId { body, index: usize::MAX }, None),
        };
        let digest = self.hasher.hash_one(&finding.message);
        let is_new = if self.seen.len() < MAX_SEEN {
            self.seen.insert((key, digest))
        } else {
            !self.seen.contains(&(key, digest))
        };
        if !is_new || self.findings.drops(finding.level) {
            return;
        }
        let node = node.map(|node| self.bodies.node_place(node));
        let place = Place { path: self.path(key.body), node, ..finding.place };
        self.findings.push(Finding { place, ..finding });
    }

    /// The path to a body through the calls being followed.
    fn path(&self, body: BodyId) -> Vec<PathStep> {
        let mut path = Vec::new();
        for (node, _) in &self.stack {
            path.extend(self.bodies.place(node.body).path);
            path.push(PathStep::Call(NodePlace { ..self.bodies.node_place(*node) }));
        }
        path.extend(self.bodies.place(body).path);
        path
    }
}

/// Describes the inputs of a node for display.
fn describe(view: &NodeView<'_, '_>) -> Vec<Described> {
    view.node.input.iter().zip(&view.inputs).map(|(name, fact)| Described::new(name, *fact)).collect()
}
