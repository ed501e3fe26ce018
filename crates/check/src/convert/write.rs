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
    #[error("{node}: attribute '{attribute}' goes, and with it {field}, which is not of ONNX; remove that field first")]
    Unknown {
        /// The node.
        node: String,
        /// The attribute.
        attribute: String,
        /// The field.
        field: String,
    },
    /// An attribute would have to be rewritten, but its elements are only in the file.
    #[error("{node}: the elements of attribute '{attribute}' would have to be moved")]
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
    met: usize,
}

/// Progress of writing imports.
struct Imports<'a> {
    number: u64,
    before: &'a [OperatorSetIdProto],
    after: &'a [OperatorSetIdProto],
    met: usize,
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
        let nodes = Nodes { number: 1, patch, before: &before.node, after: after.node.iter(), met: 0 };
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
        let (none, mut functions) = (GraphProto::default(), 0..before.functions.len());
        let graphs = (before.graph.as_ref().unwrap_or(&none), after.graph.as_ref().unwrap_or(&none));
        let mut graph = Graph::new(graphs.0, graphs.1, Some(&patch.graph), self.count(all.clone(), 7)?);
        let mut imports = Imports { number: 8, before: &before.opset_import, after: &after.opset_import, met: 0 };
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
                (8, Some(part)) => self.import(&mut imports, &field, part, &mut rope)?,
                (25, Some(part)) => {
                    let at = functions.next().unwrap_or(usize::MAX);
                    match (before.functions.get(at), after.functions.get(at)) {
                        (Some(before), Some(after)) if before != after => {
                            rope.nested(25, self.function(part, before, after, patch.functions.get(&at))?);
                        }
                        _ => rope.keep(field.whole),
                    }
                }
                _ => rope.keep(field.whole),
            }
        }
        if let Some(ir) = ir {
            rope.number(1, ir);
        }
        imports.rest(&mut rope);
        Ok(rope)
    }

    fn function(
        &self,
        part: Range<usize>,
        before: &FunctionProto,
        after: &FunctionProto,
        patch: Option<&NodesPatch>,
    ) -> Written {
        let mut rope = Rope::default();
        let mut nodes = Nodes { number: 7, patch, before: &before.node, after: after.node.iter(), met: 0 };
        let mut imports = Imports { number: 9, before: &before.opset_import, after: &after.opset_import, met: 0 };
        for field in self.fields(part) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (7, Some(part)) => self.node(&mut nodes, &field, part, &mut rope)?,
                (9, Some(part)) => self.import(&mut imports, &field, part, &mut rope)?,
                _ => rope.keep(field.whole),
            }
        }
        imports.rest(&mut rope);
        Ok(rope)
    }

    fn import(
        &self,
        imports: &mut Imports<'_>,
        field: &WireField,
        part: Range<usize>,
        rope: &mut Rope,
    ) -> Result<(), WriteError> {
        let at = imports.met;
        imports.met += 1;
        let (Some(before), Some(after)) = (imports.before.get(at), imports.after.get(at)) else {
            rope.keep(field.whole.clone());
            return Ok(());
        };
        if before == after {
            rope.keep(field.whole.clone());
            return Ok(());
        }
        let (mut import, mut version) = (Rope::default(), after.version);
        for inner in self.fields(part) {
            let inner = inner?;
            match inner.number {
                2 => {
                    if let Some(version) = version.take() {
                        import.number(2, version);
                    }
                }
                _ => import.keep(inner.whole),
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
            match (field.number, field.payload.clone()) {
                (1, Some(part)) => self.node(&mut graph.nodes, &field, part, &mut rope)?,
                _ => rope.keep(field.whole),
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

    fn node(
        &self,
        nodes: &mut Nodes<'_>,
        field: &WireField,
        part: Range<usize>,
        rope: &mut Rope,
    ) -> Result<(), WriteError> {
        let at = nodes.met;
        nodes.met += 1;
        let patch = nodes.patch.and_then(|patch| patch.get(&at));
        let (Some(patch), Some(before)) = (patch, nodes.before.get(at)) else {
            nodes.after.next();
            rope.keep(field.whole.clone());
            return Ok(());
        };
        let new = nodes.after.by_ref();
        new.take(patch.before).for_each(|node| rope.message(nodes.number, node));
        if let Some(after) = new.next() {
            let node = OneNode { writer: self, patch, before, after, place: place(at, before) };
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
struct OneNode<'a> {
    writer: &'a Writer<'a>,
    patch: &'a NodePatch,
    before: &'a NodeProto,
    after: &'a NodeProto,
    place: String,
}

impl OneNode<'_> {
    fn write(&self, part: Range<usize>) -> Written {
        let (mut rope, mut done, mut met) = (Rope::default(), [false; 8], 0);
        let mut given: HashSet<&str> = HashSet::new();
        for field in self.writer.fields(part) {
            let field = field?;
            match (field.number, field.payload.clone()) {
                (5, Some(part)) => {
                    if let Some(before) = self.before.attribute.get(met) {
                        let name = before.name();
                        let named = || self.after.attribute.iter().find(|after| after.name() == name);
                        let after = if self.patch.is_edited {
                            if given.insert(name) { named() } else { None }
                        } else {
                            self.after.attribute.get(met)
                        };
                        self.attribute(met, &field, part, (before, after), &mut rope)?;
                    }
                    met += 1;
                }
                (number @ (1 | 2 | 4 | 7), _) if self.patch.is_edited => self.texts(number, &mut done, &mut rope),
                _ => rope.keep(field.whole),
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

    /// Writes the attribute at a position of the original node; `after` is `None` if it was removed.
    fn attribute(
        &self,
        at: usize,
        field: &WireField,
        part: Range<usize>,
        (before, after): (&AttributeProto, Option<&AttributeProto>),
        rope: &mut Rope,
    ) -> Result<(), WriteError> {
        let has_graphs = self.patch.graphs.keys().any(|(attribute, _)| *attribute == at);
        match after {
            Some(after) if has_graphs => rope.nested(5, self.graphs(at, part, before, after)?),
            Some(after) if before == after => rope.keep(field.whole.clone()),
            Some(after) => {
                if is_elided(after) {
                    let (node, attribute) = (self.place.clone(), before.name().to_owned());
                    return Err(WriteError::Elements { node, attribute });
                }
                let mut written = Rope::default();
                // A message is the concatenation of its fields, so the unknown ones can follow.
                written.message_fields(after);
                for inner in self.writer.fields(part) {
                    let inner = inner?;
                    if !Kind::Attribute.has_field(None, inner.number) {
                        written.keep(inner.whole);
                    } else if let Some(part) = inner.payload {
                        self.loses_nothing(before, part, Kind::Attribute.field(inner.number))?;
                    }
                }
                rope.nested(5, written);
            }
            None => self.loses_nothing(before, part, Kind::Attribute)?,
        }
        Ok(())
    }

    /// Fails if the removed part of an attribute contains an unknown field.
    fn loses_nothing(&self, attribute: &AttributeProto, part: Range<usize>, kind: Kind) -> Result<(), WriteError> {
        if !kind.is_message() {
            return Ok(());
        }
        match unknown_field(self.writer.file, part, kind, Some((Kind::Attribute, 0)))? {
            None => Ok(()),
            Some((kind, number)) => Err(WriteError::Unknown {
                node: self.place.clone(),
                attribute: attribute.name().to_owned(),
                field: format!("field {number} of {}", kind.message_name().unwrap_or("a message in it")),
            }),
        }
    }

    /// Writes an attribute whose graphs the conversion changed.
    fn graphs(&self, at: usize, part: Range<usize>, before: &AttributeProto, after: &AttributeProto) -> Written {
        let patch = |number: usize| self.patch.graphs.get(&(at, number));
        let mut one = match (&before.g, &after.g) {
            (Some(one), Some(after)) => Some(Graph::new(one, after, patch(0), self.writer.count(part.clone(), 6)?)),
            _ => None,
        };
        let (mut met, first) = (0, usize::from(one.is_some()));
        let mut rope = Rope::default();
        for field in self.writer.fields(part) {
            let field = field?;
            match (field.number, field.payload.clone(), &mut one) {
                (6, Some(part), Some(graph)) => rope.nested(6, self.writer.graph(graph, part)?),
                (11, Some(part), _) => {
                    match (before.graphs.get(met), after.graphs.get(met)) {
                        (Some(before), Some(after)) => {
                            let mut graph = Graph::new(before, after, patch(first + met), 1);
                            rope.nested(11, self.writer.graph(&mut graph, part)?);
                        }
                        _ => rope.keep(field.whole),
                    }
                    met += 1;
                }
                _ => rope.keep(field.whole),
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
