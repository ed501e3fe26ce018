//! Graphs of a model: the main graph, the bodies of functions, and all their subgraphs, with the names in each.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use foldhash::{HashMap, HashMapExt as _, HashSet};
use onnx_conformance_reference::model::graph::plain_domain;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};
use onnx_conformance_reference::spec::{OpSpec, Specs, canonical_domain};

use crate::facts::Origin;
use crate::finding::{NodePlace, PathStep, Place};
use crate::shorten;
use crate::used_domains::UsedDomains;

/// The first IR version in which constants of a subgraph are not among its inputs.
const IR_OF_CONSTANTS: i64 = 4;

/// Number of a graph in a model; the main graph is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub(crate) usize);

impl BodyId {
    /// The main graph.
    pub const MAIN: BodyId = BodyId(0);
}

/// Identifier of a node in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// The graph.
    pub body: BodyId,
    /// The position in the graph's list of nodes.
    pub index: usize,
}

/// Number of a value in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(crate) usize);

/// Path to a node through the messages of a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath {
    /// The function of the model where the path begins; `None` for the main graph.
    pub function: Option<usize>,
    /// The entered nodes, outermost first.
    pub entered: Vec<SubgraphStep>,
    /// The position in the innermost graph's list of nodes.
    pub index: usize,
}

/// Subgraph of a node, by positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubgraphStep {
    /// The node in its graph.
    pub node: usize,
    /// The attribute in the node's list.
    pub attribute: usize,
    /// The graph in the attribute; 0 except in a list of graphs.
    pub graph: usize,
}

/// Message of a body.
#[derive(Clone, Copy, Debug)]
pub enum BodySource<'m> {
    /// A graph.
    Graph(&'m GraphProto),
    /// A function of the model.
    Function(&'m FunctionProto),
}

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// The input of the body at this position.
    Input(usize),
    /// The initializer at this position.
    Initializer(usize),
    /// The sparse initializer at this position.
    SparseInitializer(usize),
    /// The output of a node: the node, and the position of the output.
    Node(usize, usize),
}

/// Graph with the names that it defines.
#[derive(Debug)]
pub struct Body<'m> {
    /// The message of the body.
    pub source: BodySource<'m>,
    /// The enclosing body and the step into this one; `None` for the main graph and functions.
    pub parent: Option<(BodyId, SubgraphStep)>,
    /// The enclosing function; `None` in the main graph.
    pub function: Option<usize>,
    /// The values by name; the first one if a name is defined twice.
    pub names: HashMap<&'m str, ValueId>,
    /// The values of the body and its subgraphs, by number.
    pub(crate) range: std::ops::Range<usize>,
}

impl<'m> Body<'m> {
    /// The nodes.
    pub fn nodes(&self) -> &'m [NodeProto] {
        match self.source {
            BodySource::Graph(graph) => &graph.node,
            BodySource::Function(function) => &function.node,
        }
    }

    /// The names of the inputs.
    pub fn inputs(&self) -> Vec<&'m str> {
        match self.source {
            BodySource::Graph(graph) => graph.input.iter().map(ValueInfoProto::name).collect(),
            BodySource::Function(function) => function.input.iter().map(String::as_str).collect(),
        }
    }

    /// The names of the outputs.
    pub fn outputs(&self) -> Vec<&'m str> {
        match self.source {
            BodySource::Graph(graph) => graph.output.iter().map(ValueInfoProto::name).collect(),
            BodySource::Function(function) => function.output.iter().map(String::as_str).collect(),
        }
    }

    /// The graph, unless the body is a function.
    pub fn graph(&self) -> Option<&'m GraphProto> {
        match self.source {
            BodySource::Graph(graph) => Some(graph),
            BodySource::Function(_) => None,
        }
    }
}

/// Location of a value's definition: the body and the position there.
#[derive(Clone, Copy, Debug)]
pub struct ValueSite {
    /// The body.
    pub body: BodyId,
    /// The definition in the body.
    pub definition: Definition,
}

/// Values that the nodes of a body define. Finds them in order, without their names.
pub(crate) struct NodeOutputs {
    body: BodyId,
    next: usize,
}

impl NodeOutputs {
    /// The value of an output after all outputs asked for before; `None` if it has no name, or defines a name again.
    pub(crate) fn find(&mut self, bodies: &Bodies<'_>, node: usize, at: usize) -> Option<ValueId> {
        let site = bodies.values.get(self.next).filter(|site| site.body == self.body)?;
        (site.definition == Definition::Node(node, at)).then(|| {
            self.next += 1;
            ValueId(self.next - 1)
        })
    }
}

/// The imported version of each domain; ONNX's own is `""`. The largest one if a domain is imported twice.
pub type Imports = BTreeMap<String, i64>;

/// All graphs of a model.
#[derive(Debug)]
pub struct Bodies<'m> {
    /// The model.
    pub model: &'m ModelProto,
    /// The bodies, the main graph first.
    pub bodies: Vec<Body<'m>>,
    /// The values of all bodies.
    pub values: Vec<ValueSite>,
    /// The body of each function of the model.
    pub functions: Vec<BodyId>,
    /// The functions by domain, name and overload; the first one if a function is defined twice.
    pub by_name: HashMap<(&'m str, &'m str, &'m str), usize>,
    subgraphs: HashMap<(NodeId, usize, usize), BodyId>,
    /// The operator version of each operator, in the main graph or in a function.
    specs: HashMap<(Option<usize>, &'m str, &'m str), Option<&'static OpSpec>>,
    imports: Imports,
    function_imports: Vec<Imports>,
    used_domains: OnceLock<UsedDomains>,
}

fn imports(protos: &[OperatorSetIdProto]) -> Imports {
    let mut imports = Imports::new();
    for proto in protos {
        let version = imports.entry(plain_domain(proto.domain()).to_owned()).or_insert(i64::MIN);
        *version = (*version).max(proto.version());
    }
    imports
}

impl<'m> Bodies<'m> {
    /// Returns the domains that nodes of the model use, which are collected once.
    pub(crate) fn used_domains(&self) -> &UsedDomains {
        self.used_domains.get_or_init(|| UsedDomains::of_model(self.model))
    }

    /// Collects the graphs of a model and the names in each.
    pub fn new(model: &'m ModelProto) -> Bodies<'m> {
        let mut bodies = Bodies {
            model,
            bodies: Vec::new(),
            values: Vec::new(),
            functions: Vec::new(),
            by_name: HashMap::new(),
            subgraphs: HashMap::new(),
            specs: HashMap::new(),
            imports: imports(&model.opset_import),
            function_imports: model.functions.iter().map(|function| imports(&function.opset_import)).collect(),
            used_domains: OnceLock::new(),
        };
        if let Some(graph) = &model.graph {
            bodies.add(BodySource::Graph(graph), None, None);
        }
        for (index, function) in model.functions.iter().enumerate() {
            let key = (plain_domain(function.domain()), function.name(), function.overload());
            bodies.by_name.entry(key).or_insert(index);
            let body = bodies.add(BodySource::Function(function), None, Some(index));
            bodies.functions.push(body);
        }
        bodies.find_specs();
        bodies
    }

    fn find_specs(&mut self) {
        let mut specs = HashMap::new();
        for id in self.ids() {
            let body = self.body(id);
            for node in body.nodes() {
                let domain = plain_domain(node.domain());
                specs
                    .entry((body.function, domain, node.op_type()))
                    .or_insert_with(|| Specs::embedded().find(domain, node.op_type(), self.opset(id, domain)?).ok());
            }
        }
        self.specs = specs;
    }

    /// The operator version of a node; `None` if it calls a function, or if its domain or operator is unknown.
    pub fn spec(&self, body: BodyId, node: &NodeProto) -> Option<&'static OpSpec> {
        if self.function_of(node).is_some() {
            return None;
        }
        let key = (self.body(body).function, plain_domain(node.domain()), node.op_type());
        self.specs.get(&key).copied().flatten()
    }

    fn add(
        &mut self,
        source: BodySource<'m>,
        parent: Option<(BodyId, SubgraphStep)>,
        function: Option<usize>,
    ) -> BodyId {
        let (id, first) = (BodyId(self.bodies.len()), self.values.len());
        self.bodies.push(Body { source, parent, function, names: HashMap::new(), range: first..first });
        // bounded: by the names of the model, which are in memory.
        let mut names = HashMap::with_capacity(count_names(source));
        let mut define = |name: &'m str, definition| {
            let values = &mut self.values;
            if !name.is_empty() {
                names.entry(name).or_insert_with(|| {
                    values.push(ValueSite { body: id, definition });
                    ValueId(values.len() - 1)
                });
            }
        };
        let nodes = match source {
            BodySource::Graph(graph) => {
                graph.input.iter().zip(0..).for_each(|(input, at)| define(input.name(), Definition::Input(at)));
                for (tensor, at) in graph.initializer.iter().zip(0..) {
                    define(tensor.name(), Definition::Initializer(at));
                }
                for (sparse, at) in graph.sparse_initializer.iter().zip(0..) {
                    let name = sparse.values.as_ref().map_or("", |values| values.name());
                    define(name, Definition::SparseInitializer(at));
                }
                &graph.node
            }
            BodySource::Function(function) => {
                function.input.iter().zip(0..).for_each(|(input, at)| define(input, Definition::Input(at)));
                &function.node
            }
        };
        for (node, index) in nodes.iter().zip(0..) {
            node.output.iter().zip(0..).for_each(|(output, at)| define(output, Definition::Node(index, at)));
        }
        for (node, index) in nodes.iter().zip(0..) {
            for (attribute, at) in node.attribute.iter().zip(0..) {
                for (graph, position) in graphs(attribute).zip(0..) {
                    let entered = SubgraphStep { node: index, attribute: at, graph: position };
                    let body = self.add(BodySource::Graph(graph), Some((id, entered)), function);
                    self.subgraphs.insert((NodeId { body: id, index }, at, position), body);
                }
            }
        }
        let end = self.values.len();
        if let Some(body) = self.bodies.get_mut(id.0) {
            body.names = names;
            body.range = first..end;
        }
        id
    }

    /// A body; every id of this model has one.
    #[expect(clippy::indexing_slicing, reason = "an id is made where its body is listed")]
    pub fn body(&self, id: BodyId) -> &Body<'m> {
        &self.bodies[id.0]
    }

    /// A node; `None` if the position is out of range.
    pub fn node(&self, id: NodeId) -> Option<&'m NodeProto> {
        self.body(id.body).nodes().get(id.index)
    }

    /// All bodies, the main graph first.
    pub fn ids(&self) -> impl Iterator<Item = BodyId> + use<> {
        (0..self.bodies.len()).map(BodyId)
    }

    /// All nodes of all bodies.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        // bounded: by the nodes of the model.
        self.ids().flat_map(|body| (0..self.body(body).nodes().len()).map(move |index| NodeId { body, index }))
    }

    /// The body of a graph in an attribute of a node.
    pub fn subgraph(&self, node: NodeId, attribute: usize, graph: usize) -> Option<BodyId> {
        self.subgraphs.get(&(node, attribute, graph)).copied()
    }

    /// Number of inputs that a node passes to its subgraph. Before IR version 4, constants of the subgraph follow them.
    pub(crate) fn passed_inputs(&self, body: BodyId) -> usize {
        let body = self.body(body);
        let Some(graph) = body.graph().filter(|_| self.model.ir_version() < IR_OF_CONSTANTS) else {
            return body.inputs().len();
        };
        let constants: HashSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
        let is_constant = |info: &&ValueInfoProto| constants.contains(info.name());
        graph.input.len() - graph.input.iter().rev().take_while(is_constant).count()
    }

    /// Resolves a name in a body: one of its own values, or one of an enclosing body.
    pub fn lookup(&self, body: BodyId, name: &str) -> Option<ValueId> {
        let mut next = Some(body);
        while let Some(body) = next {
            let body = self.body(body);
            if let Some(value) = body.names.get(name) {
                return Some(*value);
            }
            next = body.parent.map(|(parent, _)| parent);
        }
        None
    }

    /// The location of a value's definition.
    pub fn site(&self, value: ValueId) -> Option<ValueSite> {
        self.values.get(value.0).copied()
    }

    /// The values that the nodes of a body define, in order.
    pub(crate) fn outputs(&self, body: BodyId) -> NodeOutputs {
        let first = self.body(body).range.start;
        let given = self.values.iter().skip(first);
        let given = given.take_while(|site| site.body == body && !matches!(site.definition, Definition::Node(..)));
        NodeOutputs { body, next: first + given.count() }
    }

    /// The imports of the model.
    pub fn imports_of_model(&self) -> &Imports {
        &self.imports
    }

    /// The imports of a body: the imports of its function, or else of the model.
    pub fn imports(&self, body: BodyId) -> &Imports {
        let function = self.body(body).function;
        function.and_then(|function| self.function_imports.get(function)).unwrap_or(&self.imports)
    }

    /// The opset of a domain in a body.
    pub fn opset(&self, body: BodyId, domain: &str) -> Option<i64> {
        self.imports(body).get(plain_domain(domain)).copied()
    }

    /// The function of the model that a node calls, if any.
    pub fn function_of(&self, node: &NodeProto) -> Option<usize> {
        if self.by_name.is_empty() {
            return None;
        }
        self.by_name.get(&(plain_domain(node.domain()), node.op_type(), node.overload())).copied()
    }

    /// The path to a node through the messages.
    pub fn path(&self, node: NodeId) -> NodePath {
        let mut entered = Vec::new();
        let mut body = self.body(node.body);
        while let Some((parent, step)) = body.parent {
            entered.push(step);
            body = self.body(parent);
        }
        entered.reverse();
        NodePath { function: body.function, entered, index: node.index }
    }

    /// The node at the end of a path.
    pub fn find(&self, path: &NodePath) -> Option<NodeId> {
        let mut body = match path.function {
            Some(function) => *self.functions.get(function)?,
            None => BodyId(0),
        };
        for step in &path.entered {
            body = self.subgraph(NodeId { body, index: step.node }, step.attribute, step.graph)?;
        }
        Some(NodeId { body, index: path.index })
    }

    /// Describes a node for messages.
    pub fn node_place(&self, id: NodeId) -> NodePlace {
        let Some(node) = self.node(id) else {
            return NodePlace { index: id.index, name: String::new(), operator: String::new(), output: String::new() };
        };
        NodePlace {
            index: id.index,
            name: shorten::name(node.name()),
            operator: self.operator(id.body, node),
            output: node.output.iter().find(|name| !name.is_empty()).map_or(String::new(), |name| shorten::name(name)),
        }
    }

    /// The operator version of a node, or its domain and operator if there is none.
    fn operator(&self, body: BodyId, node: &NodeProto) -> String {
        match self.spec(body, node) {
            Some(spec) => spec.version.qualified(),
            None => format!("{}/{}", shorten::name(canonical_domain(node.domain())), shorten::name(node.op_type())),
        }
    }

    /// The place of a body.
    pub fn place(&self, id: BodyId) -> Place {
        let mut path = Vec::new();
        let mut id = id;
        loop {
            let body = self.body(id);
            match (body.parent, body.source) {
                (Some((parent, entered)), _) => {
                    let node = NodeId { body: parent, index: entered.node };
                    let attributes = self.node(node).map_or(&[][..], |node| &node.attribute);
                    let attribute = attributes.get(entered.attribute).map_or("", AttributeProto::name);
                    let attribute = shorten::name(attribute);
                    path.push(PathStep::Subgraph { node: self.node_place(node), attribute });
                    id = parent;
                }
                (None, BodySource::Graph(graph)) => {
                    path.push(PathStep::Graph(shorten::name(graph.name())));
                    break;
                }
                (None, BodySource::Function(function)) => {
                    path.push(PathStep::Function(function_name(function)));
                    break;
                }
            }
        }
        path.reverse();
        Place { path, ..Place::default() }
    }

    /// The place of a node.
    pub fn place_of(&self, node: NodeId) -> Place {
        Place { node: Some(self.node_place(node)), ..self.place(node.body) }
    }

    /// The source of a value.
    pub fn origin(&self, value: ValueId) -> Option<Origin> {
        let site = self.values.get(value.0)?;
        let body = self.body(site.body);
        Some(match site.definition {
            Definition::Input(at) => {
                let name = shorten::name(body.inputs().get(at)?);
                match (body.source, body.parent) {
                    (BodySource::Function(_), _) => Origin::FunctionInput(name),
                    (_, Some(_)) => Origin::SubgraphInput(name),
                    (_, None) => Origin::GraphInput(name),
                }
            }
            Definition::Initializer(at) => {
                Origin::Initializer(shorten::name(body.graph()?.initializer.get(at)?.name()))
            }
            Definition::SparseInitializer(at) => {
                let values = body.graph()?.sparse_initializer.get(at)?.values.as_ref();
                Origin::Initializer(shorten::name(values.map_or("", |values| values.name())))
            }
            Definition::Node(index, _) => Origin::Node(self.node_place(NodeId { body: site.body, index }).to_string()),
        })
    }
}

/// Formats the name of a function for messages: `local/f`.
pub(crate) fn function_name(function: &FunctionProto) -> String {
    let (domain, name) = (shorten::name(canonical_domain(function.domain())), shorten::name(function.name()));
    match function.overload() {
        "" => format!("{domain}/{name}"),
        overload => format!("{domain}/{name}:{}", shorten::name(overload)),
    }
}

/// Counts the names that a body defines.
fn count_names(source: BodySource<'_>) -> usize {
    let of_nodes = |nodes: &[NodeProto]| nodes.iter().map(|node| node.output.len()).sum::<usize>();
    match source {
        BodySource::Graph(graph) => {
            graph.input.len() + graph.initializer.len() + graph.sparse_initializer.len() + of_nodes(&graph.node)
        }
        BodySource::Function(function) => function.input.len() + of_nodes(&function.node),
    }
}

/// The graphs in an attribute.
pub(crate) fn graphs(attribute: &AttributeProto) -> impl Iterator<Item = &GraphProto> {
    attribute.all_graphs()
}
