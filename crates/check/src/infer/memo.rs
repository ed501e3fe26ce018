//! Results of inference, reused for equal nodes. Most nodes of a large model are repetitions of a few nodes with inputs
//! of the same types and shapes.

use std::sync::Arc;

use foldhash::HashMap;
use onnx_conformance_reference::proto::{Message as _, NodeProto};
use onnx_conformance_reference::spec::OpSpec;
use smallvec::SmallVec;

use crate::facts::ValueFact;
use crate::infer::shared::has_elements;

/// Facts about the inputs or outputs of a node.
pub(super) type Facts = SmallVec<[Arc<ValueFact>; 1]>;

/// Maximum number of results to keep.
const MAX_RESULTS: usize = 1 << 16;

/// Maximum size of the attributes of a node whose result is kept, in bytes.
const MAX_ATTRIBUTE_BYTES: usize = 256;

/// Maximum size of a constant input of such a node, in bytes.
const MAX_CONSTANT_BYTES: usize = 512;

/// Everything that determines the result of a node without subgraphs outside of functions.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The address of the operator version.
    spec: usize,
    opset: i64,
    /// True if the node is tried on values of its unknown inputs.
    is_probed: bool,
    attributes: SmallVec<[u8; 16]>,
    /// The addresses of the facts about the inputs; 0 for an omitted one.
    inputs: SmallVec<[usize; 4]>,
    /// True for each output with a name.
    outputs: SmallVec<[bool; 8]>,
}

/// Result, with the facts whose addresses are in its key.
struct Kept {
    _inputs: SmallVec<[Option<Arc<ValueFact>>; 4]>,
    outputs: Facts,
}

/// Results of nodes that break no rule.
#[derive(Default)]
pub(super) struct Memo {
    kept: HashMap<Key, Kept>,
}

/// Node whose result may be known.
pub(super) struct Question<'a> {
    pub(super) node: &'a NodeProto,
    pub(super) spec: &'static OpSpec,
    pub(super) opset: i64,
    pub(super) is_probed: bool,
    /// The facts about the inputs; `None` for an omitted one.
    pub(super) inputs: &'a [Option<&'a Arc<ValueFact>>],
}

impl Question<'_> {
    /// The key of the result; `None` if it is not worth keeping.
    pub(super) fn key(&self) -> Option<Key> {
        let size = |fact: &&Arc<ValueFact>| if has_elements(fact) { fact.size() } else { 0 };
        if self.inputs.is_empty() || self.inputs.iter().flatten().any(|fact| size(fact) > MAX_CONSTANT_BYTES) {
            return None;
        }
        let mut attributes = SmallVec::new();
        for attribute in &self.node.attribute {
            if attribute.all_graphs().next().is_some()
                || attributes.len() + attribute.encoded_len() > MAX_ATTRIBUTE_BYTES
            {
                return None;
            }
            attributes.extend_from_slice(&attribute.encode_length_delimited_to_vec());
        }
        Some(Key {
            spec: std::ptr::from_ref(self.spec).addr(),
            opset: self.opset,
            is_probed: self.is_probed,
            attributes,
            inputs: self.inputs.iter().map(|fact| fact.map_or(0, |fact| Arc::as_ptr(fact).addr())).collect(),
            outputs: self.node.output.iter().map(|name| !name.is_empty()).collect(),
        })
    }
}

impl Memo {
    /// Returns the result of a node if an equal node was inferred before.
    pub(super) fn get(&self, key: &Key) -> Option<Facts> {
        self.kept.get(key).map(|kept| kept.outputs.clone())
    }

    /// Keeps the result of a node that breaks no rule.
    pub(super) fn insert(&mut self, key: Key, inputs: &[Option<&Arc<ValueFact>>], outputs: &Facts) {
        if self.kept.len() < MAX_RESULTS && !outputs.iter().any(|fact| has_elements(fact)) {
            let inputs = inputs.iter().map(|fact| fact.cloned()).collect();
            self.kept.insert(key, Kept { _inputs: inputs, outputs: outputs.clone() });
        }
    }
}
