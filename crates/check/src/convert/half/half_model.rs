//! Result of a conversion to half precision.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{ModelProto, Texts};

use super::reason::FloatReason;
use crate::infer::NodeId;

/// Model in half precision.
#[derive(Clone, Debug)]
pub struct HalfModel {
    /// The model.
    pub model: ModelProto,
    /// Number of nodes that compute in half precision, in all graphs.
    pub half_nodes: usize,
    /// The nodes with float values that stay in float, in all graphs.
    pub float_nodes: Vec<FloatNode>,
    /// Number of added Cast nodes.
    pub casts: usize,
    /// The rounded weights.
    pub weights: Vec<RoundedWeight>,
    /// Weights in external data, which stay in float.
    pub external: Vec<String>,
    /// The nodes of the main graph that compute in half precision.
    pub nodes: Vec<HalfNode>,
    /// Name in the original model of each value of the main graph, and its type, if it differs or the type is float or half.
    pub values: BTreeMap<String, (String, ElementType)>,
    /// The nodes of subgraphs that compute in half precision.
    pub inner_nodes: Vec<InnerNode>,
    /// The values of subgraphs, like `values`, without those whose name is defined more than once in the original model.
    pub inner_values: BTreeMap<String, (String, ElementType)>,
}

impl HalfModel {
    /// Returns one line for each reason why nodes stay in float: the number of nodes and the reason.
    pub fn reasons(&self) -> Vec<String> {
        let mut counts: BTreeMap<&FloatReason, Vec<&str>> = BTreeMap::new();
        self.float_nodes.iter().for_each(|node| counts.entry(&node.reason).or_default().push(&node.place));
        let line = |(reason, places): (&FloatReason, Vec<&str>)| match places.as_slice() {
            [place] => format!("{place} stays float: {reason}"),
            places => format!("{} nodes stay float: {reason}", places.len()),
        };
        counts.into_iter().map(line).collect()
    }
}

/// Node that stays in float.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatNode {
    /// The node with its graph.
    pub place: String,
    /// The reason.
    pub reason: FloatReason,
}

/// Node of the main graph in half precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HalfNode {
    /// The position in the original graph.
    pub index: usize,
    /// The position in the new graph.
    pub new_index: usize,
    /// The node for display.
    pub place: String,
    /// Positions of the nodes that produce its inputs in half precision, in the original graph.
    pub producers: Vec<usize>,
}

/// Node of a subgraph in half precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerNode {
    /// The node in the original model.
    pub id: NodeId,
    /// The node for display.
    pub place: String,
    /// Its outputs in the original model.
    pub outputs: Texts,
}

/// Weight that was rounded to half precision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundedWeight {
    /// The initializer or the output of the Constant.
    pub name: String,
    /// Number of elements.
    pub elements: usize,
    /// Number of nonzero elements that became zero.
    pub underflows: usize,
}

/// Error of a conversion to half precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HalfError {
    /// The model has training graphs.
    #[error("training graphs are not converted; --strip training drops them")]
    Training,
    /// The model cannot cast between float and the type.
    #[error("the model needs Cast to {element}, which {version} does not take; convert to --opset {opset} first")]
    Cast {
        /// The version of Cast.
        version: String,
        /// The type.
        element: ElementType,
        /// The first opset with such a Cast.
        opset: u32,
    },
    /// The model does not import the operators of ONNX.
    #[error("the model does not import ai.onnx, whose Cast is needed")]
    NoImport,
    /// The time is over.
    #[error("the conversion ran out of time")]
    Late,
}
