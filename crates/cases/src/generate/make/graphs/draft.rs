//! A graph with its values, before it becomes a model.

use std::collections::BTreeSet;

use onnx_conformance_reference::proto::{FunctionProto, GraphProto, NodeProto};

use crate::case::Named;

/// A graph with its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphDraft {
    pub(crate) opset: u32,
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) functions: Vec<FunctionProto>,
    pub(crate) inputs: Vec<Named>,
    /// Initializers.
    pub(crate) weights: Vec<Named>,
    /// Values of weights that are inputs, too.
    pub(crate) overridden: Vec<Named>,
    pub(crate) outputs: Vec<String>,
    /// True if the dimensions of inputs and outputs have names instead of sizes.
    pub(crate) is_dynamic: bool,
}

impl GraphDraft {
    /// Returns the values that are supplied for a run.
    pub(crate) fn supplied(&self) -> Vec<Named> {
        self.inputs.iter().chain(&self.overridden).cloned().collect()
    }

    /// Returns the names of values between nodes, which are no outputs, in order.
    pub(crate) fn intermediates(&self) -> Vec<String> {
        let produced = self.nodes.iter().flat_map(|node| &node.output);
        produced.filter(|name| !name.is_empty() && !self.outputs.contains(name)).cloned().collect()
    }
}

/// Returns the names that nodes read, with those that their subgraphs read.
pub(crate) fn read_names(nodes: &[NodeProto]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for node in nodes {
        names.extend(node.input.iter().filter(|name| !name.is_empty()).cloned());
        for attribute in &node.attribute {
            for graph in attribute.g.iter().chain(&attribute.graphs) {
                names.extend(names_of_graph(graph));
            }
        }
    }
    names
}

/// Returns the names that a subgraph reads, its own outputs included.
fn names_of_graph(graph: &GraphProto) -> BTreeSet<String> {
    let mut names = read_names(&graph.node);
    names.extend(graph.output.iter().map(|output| output.name().to_owned()));
    names
}
