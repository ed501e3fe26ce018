//! Requests of a conversion to half precision.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{ModelProto, NodeProto};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, canonical_domain};

use crate::infer::{Bodies, NodeId};

/// Requested conversion to half precision.
#[derive(Clone, Debug)]
pub struct HalfRequest {
    /// The type: `Float16` or `Bfloat16`, or `Double` for a model that loses nothing.
    pub element: ElementType,
    /// Operators (`Softmax`, `com.x/Op`) and names of nodes that stay in float.
    pub keep: BTreeSet<String>,
    /// Nodes that stay in float, with those of their subgraphs, each with the observation of a run.
    pub measured: BTreeMap<NodeId, String>,
    /// True if the inputs and outputs of the model change their type, too.
    pub half_io: bool,
}

impl HalfRequest {
    /// Requests a type for everything except inputs and outputs.
    pub fn new(element: ElementType) -> HalfRequest {
        HalfRequest { element, keep: BTreeSet::new(), measured: BTreeMap::new(), half_io: false }
    }
}

/// Returns the names that a request may keep: operators and names of nodes outside of functions.
pub fn keepable_names(model: &ModelProto) -> BTreeSet<String> {
    let bodies = Bodies::new(model);
    let nodes = bodies.node_ids().filter(|id| bodies.body(id.body).function.is_none());
    nodes.filter_map(|id| bodies.node(id)).flat_map(names_of).collect()
}

/// Returns the names that a request may use to keep a node in float.
pub(in crate::convert) fn names_of(node: &NodeProto) -> Vec<String> {
    let domain = canonical_domain(node.domain());
    let mut names = vec![format!("{domain}/{}", node.op_type())];
    if domain == DEFAULT_DOMAIN {
        names.push(node.op_type().to_owned());
    }
    if !node.name().is_empty() {
        names.push(node.name().to_owned());
    }
    names
}
