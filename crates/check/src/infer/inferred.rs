//! Results of inference for a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_conformance_reference::proto::{AttributeProto, ModelProto, NodeProto, Text};

use crate::facts::{NodeFacts, Origin, ValueFact};
use crate::finding::Described;
use crate::findings::Findings;
use crate::infer::bodies::{Bodies, BodyId, NodeId, NodePath, ValueId};
use crate::infer::walk::Walk;
use crate::limits::Limits;

/// Known facts about every value of a model. In a function, they hold for all of its calls.
#[derive(Debug)]
pub struct Inferred<'m> {
    /// The graphs of the model, and the names in each.
    pub bodies: Bodies<'m>,
    /// Contradictions of nodes, subgraphs and declarations with the inferred types.
    pub findings: Findings,
    facts: Vec<Arc<ValueFact>>,
}

/// Infers the facts about the values of a model that are known before it runs, and finds the nodes that cannot run.
pub fn infer<'m>(model: &'m ModelProto, limits: &Limits) -> Inferred<'m> {
    let bodies = Bodies::new(model);
    let (facts, findings) = Walk::new(&bodies, limits).run();
    Inferred { bodies, findings, facts }
}

/// Infers only the facts: no node is tried on values for its unknown inputs.
pub fn infer_facts<'m>(model: &'m ModelProto, limits: &Limits) -> Inferred<'m> {
    let bodies = Bodies::new(model);
    let (facts, findings) = Walk::new(&bodies, limits).without_probes().run();
    Inferred { bodies, findings, facts }
}

impl<'m> Inferred<'m> {
    /// All nodes of the model, of its functions and of their subgraphs.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.bodies.node_ids()
    }

    /// The known facts about a value.
    pub fn fact(&self, value: ValueId) -> Option<&ValueFact> {
        self.facts.get(value.0).map(AsRef::as_ref)
    }

    /// The known facts about a value by its name in a body.
    pub fn value(&self, body: BodyId, name: &str) -> Option<&ValueFact> {
        self.fact(self.bodies.lookup(body, name)?)
    }

    /// The source of a value by its name in a body.
    pub fn origin(&self, body: BodyId, name: &str) -> Option<Origin> {
        self.bodies.origin(self.bodies.lookup(body, name)?)
    }

    /// A node with the known facts about its inputs and outputs; its opset is 0 if its domain is not imported.
    pub fn node_facts(&self, id: NodeId) -> Option<NodeFacts<'m>> {
        let node = self.bodies.node(id)?;
        let fact = |name: &Text| (!name.is_empty()).then(|| self.value(id.body, name).cloned().unwrap_or_default());
        Some(NodeFacts {
            node,
            opset: self.bodies.opset(id.body, node.domain()).unwrap_or(0),
            inputs: node.input.iter().map(fact).collect(),
            outputs: node.output.iter().map(fact).collect(),
            subgraph_outputs: self.subgraph_outputs(id, node),
        })
    }

    fn subgraph_outputs(&self, id: NodeId, node: &NodeProto) -> BTreeMap<String, Vec<ValueFact>> {
        let outputs = |(attribute, at): (&AttributeProto, usize)| {
            let body = self.bodies.subgraph(id, at, 0).filter(|_| attribute.g.is_some())?;
            let facts = self.bodies.body(body).outputs().into_iter();
            let facts = facts.map(|name| self.value(body, name).cloned().unwrap_or_default());
            Some((attribute.name().to_owned(), facts.collect()))
        };
        node.attribute.iter().zip(0..).filter_map(outputs).collect()
    }

    /// The same for the node at the end of a path.
    pub fn node_facts_at(&self, path: &NodePath) -> Option<NodeFacts<'m>> {
        self.node_facts(self.bodies.find(path)?)
    }

    /// Describes the inputs of a node for display.
    pub fn describe_inputs(&self, id: NodeId, node: &NodeProto) -> Vec<Described> {
        node.input.iter().map(|name| Described::new(name, self.value(id.body, name))).collect()
    }
}
