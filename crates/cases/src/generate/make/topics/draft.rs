//! A graph with its values, before it becomes a model.

use onnx_conformance_reference::proto::{FunctionProto, NodeProto};

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

    /// Returns the names of values between nodes that are not outputs, in order.
    pub(crate) fn intermediates(&self) -> Vec<String> {
        let produced = self.nodes.iter().flat_map(|node| &node.output).map(ToString::to_string);
        produced.filter(|name| !name.is_empty() && !self.outputs.contains(name)).collect()
    }
}
