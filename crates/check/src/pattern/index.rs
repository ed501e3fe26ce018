//! Index of a model: its nodes by operator version, and the readers and sources of its values.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use onnx_conformance_reference::model::graph::plain_domain;
use onnx_conformance_reference::proto::{NodeProto, TensorProto};
use onnx_conformance_reference::spec::OperatorVersion;

use crate::infer::{BodyId, BodySource, Definition, Inferred, NodeId, ValueId};

/// Lowest IR version in which an initializer that is an input, too, is only its default.
const IR_OF_DEFAULTS: i64 = 4;

/// Source of a value, as an optimizer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An input, or the output of a node.
    Computed,
    /// An initializer, or the output of a Constant.
    Constant,
    /// An input with a default.
    Default,
}

/// Kind of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Main,
    Subgraph,
    Function,
}

/// A model whose nodes are indexed. One index serves searches for many patterns.
#[derive(Debug)]
pub struct ModelIndex<'m> {
    pub(super) inferred: &'m Inferred<'m>,
    by_operator: HashMap<&'static OperatorVersion, Vec<NodeId>>,
    /// Readers of each value: the node and the position of the input.
    readers: HashMap<ValueId, Vec<(NodeId, usize)>>,
    /// Values that are outputs of graphs.
    outputs: HashSet<ValueId>,
    /// Values with an initializer.
    initialized: HashSet<ValueId>,
}

impl<'m> ModelIndex<'m> {
    /// Indexes a model.
    pub fn new(inferred: &'m Inferred<'m>) -> ModelIndex<'m> {
        let mut index = ModelIndex {
            inferred,
            by_operator: HashMap::new(),
            readers: HashMap::new(),
            outputs: HashSet::new(),
            initialized: HashSet::new(),
        };
        for body in inferred.bodies.ids() {
            index.add(body);
        }
        index
    }

    fn add(&mut self, body: BodyId) {
        let inferred = self.inferred;
        let bodies = &inferred.bodies;
        let contents = bodies.body(body);
        for (node, index) in contents.nodes().iter().zip(0..) {
            let id = NodeId { body, index };
            for (name, position) in node.input.iter().zip(0..).filter(|(name, _)| !name.is_empty()) {
                if let Some(value) = bodies.lookup(body, name) {
                    self.readers.entry(value).or_default().push((id, position));
                }
            }
            if let Some(spec) = bodies.spec(body, node).filter(|_| !is_constant(node)) {
                self.by_operator.entry(&spec.version).or_default().push(id);
            }
        }
        self.outputs.extend(contents.outputs().into_iter().filter_map(|name| bodies.lookup(body, name)));
        let initializers = contents.graph().map_or(&[][..], |graph| &graph.initializer);
        let values = initializers.iter().map(TensorProto::name).filter_map(|name| contents.names.get(name));
        self.initialized.extend(values.copied());
    }

    /// Returns true if the model has a node of this operator version.
    pub fn has(&self, version: &OperatorVersion) -> bool {
        self.by_operator.contains_key(version)
    }

    pub(super) fn nodes_of(&self, version: &OperatorVersion) -> &[NodeId] {
        self.by_operator.get(version).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn readers(&self, value: ValueId) -> &[(NodeId, usize)] {
        self.readers.get(&value).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn is_output(&self, value: ValueId) -> bool {
        self.outputs.contains(&value)
    }

    pub(super) fn source(&self, value: ValueId) -> Source {
        let site = self.inferred.bodies.site(value);
        match site.map(|site| (site.body, site.definition)) {
            Some((_, Definition::Initializer(_) | Definition::SparseInitializer(_))) => Source::Constant,
            Some((_, Definition::Input(_))) if self.initialized.contains(&value) => {
                let ir = self.inferred.bodies.model.ir_version();
                if ir < IR_OF_DEFAULTS { Source::Constant } else { Source::Default }
            }
            Some((body, Definition::Node(index, _))) => {
                let node = self.inferred.bodies.node(NodeId { body, index });
                if node.is_some_and(is_constant) { Source::Constant } else { Source::Computed }
            }
            _ => Source::Computed,
        }
    }

    /// Returns the node that computes a value, and the position of the output.
    pub(super) fn producer(&self, value: ValueId) -> Option<(NodeId, usize)> {
        let site = self.inferred.bodies.site(value)?;
        match site.definition {
            Definition::Node(index, position) => Some((NodeId { body: site.body, index }, position)),
            _ => None,
        }
    }

    pub(super) fn body_of(&self, value: ValueId) -> Option<BodyId> {
        self.inferred.bodies.site(value).map(|site| site.body)
    }

    pub(super) fn scope(&self, body: BodyId) -> Scope {
        let body = self.inferred.bodies.body(body);
        match (body.source, body.parent) {
            (BodySource::Function(_), _) => Scope::Function,
            (BodySource::Graph(_), Some(_)) => Scope::Subgraph,
            (BodySource::Graph(_), None) => Scope::Main,
        }
    }
}

/// Returns true for a Constant, whose output counts as an initializer.
pub(super) fn is_constant(node: &NodeProto) -> bool {
    node.op_type() == "Constant" && plain_domain(node.domain()).is_empty()
}
