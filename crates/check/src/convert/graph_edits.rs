//! Edits of the parts of a model file that no node depends on: imports, the order and names of nodes, and declarations. All other
//! bytes are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use onnx_conformance_reference::proto::{TypeProto, ValueInfoProto};

use super::wire::{BrokenEncoding, Rope, WireField, fields};
use super::write::BrokenFile;

// Field numbers in `onnx.proto`.
const MODEL_IR_VERSION: u64 = 1;
const MODEL_GRAPH: u64 = 7;
const MODEL_OPSET_IMPORT: u64 = 8;
const GRAPH_NODE: u64 = 1;
const GRAPH_NAME: u64 = 2;
const GRAPH_INPUT: u64 = 11;
const GRAPH_OUTPUT: u64 = 12;
const GRAPH_VALUE_INFO: u64 = 13;
const NODE_NAME: u64 = 3;
const NODE_ATTRIBUTE: u64 = 5;
const ATTRIBUTE_GRAPH: u64 = 6;
const VALUE_TYPE: u64 = 2;

/// Path to a graph from the main graph: the position of each node, and of its attribute with the next graph.
pub type GraphPath = Vec<(usize, usize)>;

/// Edits of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelEdits {
    /// The new IR version.
    pub ir: Option<i64>,
    /// Positions of imports to remove.
    pub removed_imports: BTreeSet<usize>,
    /// Edits of the main graph and of the graphs in its nodes.
    pub graphs: BTreeMap<GraphPath, GraphEdits>,
}

/// Edits of a graph. Positions are those in the original lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphEdits {
    /// The new name.
    pub name: Option<String>,
    /// The remaining nodes in their new order.
    pub nodes: Option<Vec<usize>>,
    /// New names of nodes.
    pub node_names: BTreeMap<usize, String>,
    /// Number of inputs to remove, from the last one on.
    pub removed_inputs: usize,
    /// New types of outputs.
    pub output_types: BTreeMap<usize, TypeProto>,
    /// New declarations of values.
    pub values: Vec<ValueInfoProto>,
}

impl ModelEdits {
    /// Returns the edited file. The main graph must be a single message.
    pub fn apply(&self, file: &[u8]) -> Result<Vec<u8>, BrokenFile> {
        Writer { file, edits: self }.model().map(|rope| rope.bytes_of(file)).map_err(BrokenFile)
    }
}

struct Writer<'a> {
    file: &'a [u8],
    edits: &'a ModelEdits,
}

impl Writer<'_> {
    fn model(&self) -> Result<Rope, BrokenEncoding> {
        let mut rope = Rope::default();
        let (mut ir, mut import) = (self.edits.ir, 0);
        for field in fields(self.file, 0..self.file.len()) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (MODEL_IR_VERSION, None) if self.edits.ir.is_some() => {
                    if let Some(ir) = ir.take() {
                        rope.number(MODEL_IR_VERSION, ir);
                    }
                }
                (MODEL_OPSET_IMPORT, Some(_)) => {
                    if !self.edits.removed_imports.contains(&import) {
                        rope.copy(field.whole);
                    }
                    import += 1;
                }
                (MODEL_GRAPH, Some(graph)) => rope.nested(MODEL_GRAPH, self.graph(graph, &Vec::new())?),
                _ => rope.copy(field.whole),
            }
        }
        if let Some(ir) = ir {
            rope.number(MODEL_IR_VERSION, ir);
        }
        Ok(rope)
    }

    /// True if there are edits of the graph at this path or of one below it.
    fn is_edited(&self, path: &[(usize, usize)]) -> bool {
        self.edits.graphs.keys().any(|edited| edited.starts_with(path))
    }

    fn graph(&self, part: Range<usize>, path: &GraphPath) -> Result<Rope, BrokenEncoding> {
        let unedited = GraphEdits::default();
        let edits = self.edits.graphs.get(path).unwrap_or(&unedited);
        let all: Vec<WireField> = fields(self.file, part).collect::<Result<_, _>>()?;
        let nodes: Vec<&WireField> = all.iter().filter(|field| field.number == GRAPH_NODE).collect();
        let inputs = all.iter().filter(|field| field.number == GRAPH_INPUT).count();
        let mut kept_inputs = inputs.saturating_sub(edits.removed_inputs);
        let mut order = Some(edits.nodes.clone().unwrap_or_else(|| (0..nodes.len()).collect()));
        let (mut name, mut output) = (edits.name.as_deref(), 0);
        let mut rope = Rope::default();
        for field in &all {
            match (field.number, field.payload.clone()) {
                // The nodes are written in place of the first one.
                (GRAPH_NODE, Some(_)) => {
                    for index in order.take().into_iter().flatten() {
                        if let Some(node) = nodes.get(index) {
                            self.node(node, index, (path, edits), &mut rope)?;
                        }
                    }
                }
                (GRAPH_NAME, _) if edits.name.is_some() => {
                    if let Some(name) = name.take() {
                        rope.bytes(GRAPH_NAME, name.as_bytes());
                    }
                }
                (GRAPH_INPUT, Some(_)) => {
                    if kept_inputs > 0 {
                        rope.copy(field.whole.clone());
                    }
                    kept_inputs = kept_inputs.saturating_sub(1);
                }
                (GRAPH_OUTPUT, Some(payload)) => {
                    match edits.output_types.get(&output) {
                        Some(new) => {
                            let mut info = self.without(payload, VALUE_TYPE)?;
                            info.message(VALUE_TYPE, new);
                            rope.nested(GRAPH_OUTPUT, info);
                        }
                        None => rope.copy(field.whole.clone()),
                    }
                    output += 1;
                }
                _ => rope.copy(field.whole.clone()),
            }
        }
        if let Some(name) = name {
            rope.bytes(GRAPH_NAME, name.as_bytes());
        }
        edits.values.iter().for_each(|info| rope.message(GRAPH_VALUE_INFO, info));
        Ok(rope)
    }

    fn node(
        &self,
        field: &WireField,
        index: usize,
        (path, edits): (&GraphPath, &GraphEdits),
        rope: &mut Rope,
    ) -> Result<(), BrokenEncoding> {
        let (name, Some(payload)) = (edits.node_names.get(&index), field.payload.clone()) else { return Ok(()) };
        let is_below = |edited: &GraphPath| {
            edited.strip_prefix(path.as_slice()).and_then(<[_]>::first).is_some_and(|(node, _)| *node == index)
        };
        if name.is_none() && !self.edits.graphs.keys().any(is_below) {
            rope.copy(field.whole.clone());
            return Ok(());
        }
        let (mut node, mut attribute) = (Rope::default(), 0);
        for field in fields(self.file, payload) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (NODE_NAME, _) if name.is_some() => {}
                (NODE_ATTRIBUTE, Some(payload)) => {
                    let mut below = path.clone();
                    below.push((index, attribute));
                    if self.is_edited(&below) {
                        node.nested(NODE_ATTRIBUTE, self.attribute(payload, &below)?);
                    } else {
                        node.copy(field.whole);
                    }
                    attribute += 1;
                }
                _ => node.copy(field.whole),
            }
        }
        if let Some(name) = name {
            node.bytes(NODE_NAME, name.as_bytes());
        }
        rope.nested(GRAPH_NODE, node);
        Ok(())
    }

    fn attribute(&self, part: Range<usize>, path: &GraphPath) -> Result<Rope, BrokenEncoding> {
        let mut rope = Rope::default();
        for field in fields(self.file, part) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (ATTRIBUTE_GRAPH, Some(graph)) => rope.nested(ATTRIBUTE_GRAPH, self.graph(graph, path)?),
                _ => rope.copy(field.whole),
            }
        }
        Ok(rope)
    }

    /// Copies a message without a field.
    fn without(&self, part: Range<usize>, number: u64) -> Result<Rope, BrokenEncoding> {
        let mut rope = Rope::default();
        for field in fields(self.file, part) {
            let field = field?;
            if field.number != number {
                rope.copy(field.whole);
            }
        }
        Ok(rope)
    }
}
