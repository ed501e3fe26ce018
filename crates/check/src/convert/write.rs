//! File of a converted model: everything that the conversion did not change keeps its bytes and their order, including unknown
//! fields.
//!
//! A message that contains a change is copied field by field. A changed field is written in place of the old one, and new fields
//! follow at the end of their message.

use std::collections::HashSet;
use std::ops::Range;

use onnx_conformance_reference::proto::measure::Kind;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, Text,
};

use super::patch::{NodePatch, NodesPatch, Patch};
use super::wire::{BrokenEncoding, Rope, WireField, fields, unknown_field};

/// File of a converted model: parts of the original file with new bytes between them.
#[derive(Debug)]
pub struct ConvertedFile(Rope);

impl ConvertedFile {
    /// Assembles the bytes; `file` must be the original file.
    pub fn bytes(&self, file: &[u8]) -> Vec<u8> {
        self.0.bytes_of(file)
    }
}

/// Error of writing the file of a converted model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The model was not read from this file.
    #[error(transparent)]
    Broken(#[from] BrokenFile),
    /// An attribute with unknown content would be removed.
    #[error(
        "{node}: removing attribute '{attribute}' would also remove {field}, which ONNX does not define; remove that field first"
    )]
    Unknown {
        /// The node.
        node: String,
        /// The attribute.
        attribute: String,
        /// The field.
        field: String,
    },
    /// An attribute would have to be rewritten, but its elements are only in the file.
    #[error("{node}: attribute '{attribute}' would have to be rewritten, but its elements were not read")]
    Elements {
        /// The node.
        node: String,
        /// The attribute.
        attribute: String,
    },
}

/// Error: the model was not read from this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file is not the one that was converted: {0}")]
pub struct BrokenFile(pub(super) BrokenEncoding);

impl From<BrokenEncoding> for WriteError {
    fn from(error: BrokenEncoding) -> WriteError {
        WriteError::Broken(BrokenFile(error))
    }
}

/// Writes `after`, the conversion of `before`, which is the model in `file`.
pub(super) fn write(
    file: &[u8],
    before: &ModelProto,
    after: &ModelProto,
    patch: &Patch,
) -> Result<ConvertedFile, WriteError> {
    Writer { file }.model(before, after, patch).map(ConvertedFile)
}

// Field numbers in `onnx.proto`.
const MODEL_IR_VERSION: u64 = 1;
const MODEL_GRAPH: u64 = 7;
const MODEL_OPSET_IMPORT: u64 = 8;
const MODEL_FUNCTIONS: u64 = 25;
const IMPORT_VERSION: u64 = 2;
const FUNCTION_NODE: u64 = 7;
const FUNCTION_OPSET_IMPORT: u64 = 9;
const GRAPH_NODE: u64 = 1;
const GRAPH_INITIALIZER: u64 = 5;
const GRAPH_INPUT: u64 = 11;
const NODE_INPUT: u64 = 1;
const NODE_OUTPUT: u64 = 2;
const NODE_OPERATOR: u64 = 4;
const NODE_ATTRIBUTE: u64 = 5;
const NODE_DOMAIN: u64 = 7;
const ATTRIBUTE_GRAPH: u64 = 6;
const ATTRIBUTE_GRAPHS: u64 = 11;

/// New message under construction.
type Written = Result<Rope, WriteError>;

/// Treatment of a field of the original message.
enum Treatment {
    /// The field is unchanged and is copied.
    Copied,
    /// The field is dropped; its replacement, if any, is already written.
    Replaced,
}

/// Imports of a model or function, and the position reached among the original ones.
struct Imports<'a> {
    /// The number of their field.
    number: u64,
    before: &'a [OperatorSetIdProto],
    after: &'a [OperatorSetIdProto],
    position: usize,
}

/// Nodes of a graph or function, and the position reached among the original ones.
struct Nodes<'a> {
    /// The number of their field.
    number: u64,
    patch: Option<&'a NodesPatch>,
    before: &'a [NodeProto],
    /// The new nodes that are not yet written.
    after: std::slice::Iter<'a, NodeProto>,
    position: usize,
}

/// Graph, whose message may be split into several parts.
struct Graph<'a> {
    nodes: Nodes<'a>,
    before: &'a GraphProto,
    after: &'a GraphProto,
    /// The position reached among the original inputs.
    input: usize,
    /// The number of parts that are not yet written.
    parts: usize,
}

impl<'a> Graph<'a> {
    fn new(before: &'a GraphProto, after: &'a GraphProto, patch: Option<&'a NodesPatch>, parts: usize) -> Graph<'a> {
        let nodes = Nodes { number: GRAPH_NODE, patch, before: &before.node, after: after.node.iter(), position: 0 };
        Graph { nodes, before, after, input: 0, parts }
    }
}

/// Number that replaces a field: at its first occurrence, or at the end of the message if it does not occur.
struct NewNumber {
    number: u64,
    /// The value, until it is written.
    value: Option<i64>,
}

impl NewNumber {
    fn replace(&mut self, rope: &mut Rope) -> Treatment {
        if let Some(value) = self.value.take() {
            rope.number(self.number, value);
        }
        Treatment::Replaced
    }
}

/// Writer of the messages that contain nodes.
struct Writer<'a> {
    file: &'a [u8],
}

impl Writer<'_> {
    /// Copies a message, except for the fields that `replace` writes or drops.
    fn rewrite(
        &self,
        message: Range<usize>,
        mut replace: impl FnMut(&WireField, &mut Rope) -> Result<Treatment, WriteError>,
    ) -> Written {
        let mut rope = Rope::default();
        for field in fields(self.file, message) {
            let field = field?;
            match replace(&field, &mut rope)? {
                Treatment::Copied => rope.copy(field.whole),
                Treatment::Replaced => {}
            }
        }
        Ok(rope)
    }

    /// Counts the occurrences of a field in a message.
    fn count(&self, message: Range<usize>, number: u64) -> Result<usize, WriteError> {
        let mut count = 0;
        for field in fields(self.file, message) {
            count += usize::from(field?.number == number);
        }
        Ok(count)
    }

    fn model(&self, before: &ModelProto, after: &ModelProto, patch: &Patch) -> Written {
        let message = 0..self.file.len();
        let has_new_ir = after.ir_version.is_some() && after.ir_version != before.ir_version;
        let mut ir = NewNumber { number: MODEL_IR_VERSION, value: after.ir_version.filter(|_| has_new_ir) };
        let mut imports = Imports {
            number: MODEL_OPSET_IMPORT,
            before: &before.opset_import,
            after: &after.opset_import,
            position: 0,
        };
        let empty = GraphProto::default();
        let (graph_before, graph_after) =
            (before.graph.as_ref().unwrap_or(&empty), after.graph.as_ref().unwrap_or(&empty));
        let parts = self.count(message.clone(), MODEL_GRAPH)?;
        let mut graph = Graph::new(graph_before, graph_after, Some(&patch.graph), parts);
        let mut functions = before.functions.iter().zip(&after.functions).enumerate();
        let mut rope = self.rewrite(message, |field, rope| match (field.number, field.payload.clone()) {
            (MODEL_IR_VERSION, None) if has_new_ir => Ok(ir.replace(rope)),
            (MODEL_OPSET_IMPORT, Some(import)) => self.import(&mut imports, import, rope),
            (MODEL_GRAPH, Some(part)) => {
                rope.nested(MODEL_GRAPH, self.graph(&mut graph, part)?);
                Ok(Treatment::Replaced)
            }
            (MODEL_FUNCTIONS, Some(message)) => match functions.next() {
                Some((at, (before, after))) if before != after => {
                    let function = self.function(before, after, patch.functions.get(&at), message)?;
                    rope.nested(MODEL_FUNCTIONS, function);
                    Ok(Treatment::Replaced)
                }
                _ => Ok(Treatment::Copied),
            },
            _ => Ok(Treatment::Copied),
        })?;
        ir.replace(&mut rope);
        imports.write_new(&mut rope);
        Ok(rope)
    }

    fn function(
        &self,
        before: &FunctionProto,
        after: &FunctionProto,
        patch: Option<&NodesPatch>,
        message: Range<usize>,
    ) -> Written {
        let mut nodes =
            Nodes { number: FUNCTION_NODE, patch, before: &before.node, after: after.node.iter(), position: 0 };
        let mut imports = Imports {
            number: FUNCTION_OPSET_IMPORT,
            before: &before.opset_import,
            after: &after.opset_import,
            position: 0,
        };
        let mut rope = self.rewrite(message, |field, rope| match (field.number, field.payload.clone()) {
            (FUNCTION_NODE, Some(node)) => self.node(&mut nodes, node, rope),
            (FUNCTION_OPSET_IMPORT, Some(import)) => self.import(&mut imports, import, rope),
            _ => Ok(Treatment::Copied),
        })?;
        imports.write_new(&mut rope);
        Ok(rope)
    }

    /// Writes a part of a graph. New initializers and inputs follow the nodes of the last part. Only inputs at the end are removed.
    fn graph(&self, graph: &mut Graph<'_>, part: Range<usize>) -> Written {
        let mut rope = self.rewrite(part, |field, rope| match (field.number, field.payload.clone()) {
            (GRAPH_NODE, Some(node)) => self.node(&mut graph.nodes, node, rope),
            (GRAPH_INPUT, Some(_)) => {
                let at = graph.input;
                graph.input += 1;
                Ok(if at < graph.after.input.len() { Treatment::Copied } else { Treatment::Replaced })
            }
            _ => Ok(Treatment::Copied),
        })?;
        graph.parts = graph.parts.saturating_sub(1);
        if graph.parts == 0 {
            for tensor in added(&graph.before.initializer, &graph.after.initializer) {
                rope.message(GRAPH_INITIALIZER, tensor);
            }
            for input in added(&graph.before.input, &graph.after.input) {
                rope.message(GRAPH_INPUT, input);
            }
        }
        Ok(rope)
    }

    /// Writes the version of an import if it changed.
    fn import(
        &self,
        imports: &mut Imports<'_>,
        message: Range<usize>,
        rope: &mut Rope,
    ) -> Result<Treatment, WriteError> {
        let at = imports.position;
        imports.position += 1;
        let (Some(before), Some(after)) = (imports.before.get(at), imports.after.get(at)) else {
            return Ok(Treatment::Copied);
        };
        if before == after {
            return Ok(Treatment::Copied);
        }
        let mut version = NewNumber { number: IMPORT_VERSION, value: after.version };
        let mut import = self.rewrite(message, |field, rope| match field.number {
            IMPORT_VERSION => Ok(version.replace(rope)),
            _ => Ok(Treatment::Copied),
        })?;
        version.replace(&mut import);
        rope.nested(imports.number, import);
        Ok(Treatment::Replaced)
    }

    /// Writes a node with the new nodes before and after it, if the conversion changed any of these.
    fn node(&self, nodes: &mut Nodes<'_>, message: Range<usize>, rope: &mut Rope) -> Result<Treatment, WriteError> {
        let at = nodes.position;
        nodes.position += 1;
        let patch = nodes.patch.and_then(|patch| patch.get(&at));
        let (Some(patch), Some(before)) = (patch, nodes.before.get(at)) else {
            nodes.after.next();
            return Ok(Treatment::Copied);
        };
        for node in nodes.after.by_ref().take(patch.before) {
            rope.message(nodes.number, node);
        }
        if let Some(after) = nodes.after.next() {
            let node = NodeWriter { writer: self, patch, before, after, place: place(at, before) };
            rope.nested(nodes.number, node.write(message)?);
        }
        for node in nodes.after.by_ref().take(patch.after) {
            rope.message(nodes.number, node);
        }
        Ok(Treatment::Replaced)
    }
}

impl Imports<'_> {
    /// Writes the imports that the conversion added.
    fn write_new(&self, rope: &mut Rope) {
        for import in added(self.before, self.after) {
            rope.message(self.number, import);
        }
    }
}

/// Returns the items that the conversion appended to a list.
fn added<'a, T>(before: &[T], after: &'a [T]) -> &'a [T] {
    after.get(before.len()..).unwrap_or_default()
}

/// Describes a node for errors.
fn place(at: usize, node: &NodeProto) -> String {
    format!("node {at} ({})", crate::shorten::shorten(node.op_type(), 80))
}

/// Writer of a node that the conversion changed.
struct NodeWriter<'a> {
    writer: &'a Writer<'a>,
    patch: &'a NodePatch,
    before: &'a NodeProto,
    after: &'a NodeProto,
    /// The node, for errors.
    place: String,
}

impl NodeWriter<'_> {
    /// Writes the node. If it is edited, its attributes are replaced by name; otherwise only their graphs changed.
    fn write(&self, message: Range<usize>) -> Written {
        let is_edited = self.patch.is_edited;
        let mut attributes = self.before.attribute.iter().enumerate();
        let mut names: HashSet<&str> = HashSet::new();
        let mut texts = NewTexts { node: self.after, written: Vec::new() };
        let mut rope = self.writer.rewrite(message, |field, rope| match (field.number, field.payload.clone()) {
            (NODE_ATTRIBUTE, Some(message)) => {
                let Some((position, before)) = attributes.next() else { return Ok(Treatment::Replaced) };
                let after = if is_edited {
                    names.insert(before.name()).then(|| self.new_attribute(before.name())).flatten()
                } else {
                    self.after.attribute.get(position)
                };
                AttributeWriter { node: self, position, before }.write(after, message, rope)
            }
            (number, _) if is_edited && NewTexts::NUMBERS.contains(&number) => Ok(texts.replace(number, rope)),
            _ => Ok(Treatment::Copied),
        })?;
        if is_edited {
            for number in NewTexts::NUMBERS {
                texts.replace(number, &mut rope);
            }
            for attribute in self.after.attribute.iter().filter(|attribute| !names.contains(attribute.name())) {
                rope.message(NODE_ATTRIBUTE, attribute);
            }
        }
        Ok(rope)
    }

    fn new_attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.after.attribute.iter().find(|attribute| attribute.name() == name)
    }
}

/// Inputs, outputs, operator and domain of an edited node: all strings of a field at its first occurrence, or at the end of the
/// message if it does not occur.
struct NewTexts<'a> {
    node: &'a NodeProto,
    /// The numbers of the fields that are written.
    written: Vec<u64>,
}

impl NewTexts<'_> {
    const NUMBERS: [u64; 4] = [NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR, NODE_DOMAIN];

    fn replace(&mut self, number: u64, rope: &mut Rope) -> Treatment {
        if !self.written.contains(&number) {
            self.written.push(number);
            let texts: &mut dyn Iterator<Item = &Text> = match number {
                NODE_INPUT => &mut self.node.input.iter(),
                NODE_OUTPUT => &mut self.node.output.iter(),
                NODE_OPERATOR => &mut self.node.op_type.iter(),
                _ => &mut self.node.domain.iter(),
            };
            texts.for_each(|text| rope.bytes(number, text.as_bytes()));
        }
        Treatment::Replaced
    }
}

/// Writer of an attribute of a node that the conversion changed.
struct AttributeWriter<'a> {
    node: &'a NodeWriter<'a>,
    /// The position in the original node.
    position: usize,
    before: &'a AttributeProto,
}

impl AttributeWriter<'_> {
    /// Writes the new attribute, or removes the old one if there is no new one.
    fn write(
        &self,
        after: Option<&AttributeProto>,
        message: Range<usize>,
        rope: &mut Rope,
    ) -> Result<Treatment, WriteError> {
        let has_patched_graphs = self.node.patch.graphs.keys().any(|(attribute, _)| *attribute == self.position);
        match after {
            None => self.check_removal(message, Kind::Attribute)?,
            Some(after) if has_patched_graphs => rope.nested(NODE_ATTRIBUTE, self.graphs(after, message)?),
            Some(after) if self.before == after => return Ok(Treatment::Copied),
            Some(after) => rope.nested(NODE_ATTRIBUTE, self.value(after, message)?),
        }
        Ok(Treatment::Replaced)
    }

    /// Writes the attribute with its new graphs.
    fn graphs(&self, after: &AttributeProto, message: Range<usize>) -> Written {
        let (writer, before) = (self.node.writer, self.before);
        let patch = |number: usize| self.node.patch.graphs.get(&(self.position, number));
        let mut single = match (&before.g, &after.g) {
            (Some(before), Some(after)) => {
                Some(Graph::new(before, after, patch(0), writer.count(message.clone(), ATTRIBUTE_GRAPH)?))
            }
            _ => None,
        };
        let mut listed = before.graphs.iter().zip(&after.graphs).zip(usize::from(single.is_some())..);
        writer.rewrite(message, |field, rope| match (field.number, field.payload.clone(), &mut single) {
            (ATTRIBUTE_GRAPH, Some(part), Some(graph)) => {
                rope.nested(ATTRIBUTE_GRAPH, writer.graph(graph, part)?);
                Ok(Treatment::Replaced)
            }
            (ATTRIBUTE_GRAPHS, Some(message), _) => {
                let Some(((before, after), number)) = listed.next() else { return Ok(Treatment::Copied) };
                let graph = writer.graph(&mut Graph::new(before, after, patch(number), 1), message)?;
                rope.nested(ATTRIBUTE_GRAPHS, graph);
                Ok(Treatment::Replaced)
            }
            _ => Ok(Treatment::Copied),
        })
    }

    /// Writes the attribute with its new value and the unknown fields of the old one.
    fn value(&self, after: &AttributeProto, message: Range<usize>) -> Written {
        if is_elided(after) {
            let (node, attribute) = (self.node.place.clone(), self.before.name().to_owned());
            return Err(WriteError::Elements { node, attribute });
        }
        let mut rope = Rope::default();
        // A message is the concatenation of its fields, so the unknown ones can follow.
        rope.message_fields(after);
        rope.append(self.node.writer.rewrite(message, |field, _| {
            if !Kind::Attribute.has_field(None, field.number) {
                return Ok(Treatment::Copied);
            }
            if let Some(part) = field.payload.clone() {
                self.check_removal(part, Kind::Attribute.field(field.number))?;
            }
            Ok(Treatment::Replaced)
        })?);
        Ok(rope)
    }

    /// Fails if a removed part of the attribute contains an unknown field.
    fn check_removal(&self, part: Range<usize>, kind: Kind) -> Result<(), WriteError> {
        if !kind.is_message() {
            return Ok(());
        }
        match unknown_field(self.node.writer.file, part, kind, Some((Kind::Attribute, 0)))? {
            None => Ok(()),
            Some((kind, number)) => Err(WriteError::Unknown {
                node: self.node.place.clone(),
                attribute: self.before.name().to_owned(),
                field: format!("field {number} of {}", kind.message_name().unwrap_or("a message in it")),
            }),
        }
    }
}

/// True if the elements of a tensor attribute are only in the file.
fn is_elided(attribute: &AttributeProto) -> bool {
    let is_marked =
        |tensor: &TensorProto| tensor.segment.as_ref().and_then(|segment| segment.begin).is_some_and(|begin| begin < 0);
    attribute.all_tensors().any(is_marked)
}
