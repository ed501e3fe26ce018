//! Model in half precision, built by a plan: renamed values, rounded weights, and Casts where a value is read in both types.

use std::collections::{BTreeMap, HashMap, HashSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{
    GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, encode, texts,
};

use super::half_model::{FloatNode, HalfModel, HalfNode, InnerNode, RoundedWeight};
use super::plan::{Plan, Read};
use super::weights::{Rounded, Weight, constant};
use crate::convert::attributes::{int, set};
use crate::convert::draft::Names;
use crate::convert::metadata::NodeMetadata;
use crate::convert::model::names_in;
use crate::infer::{BodyId, Definition, NodeId, ValueId};

/// Types that a value is read in.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    float: bool,
    half: bool,
}

impl Uses {
    fn add(&mut self, element: ElementType) {
        if element == ElementType::Float {
            self.float = true;
        } else {
            self.half = true;
        }
    }
}

/// Builder of a model.
pub(super) struct Builder<'p, 'a, 'm> {
    plan: &'p Plan<'a, 'm>,
    uses: BTreeMap<ValueId, Uses>,
    /// The names of values in a type, where they differ from the original ones.
    names: HashMap<Read, String>,
    /// The Cast of the original model that a Cast of a value to a type replaces.
    replaced: HashMap<Read, NodeId>,
    built: HalfModel,
}

impl<'p, 'a, 'm> Builder<'p, 'a, 'm> {
    /// Collects the uses of all values, and names each value in each type.
    pub(super) fn new(plan: &'p Plan<'a, 'm>) -> Builder<'p, 'a, 'm> {
        let mut uses: BTreeMap<ValueId, Uses> = BTreeMap::new();
        let results = plan.bodies().flat_map(|body| plan.results(body));
        let ids = plan.node_ids().into_iter().filter(|id| !plan.dropped.contains(id));
        for (value, element) in ids.flat_map(|id| plan.reads(id)).chain(results).flatten() {
            uses.entry(value).or_default().add(element);
        }
        let built = HalfModel {
            model: ModelProto { graph: None, ..plan.inferred.bodies.model.clone() },
            half_nodes: plan.nodes.len(),
            float_nodes: Vec::new(),
            casts: 0,
            weights: Vec::new(),
            external: Vec::new(),
            nodes: Vec::new(),
            values: BTreeMap::new(),
            inner_nodes: Vec::new(),
            inner_values: BTreeMap::new(),
        };
        let mut builder = Builder { plan, uses, names: HashMap::new(), replaced: replaced_casts(plan), built };
        builder.name_values();
        builder
    }

    /// Builds the model.
    pub(super) fn model(mut self) -> HalfModel {
        let bodies = &self.plan.inferred.bodies;
        let graph = bodies.model.graph.is_some().then(|| self.graph(BodyId::MAIN));
        self.built.model.graph = graph;
        let place = |(id, reason): (&NodeId, &super::reason::FloatReason)| FloatNode {
            place: self.place(*id),
            reason: reason.clone(),
        };
        self.built.float_nodes = self.plan.float.iter().map(place).collect();
        self.built.values = self.values(BodyId::MAIN);
        self.built.inner_values = self.inner_values();
        self.built
    }

    /// The other one of the two types.
    fn other(&self, element: ElementType) -> ElementType {
        if element == ElementType::Float { self.plan.half } else { ElementType::Float }
    }

    /// True if a value is read in a type.
    fn is_used(&self, value: ValueId, element: ElementType) -> bool {
        let uses = self.uses.get(&value).copied().unwrap_or_default();
        if element == ElementType::Float { uses.float } else { uses.half }
    }

    /// True if a value is a weight that exists once for each type. One that is also an input exists once.
    fn is_copied(&self, value: ValueId) -> bool {
        self.plan.weight(value).is_some() && !self.is_input(value)
    }

    fn is_input(&self, value: ValueId) -> bool {
        let site = self.plan.inferred.bodies.site(value);
        matches!(site.map(|site| site.definition), Some(Definition::Input(_)))
    }

    /// The type of a value that exists once.
    fn produced(&self, value: ValueId) -> ElementType {
        let is_weight = self.plan.weight(value).is_some();
        let is_half = self.is_used(value, self.plan.half) && !self.is_used(value, ElementType::Float);
        if is_weight && is_half { self.plan.half } else { self.plan.produced(value) }
    }

    /// The name of a value in a type.
    fn name(&self, value: ValueId, element: ElementType) -> String {
        self.names.get(&(value, element)).cloned().unwrap_or_else(|| self.plan.name(value).to_owned())
    }

    fn name_values(&mut self) {
        let mut fresh = names_in(self.plan.inferred.bodies.model);
        // An output of the model keeps its name in the type of the output.
        let outputs = self.plan.results(BodyId::MAIN).into_iter().flatten();
        let pinned: HashMap<ValueId, ElementType> = outputs.collect();
        let values: Vec<ValueId> = self.uses.keys().copied().collect();
        for value in values {
            let both = self.is_used(value, ElementType::Float) && self.is_used(value, self.plan.half);
            let own = if self.is_copied(value) {
                if both { ElementType::Float } else { continue }
            } else {
                self.produced(value)
            };
            let other = self.other(own);
            let renamed = if pinned.get(&value) == Some(&other) { own } else { other };
            if self.is_used(value, other) {
                let name = self.fresh(&mut fresh, value, renamed);
                self.names.insert((value, renamed), name);
            }
        }
    }

    fn fresh(&self, names: &mut Names, value: ValueId, element: ElementType) -> String {
        names.fresh(&format!("{}_{element}", self.plan.name(value)))
    }

    /// Builds a graph.
    fn graph(&mut self, body: BodyId) -> GraphProto {
        let source = self.plan.inferred.bodies.body(body);
        let Some(before) = source.graph() else { return GraphProto::default() };
        let mut graph = GraphProto { node: Vec::new(), initializer: Vec::new(), ..before.clone() };
        for tensor in &before.initializer {
            let value = source.names.get(tensor.name()).copied();
            self.initializer(tensor, value, &mut graph.initializer);
        }
        for info in &mut graph.input {
            let value = source.names.get(info.name()).copied();
            if let Some(value) = value.filter(|value| self.plan.original(*value).is_some()) {
                declare(info, self.produced(value));
            }
        }
        let inputs = before.input.iter().map(ValueInfoProto::name);
        let given = inputs.chain(before.initializer.iter().map(TensorProto::name));
        let sparse = before.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
        let mut seen = HashSet::new();
        for name in given.chain(sparse.map(TensorProto::name)) {
            if let Some(value) = source.names.get(name).filter(|value| seen.insert(**value)) {
                self.cast(*value, None, &mut graph.node);
            }
        }
        for index in 0..before.node.len() {
            self.node(NodeId { body, index }, &mut graph.node);
        }
        for (info, result) in graph.output.iter_mut().zip(self.plan.results(body)) {
            if let Some((value, element)) = result {
                info.name = Some(self.name(value, element));
                declare(info, element);
            }
        }
        let infos = std::mem::take(&mut graph.value_info);
        graph.value_info = infos.into_iter().filter_map(|info| self.value_info(body, info)).collect();
        graph
    }

    /// Adds an initializer in each type that is read.
    fn initializer(&mut self, tensor: &TensorProto, value: Option<ValueId>, tensors: &mut Vec<TensorProto>) {
        let Some(value) = value.filter(|value| self.plan.original(*value) == Some(ElementType::Float)) else {
            tensors.push(tensor.clone());
            return;
        };
        if !self.is_copied(value) {
            let element = self.produced(value);
            let is_half = element == self.plan.half;
            if self.plan.weight(value).is_none() && self.is_used(value, self.plan.half) && !self.is_input(value) {
                self.built.external.push(tensor.name().to_owned());
            }
            let name = self.name(value, element);
            let rounded = if is_half { self.rounded(value, Weight::Initializer(tensor)) } else { None };
            tensors.push(match rounded {
                Some(rounded) => self.weight(tensor, &rounded, &name),
                None => TensorProto { name: Some(name), ..tensor.clone() },
            });
            return;
        }
        if self.is_used(value, ElementType::Float) || !self.is_used(value, self.plan.half) {
            tensors.push(TensorProto { name: Some(self.name(value, ElementType::Float)), ..tensor.clone() });
        }
        if self.is_used(value, self.plan.half)
            && let Some(rounded) = self.rounded(value, Weight::Initializer(tensor))
        {
            let name = self.name(value, self.plan.half);
            tensors.push(self.weight(tensor, &rounded, &name));
        }
    }

    /// Returns the rounded tensor of a weight.
    fn rounded(&self, value: ValueId, weight: Weight<'_>) -> Option<Rounded> {
        let known = self.plan.rounded.get(&value).cloned();
        known.or_else(|| Rounded::new(&weight.tensor()?, self.plan.half))
    }

    /// Returns the message of a rounded initializer, and reports it.
    fn weight(&mut self, before: &TensorProto, rounded: &Rounded, name: &str) -> TensorProto {
        self.report(before.name(), rounded);
        TensorProto {
            doc_string: before.doc_string.clone(),
            metadata_props: before.metadata_props.clone(),
            ..encode::tensor(&rounded.tensor, name)
        }
    }

    fn report(&mut self, name: &str, rounded: &Rounded) {
        let (elements, underflows) = (rounded.tensor.len(), rounded.underflows);
        self.built.weights.push(RoundedWeight { name: name.to_owned(), elements, underflows });
    }

    /// Adds a node, and the Casts of its outputs.
    fn node(&mut self, id: NodeId, nodes: &mut Vec<NodeProto>) {
        let bodies = &self.plan.inferred.bodies;
        let Some(before) = bodies.node(id).filter(|_| !self.plan.dropped.contains(&id)) else { return };
        let outputs: Vec<Option<ValueId>> = before.output.iter().map(|name| bodies.lookup(id.body, name)).collect();
        if let [Some(value)] = outputs.as_slice()
            && let Some(weight @ Weight::Constant(node)) = self.plan.weight(*value)
        {
            self.constant(*value, weight, node, nodes);
            return;
        }
        let mut node = before.clone();
        for (name, read) in node.input.iter_mut().zip(self.plan.reads(id)) {
            if let Some((value, element)) = read {
                *name = self.name(value, element).into();
            }
        }
        for (name, value) in node.output.iter_mut().zip(&outputs) {
            if let Some(value) = value.filter(|value| self.plan.original(*value).is_some()) {
                *name = self.name(value, self.produced(value)).into();
            }
        }
        for (at, attribute) in node.attribute.iter_mut().enumerate() {
            for (position, graph) in attribute.all_graphs_mut().enumerate() {
                if let Some(body) = bodies.subgraph(id, at, position) {
                    *graph = self.graph(body);
                }
            }
        }
        if let Some(attribute) = self.plan.nodes.get(&id).and_then(|types| types.attribute.clone()) {
            set(&mut node, attribute);
        }
        if self.plan.nodes.contains_key(&id) {
            if id.body == BodyId::MAIN {
                self.built.nodes.push(self.half_node(id, nodes.len()));
            } else {
                let (place, outputs) = (self.place(id), before.output.clone());
                self.built.inner_nodes.push(InnerNode { id, place, outputs });
            }
        }
        nodes.push(node);
        outputs.into_iter().flatten().for_each(|value| self.cast(value, Some(before), nodes));
    }

    /// Adds a Constant node in each type that is read.
    fn constant(&mut self, value: ValueId, weight: Weight<'_>, node: &NodeProto, nodes: &mut Vec<NodeProto>) {
        let is_half = self.is_used(value, self.plan.half);
        let is_float = self.is_used(value, ElementType::Float) || !is_half;
        if is_float {
            nodes.push(NodeProto { output: texts([self.name(value, ElementType::Float)]), ..node.clone() });
        }
        if is_half && let Some(rounded) = self.rounded(value, weight) {
            self.report(self.plan.name(value), &rounded);
            let mut copy = constant(node, &rounded.tensor, &self.name(value, self.plan.half));
            copy.name = copy.name.filter(|_| !is_float);
            nodes.push(copy);
        }
    }

    /// Adds the Cast of a value that is read in a different type than it is produced in. It has the name and the
    /// metadata of the Cast that it replaces, or else the metadata of the node that produces the value.
    fn cast(&mut self, value: ValueId, producer: Option<&NodeProto>, nodes: &mut Vec<NodeProto>) {
        let is_root = self.plan.original(value).is_some() && self.plan.root(value) == value;
        let produced = self.produced(value);
        let other = self.other(produced);
        if !is_root || self.is_copied(value) || !self.is_used(value, other) {
            return;
        }
        self.built.casts += 1;
        let replaced = self.replaced.get(&(value, other)).and_then(|id| self.plan.inferred.bodies.node(*id));
        let mut node = NodeProto {
            name: replaced.and_then(|cast| cast.name.clone()),
            op_type: Some("Cast".into()),
            input: texts([self.name(value, produced)]),
            output: texts([self.name(value, other)]),
            attribute: vec![int("to", i64::from(other.code()))],
            ..NodeProto::default()
        };
        if let Some(metadata) = replaced.or(producer).and_then(NodeMetadata::of) {
            metadata.describe(&mut node);
        }
        nodes.push(node);
    }

    fn half_node(&self, id: NodeId, new_index: usize) -> HalfNode {
        let bodies = &self.plan.inferred.bodies;
        let producer = |(value, element): Read| {
            let site = bodies.site(value).filter(|site| site.body == id.body && element == self.plan.half)?;
            let Definition::Node(index, _) = site.definition else { return None };
            self.plan.nodes.contains_key(&NodeId { body: id.body, index }).then_some(index)
        };
        let producers = self.plan.reads(id).into_iter().flatten().filter_map(producer).collect();
        HalfNode { index: id.index, new_index, place: self.place(id), producers }
    }

    /// Describes a node, with its graph unless that is the main graph.
    fn place(&self, id: NodeId) -> String {
        let bodies = &self.plan.inferred.bodies;
        if id.body == BodyId::MAIN { bodies.node_place(id).to_string() } else { bodies.place_of(id).to_string() }
    }

    /// Returns the declaration of a value with its new type; `None` if the value no longer exists under this name.
    fn value_info(&self, body: BodyId, mut info: ValueInfoProto) -> Option<ValueInfoProto> {
        // A graph may declare values of enclosing graphs.
        let Some(value) = self.plan.inferred.bodies.lookup(body, info.name()) else { return Some(info) };
        if self.plan.original(value).is_none() {
            return Some(info);
        }
        if self.plan.root(value) != value {
            return None;
        }
        let types = [self.produced(value), self.other(self.produced(value))];
        let exists = |element: &ElementType| {
            let is_made = !self.is_copied(value) && *element == self.produced(value);
            (is_made || self.is_used(value, *element)) && self.name(value, *element) == info.name()
        };
        let element = types.into_iter().find(exists)?;
        declare(&mut info, element);
        Some(info)
    }

    /// Returns the original name and the type of each value of the subgraphs whose name is defined once.
    fn inner_values(&self) -> BTreeMap<String, (String, ElementType)> {
        let bodies = &self.plan.inferred.bodies;
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in bodies.ids().flat_map(|body| bodies.body(body).names.keys()) {
            *counts.entry(*name).or_default() += 1;
        }
        let inner = self.plan.bodies().filter(|body| *body != BodyId::MAIN);
        let values = inner.flat_map(|body| self.values(body));
        values.filter(|(_, (original, _))| counts.get(original.as_str()) == Some(&1)).collect()
    }

    /// Returns the original name and the type of each value of a graph.
    fn values(&self, body: BodyId) -> BTreeMap<String, (String, ElementType)> {
        let mut values = BTreeMap::new();
        for (name, value) in &self.plan.inferred.bodies.body(body).names {
            if self.plan.original(*value).is_none() || self.plan.root(*value) != *value {
                continue;
            }
            let produced = self.produced(*value);
            for element in [produced, self.other(produced)] {
                if element == produced || self.is_used(*value, element) {
                    values.insert(self.name(*value, element), ((*name).to_owned(), element));
                }
            }
        }
        values
    }
}

/// Returns the first Cast of each value to each type among those that a plan replaces.
fn replaced_casts(plan: &Plan<'_, '_>) -> HashMap<Read, NodeId> {
    let mut casts = HashMap::new();
    for id in &plan.dropped {
        let output = plan.inferred.bodies.node(*id).and_then(|cast| cast.output.first());
        let value = output.and_then(|name| plan.inferred.bodies.lookup(id.body, name));
        if let Some((value, element)) = value.and_then(|value| Some((value, plan.original(value)?))) {
            casts.entry((plan.root(value), element)).or_insert(*id);
        }
    }
    casts
}

/// Declares a value with a type, if it is declared with another element type.
fn declare(info: &mut ValueInfoProto, element: ElementType) {
    if let Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), .. }) = &mut info.r#type {
        tensor.elem_type = tensor.elem_type.map(|_| element.code());
    }
}
