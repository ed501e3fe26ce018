//! Plan of a conversion: the type that each node computes in, and the types that each value is produced and read in.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{NodeProto, TensorProto, Text};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, canonical_domain};
use onnx_conformance_reference::types::ValueType;

use super::half_model::HalfError;
use super::node_types::{NodeTypes, half_types, is_float, takes_either};
use super::reason::FloatReason;
use super::request::{HalfRequest, names_of};
use super::weights::{Rounded, Weight};
use crate::facts::NodeFacts;
use crate::infer::{Body, BodyId, Definition, Inferred, NodeId, ValueId};

/// First IR version in which an initializer that is also an input is a default that a caller may replace.
const DEFAULTS_SINCE_IR: i64 = 4;

/// A value and the type that it is read in.
pub(super) type Read = (ValueId, ElementType);

/// Plan of a conversion. Only values of float and of the half type are planned.
pub(super) struct Plan<'a, 'm> {
    pub(super) inferred: &'a Inferred<'m>,
    pub(super) half: ElementType,
    pub(super) half_io: bool,
    /// The nodes that compute in half precision.
    pub(super) nodes: BTreeMap<NodeId, NodeTypes>,
    /// The other nodes with float values.
    pub(super) float: BTreeMap<NodeId, FloatReason>,
    /// Casts between the two types, which the plan replaces.
    pub(super) dropped: BTreeSet<NodeId>,
    /// The cast value, by the output of the replaced Cast.
    roots: HashMap<ValueId, ValueId>,
    weights: HashMap<ValueId, Weight<'m>>,
    /// The weights that some node may read in half precision.
    pub(super) rounded: HashMap<ValueId, Rounded>,
}

impl<'a, 'm> Plan<'a, 'm> {
    /// Plans the nodes of all graphs outside of functions.
    pub(super) fn new(
        inferred: &'a Inferred<'m>,
        request: &HalfRequest,
        deadline: &Deadline,
    ) -> Result<Plan<'a, 'm>, HalfError> {
        let mut plan = Plan {
            inferred,
            half: request.element,
            half_io: request.half_io,
            nodes: BTreeMap::new(),
            float: BTreeMap::new(),
            dropped: BTreeSet::new(),
            roots: HashMap::new(),
            weights: HashMap::new(),
            rounded: HashMap::new(),
        };
        plan.find_casts();
        plan.find_weights();
        for id in plan.node_ids() {
            if deadline.is_over() {
                return Err(HalfError::Late);
            }
            plan.add_node(id, request);
        }
        plan.check_bodies();
        Ok(plan)
    }

    /// The graphs outside of functions, the main graph first.
    pub(super) fn bodies(&self) -> impl Iterator<Item = BodyId> + use<'a, 'm> {
        let bodies = &self.inferred.bodies;
        bodies.ids().filter(|body| bodies.body(*body).function.is_none())
    }

    /// The nodes of these graphs.
    pub(super) fn node_ids(&self) -> Vec<NodeId> {
        let bodies = &self.inferred.bodies;
        bodies.node_ids().filter(|id| bodies.body(id.body).function.is_none()).collect()
    }

    /// The type of a value before the conversion, if it is one of the two.
    pub(super) fn original(&self, value: ValueId) -> Option<ElementType> {
        match self.inferred.fact(value)?.value_type {
            Some(ValueType::Tensor(element)) if element == ElementType::Float || element == self.half => Some(element),
            _ => None,
        }
    }

    /// The value behind replaced Casts.
    pub(super) fn root(&self, value: ValueId) -> ValueId {
        self.roots.get(&value).copied().unwrap_or(value)
    }

    /// The weight that defines a value.
    pub(super) fn weight(&self, value: ValueId) -> Option<Weight<'m>> {
        self.weights.get(&value).copied()
    }

    /// The name of a value.
    pub(super) fn name(&self, value: ValueId) -> &'m str {
        let bodies = &self.inferred.bodies;
        let Some(site) = bodies.site(value) else { return "" };
        let body = bodies.body(site.body);
        let initializer = |at: usize| body.graph()?.initializer.get(at).map(TensorProto::name);
        let sparse = |at: usize| body.graph()?.sparse_initializer.get(at)?.values.as_ref().map(TensorProto::name);
        let output = |node: usize, at: usize| body.nodes().get(node)?.output.get(at).map(Text::as_str);
        let name = match site.definition {
            Definition::Input(at) => body.inputs().get(at).copied(),
            Definition::Initializer(at) => initializer(at),
            Definition::SparseInitializer(at) => sparse(at),
            Definition::Node(node, at) => output(node, at),
        };
        name.unwrap_or_default()
    }

    /// The type that a value is produced in; a weight can have any type.
    pub(super) fn produced(&self, value: ValueId) -> ElementType {
        let Some(site) = self.inferred.bodies.site(value) else { return ElementType::Float };
        let parent = self.inferred.bodies.body(site.body).parent;
        let is_half = self.original(value) == Some(self.half)
            || match (site.definition, parent) {
                (Definition::Input(_), None) => self.half_io && !self.is_kept_default(site.body, value),
                (Definition::Input(_), Some((body, step))) => {
                    self.nodes.contains_key(&NodeId { body, index: step.node })
                }
                (Definition::Node(index, position), _) => {
                    let node = self.nodes.get(&NodeId { body: site.body, index });
                    node.and_then(|node| node.outputs.get(position)).copied().unwrap_or(false)
                }
                (Definition::Initializer(_) | Definition::SparseInitializer(_), _) => false,
            };
        if is_half { self.half } else { ElementType::Float }
    }

    /// True if a value is an input with a default that cannot be rounded.
    fn is_kept_default(&self, body: BodyId, value: ValueId) -> bool {
        let tensors = self.inferred.bodies.body(body).graph().map_or(&[][..], |graph| &graph.initializer);
        let default = tensors.iter().find(|tensor| tensor.name() == self.name(value));
        default.is_some_and(|tensor| {
            let rounded = Weight::Initializer(tensor).tensor().and_then(|tensor| Rounded::new(&tensor, self.half));
            rounded.is_none_or(|rounded| rounded.overflows > 0)
        })
    }

    /// The inputs of a node: the value and the type in which it is read; `None` for other types.
    pub(super) fn reads(&self, id: NodeId) -> Vec<Option<Read>> {
        let Some(node) = self.inferred.bodies.node(id) else { return Vec::new() };
        let types = self.nodes.get(&id);
        let read = |(position, name): (usize, &Text)| {
            let value = self.inferred.bodies.lookup(id.body, name)?;
            let original = self.original(value)?;
            let is_half = types.is_some_and(|types| types.inputs.get(position) == Some(&true));
            Some((self.root(value), if is_half { self.half } else { original }))
        };
        node.input.iter().enumerate().map(read).collect()
    }

    /// The outputs of a graph, likewise.
    pub(super) fn results(&self, body: BodyId) -> Vec<Option<Read>> {
        let source = self.inferred.bodies.body(body);
        let is_half = match source.parent {
            None => self.half_io,
            Some((body, step)) => self.nodes.contains_key(&NodeId { body, index: step.node }),
        };
        let result = |name: &str| {
            let value = self.inferred.bodies.lookup(body, name)?;
            let original = self.original(value)?;
            Some((self.root(value), if is_half { self.half } else { original }))
        };
        source.outputs().into_iter().map(result).collect()
    }

    /// Decides that a node stays in float.
    pub(super) fn compute_in_float(&mut self, id: NodeId, reason: FloatReason) {
        self.nodes.remove(&id);
        self.float.insert(id, reason);
    }

    /// Gives each node that takes either type the type that its input is produced in.
    pub(super) fn settle_readers(&mut self) {
        for id in self.node_ids() {
            let Some(facts) = self.inferred.node_facts(id) else { continue };
            let is_either = self.nodes.contains_key(&id) && takes_either(&facts);
            let read = self.reads(id).into_iter().flatten().find(|(_, element)| *element == self.half);
            if let Some((value, _)) = read.filter(|_| is_either)
                && (self.weight(value).is_some() || self.produced(value) == ElementType::Float)
            {
                self.nodes.remove(&id);
            }
        }
    }

    /// Finds the Casts between the two types whose output is not an output of a graph.
    fn find_casts(&mut self) {
        for id in self.node_ids() {
            let bodies = &self.inferred.bodies;
            let Some(node) = bodies.node(id).filter(|node| is_onnx(node, "Cast")) else { continue };
            let ([input], [output]) = (node.input.as_slice(), node.output.as_slice()) else { continue };
            let values = bodies.lookup(id.body, input).zip(bodies.lookup(id.body, output));
            let Some((from, to)) = values else { continue };
            let is_result = bodies.body(id.body).outputs().contains(&output.as_str());
            if !is_result && self.original(from).is_some() && self.original(to).is_some() {
                self.roots.insert(to, self.root(from));
                self.dropped.insert(id);
            }
        }
    }

    fn find_weights(&mut self) {
        let is_old = self.inferred.bodies.model.ir_version() < DEFAULTS_SINCE_IR;
        for body in self.bodies() {
            let source = self.inferred.bodies.body(body);
            let tensors = source.graph().map_or(&[][..], |graph| &graph.initializer);
            let inputs = source.inputs();
            let tensors = tensors.iter().filter(|tensor| is_old || !inputs.contains(&tensor.name()));
            let of_tensors = tensors.map(|tensor| (tensor.name(), Weight::Initializer(tensor)));
            let of_nodes = source.nodes().iter().filter(|node| is_onnx(node, "Constant"));
            let of_nodes = of_nodes.filter_map(|node| Some((node.output.first()?.as_str(), Weight::Constant(node))));
            let weights: Vec<(ValueId, Weight<'m>)> = of_tensors
                .chain(of_nodes)
                .filter_map(|(name, weight)| Some((*source.names.get(name)?, weight)))
                .collect();
            for (value, weight) in weights {
                if self.original(value) == Some(ElementType::Float) && weight.is_readable() {
                    self.weights.insert(value, weight);
                }
            }
        }
    }

    /// Decides on the type of a node.
    fn add_node(&mut self, id: NodeId, request: &HalfRequest) {
        let Some(facts) = self.inferred.node_facts(id) else { return };
        let is_constant = is_onnx(facts.node, "Constant");
        let has_float = facts.inputs.iter().chain(&facts.outputs).flatten().any(is_float);
        if is_constant || !has_float || self.dropped.contains(&id) {
            return;
        }
        match self.types_of(id, &facts, request) {
            Ok(types) => drop(self.nodes.insert(id, types)),
            Err(reason) => drop(self.float.insert(id, reason)),
        }
    }

    fn types_of(&mut self, id: NodeId, facts: &NodeFacts<'m>, request: &HalfRequest) -> Result<NodeTypes, FloatReason> {
        self.request_for(id, request)?;
        let bodies = &self.inferred.bodies;
        if bodies.function_of(facts.node).is_some() {
            return Err(FloatReason::Call);
        }
        let Some(spec) = bodies.spec(id.body, facts.node) else {
            let domain = canonical_domain(facts.node.domain());
            return Err(FloatReason::Foreign(format!("{domain}/{}", facts.node.op_type())));
        };
        let types = half_types(facts, spec, self.half)?;
        for (name, is_half) in facts.node.input.iter().zip(&types.inputs) {
            let value = bodies.lookup(id.body, name).map(|value| self.root(value)).filter(|_| *is_half);
            if let Some(value) = value
                && self.overflows(value)
            {
                return Err(FloatReason::Weight(name.to_string()));
            }
        }
        Ok(types)
    }

    /// Fails if the request keeps a node, or an enclosing node, in float.
    fn request_for(&self, id: NodeId, request: &HalfRequest) -> Result<(), FloatReason> {
        let mut next = Some(id);
        while let Some(id) = next {
            let Some(node) = self.inferred.bodies.node(id) else { break };
            if names_of(node).iter().any(|name| request.keep.contains(name)) {
                return Err(FloatReason::Named);
            }
            if let Some(text) = request.measured.get(&id) {
                return Err(FloatReason::Measured(text.clone()));
            }
            let parent = self.inferred.bodies.body(id.body).parent;
            next = parent.map(|(body, step)| NodeId { body, index: step.node });
        }
        Ok(())
    }

    /// Rounds a weight. Returns true if finite elements become infinite.
    fn overflows(&mut self, value: ValueId) -> bool {
        let (half, Some(weight)) = (self.half, self.weight(value)) else { return false };
        if let Some(rounded) = self.rounded.get(&value) {
            return rounded.overflows > 0;
        }
        let Some(rounded) = weight.tensor().and_then(|tensor| Rounded::new(&tensor, half)) else {
            // The weight stays in float, and is cast.
            self.weights.remove(&value);
            return false;
        };
        self.rounded.entry(value).or_insert(rounded).overflows > 0
    }

    /// Keeps nodes in float whose subgraphs have other types than their inputs and outputs.
    fn check_bodies(&mut self) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        for id in ids {
            let Some(facts) = self.inferred.node_facts(id) else { continue };
            // Positions where the inputs and outputs of the node and of its subgraphs correspond.
            let (inputs, outputs) = match facts.node.op_type() {
                "If" => (None, (0, 0)),
                "Loop" => (Some((2, 2)), (0, 1)),
                "Scan" if facts.opset < 9 => (Some((1, 0)), (0, 0)),
                "Scan" => (Some((0, 0)), (0, 0)),
                _ => continue,
            };
            let bodies: Vec<BodyId> = self.bodies().filter(|body| self.is_below(*body, id)).collect();
            let fits = |body: &BodyId| {
                let source = self.inferred.bodies.body(*body);
                let is_same =
                    |facts: &[Option<crate::facts::ValueFact>], names: &[&str], (first, inner): (usize, usize)| {
                        let types =
                            facts.iter().skip(first).map(|fact| fact.as_ref().and_then(|it| it.value_type.as_ref()));
                        let inner =
                            names.iter().skip(inner).map(|name| self.inferred.value(*body, name)?.value_type.as_ref());
                        types.zip(inner).all(|(outer, inner)| outer.is_none() || outer == inner)
                    };
                let source: &Body<'_> = source;
                inputs.is_none_or(|at| is_same(&facts.inputs, &source.inputs(), at))
                    && is_same(&facts.outputs, &source.outputs(), outputs)
            };
            if !bodies.iter().all(fits) {
                self.compute_in_float(
                    id,
                    FloatReason::UnknownType(facts.node.output.first().map_or_else(String::new, ToString::to_string)),
                );
            }
            let results: Vec<Read> = bodies.iter().flat_map(|body| self.results(*body)).flatten().collect();
            for (value, element) in results {
                if element == self.half && self.overflows(value) {
                    self.compute_in_float(id, FloatReason::Weight(self.name(value).to_owned()));
                }
            }
        }
    }

    /// True if a graph is in an attribute of a node.
    fn is_below(&self, body: BodyId, node: NodeId) -> bool {
        let parent = self.inferred.bodies.body(body).parent;
        parent.is_some_and(|(outer, step)| NodeId { body: outer, index: step.node } == node)
    }
}

/// True if a node is this operator of ONNX.
pub(super) fn is_onnx(node: &NodeProto, operator: &str) -> bool {
    canonical_domain(node.domain()) == DEFAULT_DOMAIN && node.op_type() == operator
}
