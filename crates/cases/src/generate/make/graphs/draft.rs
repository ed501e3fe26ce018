//! A graph with its values, before it becomes a model.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{FunctionProto, GraphProto, NodeProto};
use onnx_conformance_reference::value::Value;

use crate::case::Named;
use crate::generate::make::graphs::model::{self, Declaration};

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

    /// Runs the graph on the built-in executor, and returns its outputs in order.
    pub(crate) fn run(&self) -> Result<Vec<Named>, String> {
        let declared: Vec<Declaration> = self.outputs.iter().map(|name| Declaration::unknown(name)).collect();
        let bytes = model::encode(self, &declared);
        let model = read_model(bytes, &NoExternalData, &LoadLimits::default()).map_err(|error| error.to_string())?;
        let inputs: BTreeMap<String, Value> =
            self.supplied().into_iter().map(|input| (input.name, input.value)).collect();
        let values = run(&model, inputs, ExecutionLimits::default()).map_err(|error| error.to_string())?;
        Ok(self.outputs.iter().zip(values).map(|(name, value)| Named { name: name.clone(), value }).collect())
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
