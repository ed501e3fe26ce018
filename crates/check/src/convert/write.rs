//! File of a converted model: everything that the conversion did not change keeps its bytes and their order, including unknown
//! fields.

use std::collections::HashSet;
use std::ops::Range;

use onnx_conformance_reference::proto::measure::Kind;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
};

use super::patch::{NodePatch, NodesPatch, Patch};
use super::wire::{BrokenEncoding, Rope, WireField, fields, unknown_field};

/// Error of writing the file of a converted model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
pub struct BrokenFile(BrokenEncoding);

impl From<BrokenEncoding> for WriteError {
    fn from(error: BrokenEncoding) -> WriteError {
        WriteError::Broken(BrokenFile(error))
    }
}

type Written = Result<Rope, WriteError>;

/// File of a converted model: parts of the original file with new bytes between them.
#[derive(Debug)]
pub struct ConvertedFile(Rope);

impl ConvertedFile {
    /// Assembles the bytes; `file` must be the original file.
    pub fn bytes(&self, file: &[u8]) -> Vec<u8> {
        self.0.bytes_of(file)
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

struct Writer<'a> {
    file: &'a [u8],
}

/// Progress of writing the nodes of a graph or function.
struct Nodes<'a> {
    /// The number of the field for nodes.
    number: u64,
    patch: Option<&'a NodesPatch>,
    before: &'a [NodeProto],
    after: std::slice::Iter<'a, NodeProto>,
    /// The number of original nodes passed so far.
    passed: usize,
}

/// Progress of writing imports.
struct Imports<'a> {
    /// The number of the field for imports.
    number: u64,
    before: &'a [OperatorSetIdProto],
    after: &'a [OperatorSetIdProto],
    /// The number of original imports passed so far.
    passed: usize,
}

/// Progress of writing a function.
struct Function<'a> {
    nodes: Nodes<'a>,
    imports: Imports<'a>,
}

impl<'a> Function<'a> {
    fn new(before: &'a FunctionProto, after: &'a FunctionProto, patch: Option<&'a NodesPatch>) -> Function<'a> {
        Function {
            nodes: Nodes { number: 7, patch, before: &before.node, after: after.node.iter(), passed: 0 },
            imports: Imports { number: 9, before: &before.opset_import, after: &after.opset_import, passed: 0 },
        }
    }
}

/// Progress of writing a graph; its message may be split into several parts.
struct Graph<'a> {
    nodes: Nodes<'a>,
    before: &'a GraphProto,
    after: &'a GraphProto,
    /// The number of remaining parts.
    parts: usize,
}

impl<'a> Graph<'a> {
    fn new(before: &'a GraphProto, after: &'a GraphProto, patch: Option<&'a NodesPatch>, parts: usize) -> Graph<'a> {
        let nodes = Nodes { number: 1, patch, before: &before.node, after: after.node.iter(), passed: 0 };
        Graph { nodes, before, after, parts }
    }
}

impl Writer<'_> {
    fn fields(&self, part: Range<usize>) -> impl Iterator<Item = Result<WireField, BrokenEncoding>> {
        fields(self.file, part)
    }

    /// Counts the occurrences of a field in a part of the file.
    fn count(&self, part: Range<usize>, number: u64) -> Result<usize, WriteError> {
        let mut count = 0;
        for field in self.fields(part) {
            count += usize::from(field?.number == number);
        }
        Ok(count)
    }

    fn model(&self, before: &ModelProto, after: &ModelProto, patch: &Patch) -> Written {
        let all = 0..self.file.len();
        let mut rope = Rope::default();
        let (empty, mut functions) = (GraphProto::default(), 0..before.functions.len());
        let graphs = (before.graph.as_ref().unwrap_or(&empty), after.graph.as_ref().unwrap_or(&empty));
        let mut graph = Graph::new(graphs.0, graphs.1, Some(&patch.graph), self.count(all.clone(), 7)?);
        let mut imports = Imports { number: 8, before: &before.opset_import, after: &after.opset_import, passed: 0 };
        let mut ir = after.ir_version.filter(|_| after.ir_version != before.ir_version);
        let is_other_ir = ir.is_some();
        for field in self.fields(all) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (1, None) if is_other_ir => {
                    if let Some(ir) = ir.take() {
                        rope.number(1, ir);
                    }
                }
                (7, Some(part)) => rope.nested(7, self.graph(&mut graph, part)?),
                (8, _) => self.import(&mut imports, field, &mut rope)?,
                (25, Some(part)) => {
                    let at = functions.next().unwrap_or(usize::MAX);
                    match (before.functions.get(at), after.functions.get(at)) {
                        (Some(before), Some(after)) if before != after => {
                            let function = Function::new(before, after, patch.functions.get(&at));
                            rope.nested(25, self.function(function, part)?);
                        }
                        _ => rope.copy(field.whole),
                    }
                }
                _ => rope.copy(field.whole),
            }
        }
        if let Some(ir) = ir {
            rope.number(1, ir);
        }
        imports.rest(&mut rope);
        Ok(rope)
    }

    fn function(&self, mut function: Function<'_>, part: Range<usize>) -> Written {
        let mut rope = Rope::default();
        for field in self.fields(part) {
            let field = field?;
            match field.number {
                7 => self.node(&mut function.nodes, field, &mut rope)?,
                9 => self.import(&mut function.imports, field, &mut rope)?,
                _ => rope.copy(field.whole),
            }
        }
        function.imports.rest(&mut rope);
        Ok(rope)
    }

    fn import(&self, imports: &mut Imports<'_>, field: WireField, rope: &mut Rope) -> Result<(), WriteError> {
        let Some(part) = field.payload else {
            rope.copy(field.whole);
            return Ok(());
        };
        let at = imports.passed;
        imports.passed += 1;
        let changed = imports.before.get(at).zip(imports.after.get(at)).filter(|(before, after)| before != after);
        let Some((_, after)) = changed else {
            rope.copy(field.whole);
            return Ok(());
        };
        let (mut import, mut version) = (Rope::default(), after.version);
        for inner in self.fields(part) {
            let inner = inner?;
            match inner.number {
                2 => {
                    if let Some(version) = version.take() {
                        import.number(2, version);
                    }
                }
                _ => import.copy(inner.whole),
            }
        }
        if let Some(version) = version {
            import.number(2, version);
        }
        rope.nested(imports.number, import);
        Ok(())
    }

    fn graph(&self, graph: &mut Graph<'_>, part: Range<usize>) -> Written {
        let mut rope = Rope::default();
        for field in self.fields(part) {
            let field = field?;
            match field.number {
                1 => self.node(&mut graph.nodes, field, &mut rope)?,
                _ => rope.copy(field.whole),
            }
        }
        graph.parts = graph.parts.saturating_sub(1);
        if graph.parts == 0 {
            let added: &[TensorProto] =
                graph.after.initializer.get(graph.before.initializer.len()..).unwrap_or_default();
            for tensor in added {
                rope.message(5, tensor);
            }
            let inputs = graph.after.input.get(graph.before.input.len()..).unwrap_or_default();
            for input in inputs {
                rope.message(11, input);
            }
        }
        Ok(rope)
    }

    fn node(&self, nodes: &mut Nodes<'_>, field: WireField, rope: &mut Rope) -> Result<(), WriteError> {
        let Some(part) = field.payload else {
            rope.copy(field.whole);
            return Ok(());
        };
        let at = nodes.passed;
        nodes.passed += 1;
        let patch = nodes.patch.and_then(|patch| patch.get(&at));
        let (Some(patch), Some(before)) = (patch, nodes.before.get(at)) else {
            nodes.after.next();
            rope.copy(field.whole);
            return Ok(());
        };
        let new = nodes.after.by_ref();
        new.take(patch.before).for_each(|node| rope.message(nodes.number, node));
        if let Some(after) = new.next() {
            let node = NodeWriter { writer: self, patch, before, after, place: place(at, before) };
            rope.nested(nodes.number, node.write(part)?);
        }
        new.take(patch.after).for_each(|node| rope.message(nodes.number, node));
        Ok(())
    }
}

impl Imports<'_> {
    /// Adds the new imports.
    fn rest(&self, rope: &mut Rope) {
        let new = self.after.get(self.before.len()..).unwrap_or_default();
        for import in new {
            rope.message(self.number, import);
        }
    }
}

/// Describes a node for errors.
fn place(at: usize, node: &NodeProto) -> String {
    format!("node {at} ({})", crate::shorten::shorten(node.op_type(), 80))
}

/// Node that the conversion changed.
struct NodeWriter<'a> {
    writer: &'a Writer<'a>,
    patch: &'a NodePatch,
    before: &'a NodeProto,
    after: &'a NodeProto,
    place: String,
}

impl NodeWriter<'_> {
    fn write(&self, part: Range<usize>) -> Written {
        let (mut rope, mut done, mut passed) = (Rope::default(), [false; 8], 0);
        let mut given: HashSet<&str> = HashSet::new();
        for field in self.writer.fields(part) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (5, Some(part)) => {
                    if let Some(before) = self.before.attribute.get(passed) {
                        let name = before.name();
                        let named = || self.after.attribute.iter().find(|after| after.name() == name);
                        let after = if self.patch.is_edited {
                            if given.insert(name) { named() } else { None }
                        } else {
                            self.after.attribute.get(passed)
                        };
                        let attribute = AttributeWriter { node: self, position: passed, before };
                        match after {
                            Some(after) if before == after && !attribute.has_patched_graphs() => rope.copy(field.whole),
                            Some(after) => rope.nested(5, attribute.write(after, part)?),
                            None => attribute.check_removal(part, Kind::Attribute)?,
                        }
                    }
                    passed += 1;
                }
                (number @ (1 | 2 | 4 | 7), _) if self.patch.is_edited => self.texts(number, &mut done, &mut rope),
                _ => rope.copy(field.whole),
            }
        }
        if self.patch.is_edited {
            for number in [1, 2, 4, 7] {
                self.texts(number, &mut done, &mut rope);
            }
            let new = self.after.attribute.iter().filter(|attribute| !given.contains(attribute.name()));
            new.for_each(|attribute| rope.message(5, attribute));
        }
        Ok(rope)
    }

    /// Writes all inputs, all outputs, the operator or its domain at the position of the first one.
    fn texts(&self, number: u64, done: &mut [bool; 8], rope: &mut Rope) {
        let index = usize::try_from(number).unwrap_or(0);
        if done.get(index).copied().unwrap_or(true) {
            return;
        }
        done.iter_mut().skip(index).take(1).for_each(|done| *done = true);
        let mut all = |texts: &mut dyn Iterator<Item = &String>| {
            texts.for_each(|text| rope.bytes(number, text.as_bytes()));
        };
        match number {
            1 => all(&mut self.after.input.iter()),
            2 => all(&mut self.after.output.iter()),
            4 => all(&mut self.after.op_type.iter()),
            _ => all(&mut self.after.domain.iter()),
        }
    }
}

/// Attribute of a node that the conversion changed.
struct AttributeWriter<'a> {
    node: &'a NodeWriter<'a>,
    /// The position in the original node.
    position: usize,
    before: &'a AttributeProto,
}

impl AttributeWriter<'_> {
    /// True if the conversion changed a graph of the attribute.
    fn has_patched_graphs(&self) -> bool {
        self.node.patch.graphs.keys().any(|(attribute, _)| *attribute == self.position)
    }

    /// Writes `after`, which the attribute becomes.
    fn write(&self, after: &AttributeProto, part: Range<usize>) -> Written {
        if self.has_patched_graphs() {
            return self.graphs(after, part);
        }
        if is_elided(after) {
            let (node, attribute) = (self.node.place.clone(), self.before.name().to_owned());
            return Err(WriteError::Elements { node, attribute });
        }
        let mut rope = Rope::default();
        // A message is the concatenation of its fields, so the unknown ones can follow.
        rope.message_fields(after);
        for field in self.node.writer.fields(part) {
            let field = field?;
            if !Kind::Attribute.has_field(None, field.number) {
                rope.copy(field.whole);
            } else if let Some(part) = field.payload {
                self.check_removal(part, Kind::Attribute.field(field.number))?;
            }
        }
        Ok(rope)
    }

    /// Fails if the removed part of an attribute contains an unknown field.
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

    /// Writes an attribute whose graphs the conversion changed.
    fn graphs(&self, after: &AttributeProto, part: Range<usize>) -> Written {
        let (writer, before) = (self.node.writer, self.before);
        let patch = |number: usize| self.node.patch.graphs.get(&(self.position, number));
        let mut single = match (&before.g, &after.g) {
            (Some(before), Some(after)) => Some(Graph::new(before, after, patch(0), writer.count(part.clone(), 6)?)),
            _ => None,
        };
        let (mut passed, first) = (0, usize::from(single.is_some()));
        let mut rope = Rope::default();
        for field in writer.fields(part) {
            let field = field?;
            match (field.number, field.payload.clone(), &mut single) {
                (6, Some(part), Some(graph)) => rope.nested(6, writer.graph(graph, part)?),
                (11, Some(part), _) => {
                    match (before.graphs.get(passed), after.graphs.get(passed)) {
                        (Some(before), Some(after)) => {
                            let mut graph = Graph::new(before, after, patch(first + passed), 1);
                            rope.nested(11, writer.graph(&mut graph, part)?);
                        }
                        _ => rope.copy(field.whole),
                    }
                    passed += 1;
                }
                _ => rope.copy(field.whole),
            }
        }
        Ok(rope)
    }
}

/// True if the elements of a tensor attribute are only in the file.
fn is_elided(attribute: &AttributeProto) -> bool {
    let is_marked =
        |tensor: &TensorProto| tensor.segment.as_ref().and_then(|segment| segment.begin).is_some_and(|begin| begin < 0);
    attribute.t.iter().chain(&attribute.tensors).any(is_marked)
}
