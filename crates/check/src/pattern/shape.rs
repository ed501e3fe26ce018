//! A pattern: the nodes and values of a small graph.

use std::collections::BTreeSet;

use foldhash::{HashMap, HashMapExt as _};
use onnx_conformance_reference::proto::{ModelProto, NodeProto, Text};
use onnx_conformance_reference::spec::{OpSpec, OperatorVersion};

use crate::facts::ValueFact;
use crate::infer::{BodyId, NodeId, ValueId, infer_facts};
use crate::limits::Limits;
use crate::pattern::constant::Use;
use crate::pattern::index::{ModelIndex, Scope, Source, is_constant};

/// Names of inputs that hold sizes, counts or positions.
const SIZES: [&str; 9] = ["shape", "starts", "ends", "steps", "pads", "sizes", "repeats", "split", "input_shape"];

/// A small graph, to look for in models.
#[derive(Debug)]
pub struct Pattern {
    pub(super) scope: Scope,
    pub(super) nodes: Vec<PatternNode>,
    pub(super) values: Vec<PatternValue>,
}

/// A node of a pattern. Values are referenced by position.
#[derive(Debug)]
pub(super) struct PatternNode {
    pub(super) node: NodeProto,
    pub(super) spec: &'static OpSpec,
    pub(super) inputs: Vec<Option<usize>>,
    pub(super) outputs: Vec<Option<usize>>,
}

/// A value.
#[derive(Debug)]
pub(super) struct PatternValue {
    pub(super) fact: ValueFact,
    pub(super) source: Source,
    pub(super) used: Use,
    /// True if a node of the pattern computes it.
    pub(super) is_inner: bool,
    /// True if a subgraph reads it from the graph around it.
    pub(super) is_outer: bool,
    pub(super) is_output: bool,
    /// Number of inputs of nodes that read it.
    pub(super) readers: usize,
}

impl Pattern {
    /// Takes the graph of a model: its main graph, or the branch or the function that is its only node. Returns `None`
    /// if a node has a subgraph or an operator that is not ONNX's, or if the nodes are not connected.
    pub fn from_model(model: &ModelProto) -> Option<Pattern> {
        let inferred = infer_facts(model, &Limits::default());
        let index = ModelIndex::new(&inferred);
        let body = inner_body(&index);
        let scope = index.scope(body);
        let mut pattern = Pattern { scope, nodes: Vec::new(), values: Vec::new() };
        let mut positions: HashMap<ValueId, usize> = HashMap::new();
        let nodes = inferred.bodies.body(body).nodes();
        for node in nodes.iter().filter(|node| !is_constant(node)) {
            let has_subgraph =
                node.attribute.iter().any(|attribute| attribute.g.is_some() || !attribute.graphs.is_empty());
            let spec = inferred.bodies.spec(body, node).filter(|_| !has_subgraph)?;
            let mut position = |name: &Text| {
                let value = inferred.bodies.lookup(body, name)?;
                Some(*positions.entry(value).or_insert_with(|| {
                    pattern.values.push(PatternValue::new(&index, value, body));
                    pattern.values.len() - 1
                }))
            };
            let inputs = node.input.iter().map(&mut position).collect();
            let outputs = node.output.iter().map(&mut position).collect();
            pattern.nodes.push(PatternNode { node: node.clone(), spec, inputs, outputs });
        }
        pattern.find_sizes();
        pattern.is_connected().then_some(pattern)
    }

    /// Returns the operator versions of the nodes.
    pub fn operators(&self) -> BTreeSet<&'static OperatorVersion> {
        self.nodes.iter().map(|node| &node.spec.version).collect()
    }

    /// Marks the constants that only inputs for sizes and positions read.
    fn find_sizes(&mut self) {
        for value in 0..self.values.len() {
            let reads = self.nodes.iter().flat_map(|node| {
                let inputs = node.inputs.iter().enumerate().filter(move |(_, read)| **read == Some(value));
                inputs.map(move |(position, _)| node.spec.input_at(position).map_or("", |input| input.name.as_str()))
            });
            let mut reads = reads.peekable();
            let is_read = reads.peek().is_some();
            if is_read
                && reads.all(|name| SIZES.contains(&name))
                && let Some(value) = self.values.get_mut(value)
            {
                value.used = Use::Sizes;
            }
        }
    }

    fn is_connected(&self) -> bool {
        let Some(first) = self.nodes.first() else { return false };
        let mut reached: BTreeSet<usize> = first.values().collect();
        let mut rest: Vec<&PatternNode> = self.nodes.iter().skip(1).collect();
        loop {
            let is_near = |node: &&PatternNode| node.values().any(|value| reached.contains(&value));
            let (near, far): (Vec<&PatternNode>, Vec<&PatternNode>) = rest.into_iter().partition(is_near);
            if near.is_empty() {
                return far.is_empty();
            }
            reached.extend(near.into_iter().flat_map(PatternNode::values));
            rest = far;
        }
    }
}

impl PatternNode {
    pub(super) fn values(&self) -> impl Iterator<Item = usize> + '_ {
        self.inputs.iter().chain(&self.outputs).flatten().copied()
    }
}

impl PatternValue {
    fn new(index: &ModelIndex<'_>, value: ValueId, body: BodyId) -> PatternValue {
        let source = index.source(value);
        let is_here = index.body_of(value) == Some(body);
        PatternValue {
            fact: index.inferred.fact(value).cloned().unwrap_or_default(),
            source,
            used: Use::Other,
            is_inner: is_here && source == Source::Computed && index.producer(value).is_some(),
            is_outer: !is_here,
            is_output: index.is_output(value),
            readers: index.readers(value).len(),
        }
    }
}

/// Returns the graph with the nodes: the main graph, or the branch or function in its only node.
fn inner_body(index: &ModelIndex<'_>) -> BodyId {
    let bodies = &index.inferred.bodies;
    let nodes = bodies.body(BodyId::MAIN).nodes();
    let mut computing = nodes.iter().zip(0..).filter(|(node, _)| !is_constant(node));
    let (Some((node, index)), None) = (computing.next(), computing.next()) else { return BodyId::MAIN };
    if let Some(function) = bodies.function_of(node) {
        return bodies.functions.get(function).copied().unwrap_or(BodyId::MAIN);
    }
    let id = NodeId { body: BodyId::MAIN, index };
    let branch = node.attribute.iter().position(|attribute| attribute.name() == "then_branch");
    let branch = branch.filter(|_| node.op_type() == "If").and_then(|attribute| bodies.subgraph(id, attribute, 0));
    branch.unwrap_or(BodyId::MAIN)
}
