//! Copy of a model without its weights: the elements of large tensors are skipped, and their positions are recorded.

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::proto::measure::{Kind, MeasureError, decoded_size};
use onnx_conformance_reference::proto::node::compact;
use onnx_conformance_reference::proto::{Message, ModelProto, NodeProto, TensorProto, onnx};

use crate::finding::{Finding, Place};
use crate::findings::Findings;
use crate::limits::Limits;
use crate::rules::RuleId;
use crate::scan::field::{Field, place};
use crate::scan::other::{identify_content, identify_magic};
use crate::scan::source::{Reader, Source, malformed, over, truncated};
use crate::scan::stored::{DataField, StoredData, add_part};
use crate::scan::unknown::UnknownFields;

/// Maximum nesting of messages that decoders accept.
const MAX_DEPTH: usize = 100;

/// Maximum size of the elements that a tensor keeps, in bytes: 1,024 of the widest type.
const MAX_TENSOR_BYTES: u64 = 16 << 10;

/// Maximum size of all kept elements in bytes; after that, only the smallest tensors keep theirs.
const MAX_KEPT_BYTES: u64 = 16 << 20;

/// Maximum size in bytes of elements that a tensor always keeps.
const ALWAYS_KEPT_BYTES: u64 = 64;

/// Minimum size in bytes of encoded nodes that are decoded together.
const BATCH_BYTES: usize = 256 << 10;

/// `ModelProto.graph`.
const GRAPH: u64 = 7;

/// Bytes reserved for the length of a message whose fields may be skipped: enough for 32 GB.
const LENGTH_BYTES: usize = 5;

/// Model without the elements of its large tensors.
#[derive(Debug)]
pub struct Scan {
    /// The message. A tensor whose elements were skipped has a marker for [`Scan::stored`].
    pub model: ModelProto,
    /// Findings of the scan: strings that are not UTF-8, which are repaired in the message, and unknown fields.
    pub findings: Findings,
    /// The unknown fields.
    pub unknown: UnknownFields,
    /// The positions of the skipped elements.
    data: Vec<StoredData>,
}

impl Scan {
    /// The position of the elements of a tensor of this model; `None` if the tensor contains them.
    pub fn stored(&self, tensor: &TensorProto) -> Option<&StoredData> {
        let mark = tensor.segment.as_ref()?.begin?;
        self.data.get(usize::try_from(-1 - mark).ok()?)
    }
}

/// Scans a model: returns its message without the elements of large tensors, or the reason why the file is not a model.
pub fn scan<S: Source + ?Sized>(source: &S, limits: &Limits) -> Result<Scan, Box<Finding>> {
    if source.is_empty() {
        let finding = Finding::new(RuleId::FileEmpty, Place::default(), "the file is empty");
        return Err(Box::new(finding));
    }
    let mut copier = Copier {
        reader: Reader::new(source, &limits.deadline),
        out: Vec::new(),
        batch: Vec::new(),
        nodes: Vec::new(),
        decoded: 0,
        limit: limits.message_bytes(),
        kept: 0,
        parts: 0,
        data: Vec::new(),
        findings: Findings::new(limits),
        unknown: UnknownFields::default(),
    };
    if let Some(finding) = identify_magic(source) {
        return Err(Box::new(finding));
    }
    let model = match copier.scan(limits) {
        Ok(model) => model,
        Err(error) => return Err(identify_content(source).map_or(error, Box::new)),
    };
    let is_model = model.graph.is_some() || model.ir_version.is_some() && !model.opset_import.is_empty();
    if !is_model && let Some(other) = identify_content(source) {
        return Err(Box::new(other));
    }
    let Copier { mut findings, data, unknown, .. } = copier;
    if let Some(finding) = unknown.finding() {
        findings.push(finding);
    }
    Ok(Scan { model, findings, unknown, data })
}

/// Message being copied.
#[derive(Clone, Copy)]
struct OpenMessage {
    kind: Kind,
    /// The enclosing message, and the number of the field there.
    holder: Option<(Kind, u64)>,
    /// The end of the message in the file.
    end: u64,
    /// The position of its length in the copy, if the length may change.
    length_at: Option<usize>,
}

struct Copier<'a, S: Source + ?Sized> {
    reader: Reader<'a, S>,
    /// The copy, without the nodes of the main graph.
    out: Vec<u8>,
    /// A model of the next nodes of the main graph.
    batch: Vec<u8>,
    /// The nodes of the main graph before these.
    nodes: Vec<NodeProto>,
    /// The memory of these nodes in bytes.
    decoded: usize,
    limit: usize,
    kept: u64,
    /// The number of recorded parts of elements.
    parts: usize,
    data: Vec<StoredData>,
    findings: Findings,
    unknown: UnknownFields,
}

impl<S: Source + ?Sized> Copier<'_, S> {
    fn scan(&mut self, limits: &Limits) -> Result<ModelProto, Box<Finding>> {
        self.copy_model(&limits.deadline)?;
        self.decode_batch(&limits.deadline)?;
        let out = std::mem::take(&mut self.out);
        let mut model = self.decode(&out, &limits.deadline)?;
        if let Some(graph) = &mut model.graph {
            self.nodes.shrink_to_fit();
            graph.node = std::mem::take(&mut self.nodes);
        }
        for function in &mut model.functions {
            compact(&mut function.node);
        }
        Ok(model)
    }

    /// Decodes a model within the limit of all messages.
    fn decode(&mut self, bytes: &[u8], deadline: &Deadline) -> Result<ModelProto, Box<Finding>> {
        let left = self.limit.saturating_sub(self.decoded);
        let size = decoded_size(Kind::Model, bytes, left, deadline).map_err(|error| match error {
            MeasureError::Limit(_) => over(MeasureError::Limit(self.limit)),
            error => over(error),
        })?;
        self.decoded = self.decoded.saturating_add(size);
        ModelProto::decode(bytes).map_err(|error| {
            let message = format!("not a protobuf encoding of a model: {error}");
            Box::new(Finding::new(RuleId::FileMalformed, Place::default(), message))
        })
    }

    /// Moves a node of the main graph, which is the end of the copy, to those that are decoded next. So only a few
    /// nodes are in memory twice, decoded and as bytes.
    fn move_node(&mut self, from: usize, deadline: &Deadline) -> Result<(), Box<Finding>> {
        if self.batch.is_empty() {
            prost::encoding::encode_varint(GRAPH << 3 | 2, &mut self.batch);
            self.batch.extend([0; LENGTH_BYTES]);
        }
        self.batch.extend_from_slice(self.out.get(from..).unwrap_or_default());
        self.out.truncate(from);
        if self.batch.len() >= BATCH_BYTES { self.decode_batch(deadline) } else { Ok(()) }
    }

    fn decode_batch(&mut self, deadline: &Deadline) -> Result<(), Box<Finding>> {
        let mut batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        write_length(&mut batch, 1);
        let mut nodes = self.decode(&batch, deadline)?.graph.map(|graph| graph.node).unwrap_or_default();
        compact(&mut nodes);
        self.nodes.append(&mut nodes);
        batch.clear();
        self.batch = batch;
        Ok(())
    }

    fn copy_model(&mut self, deadline: &Deadline) -> Result<(), Box<Finding>> {
        let mut at = 0;
        let mut open =
            vec![OpenMessage { kind: Kind::Model, holder: None, end: self.reader.length(), length_at: None }];
        while let Some(&message) = open.last() {
            if at >= message.end {
                self.close(message);
                open.pop();
                if let ([_, OpenMessage { kind: Kind::Graph, .. }], Kind::Node, Some(length_at)) =
                    (open.as_slice(), message.kind, message.length_at)
                {
                    self.move_node(length_at.saturating_sub(1), deadline)?;
                }
                continue;
            }
            let field = self.field(at, message)?;
            let child = message.kind.field(field.number);
            at = field.to;
            self.unknown.count_if_unknown(message.kind, message.holder, &field);
            if child.is_message() && !field.is_delimited {
                return Err(malformed(field.at, &format!("{} is not a message", place(message.kind, field.number))));
            }
            if child == Kind::Tensor {
                self.tensor(&field)?;
            } else if child.is_message() {
                if open.len() >= MAX_DEPTH {
                    let finding = over(MeasureError::Depth);
                    return Err(Box::new(finding.with_offset(field.at)));
                }
                open.push(self.open(&field, child, message.kind)?);
                at = field.from;
            } else {
                self.copy_field(message.kind, &field, child)?;
            }
            self.check_size()?;
        }
        Ok(())
    }

    /// Checks that the copy and the list of parts are within the limit.
    fn check_size(&self) -> Result<(), Box<Finding>> {
        let parts = self.parts.saturating_mul(size_of::<(u64, u64)>());
        if self.out.len().saturating_add(parts).saturating_add(self.decoded) > self.limit {
            return Err(over(MeasureError::Limit(self.limit)));
        }
        Ok(())
    }

    /// Reads the field at `at` of an open message.
    fn field(&mut self, at: u64, message: OpenMessage) -> Result<Field, Box<Finding>> {
        self.reader.count_field()?;
        let (key, from) = self.reader.varint(at, message.end)?;
        let number = key >> 3;
        let field = |from, to, is_delimited| Field { number, at, from, to, is_delimited };
        let field = match key & 7 {
            0 => field(from, self.reader.varint(from, message.end)?.1, false),
            1 => field(from, from + 8, false),
            2 => {
                let (length, from) = self.reader.varint(from, message.end)?;
                field(from, from.saturating_add(length), true)
            }
            3 | 4 => field(from, from, false),
            5 => field(from, from + 4, false),
            wire_type => {
                let rule = format!("{} has the unknown wire type {wire_type}", place(message.kind, number));
                return Err(malformed(at, &rule));
            }
        };
        if number == 0 {
            return Err(malformed(at, &format!("{} has number 0", place(message.kind, number))));
        }
        if field.to > message.end {
            let (declared, left) = (field.to - field.from, message.end - field.from.min(message.end));
            let rule = format!("{} declares {declared} bytes, but {left} are left", place(message.kind, number));
            // Inside a complete message, nothing is truncated.
            return Err(if message.kind == Kind::Model { truncated(at, &rule) } else { malformed(at, &rule) });
        }
        Ok(field)
    }

    /// Begins the copy of a message, whose length is written at the end.
    fn open(&mut self, field: &Field, kind: Kind, holder: Kind) -> Result<OpenMessage, Box<Finding>> {
        let may_shrink = matches!(
            kind,
            Kind::Graph | Kind::Function | Kind::Node | Kind::Attribute | Kind::SparseTensor | Kind::Training
        );
        if !may_shrink {
            self.reader.copy(field.at, field.from - field.at, &mut self.out)?;
            return Ok(OpenMessage { kind, holder: Some((holder, field.number)), end: field.to, length_at: None });
        }
        Ok(self.open_shrinking(field, kind))
    }

    fn open_shrinking(&mut self, field: &Field, kind: Kind) -> OpenMessage {
        self.key(field.number);
        let length_at = Some(self.out.len());
        self.out.extend([0; LENGTH_BYTES]);
        OpenMessage { kind, holder: None, end: field.to, length_at }
    }

    fn key(&mut self, number: u64) {
        prost::encoding::encode_varint(number << 3 | 2, &mut self.out);
    }

    /// Writes the length of a copied message.
    fn close(&mut self, message: OpenMessage) {
        if let Some(at) = message.length_at {
            write_length(&mut self.out, at);
        }
    }

    /// Copies a field that is not a message. In a string that is not UTF-8, each non-ASCII byte becomes `?`.
    fn copy_field(&mut self, kind: Kind, field: &Field, child: Kind) -> Result<(), Box<Finding>> {
        let size = field.to - field.at;
        if usize::try_from(size).is_ok_and(|size| self.out.len().saturating_add(size) <= self.limit) {
            let from = self.out.len() + usize::try_from(field.from - field.at).unwrap_or(0);
            self.reader.copy(field.at, size, &mut self.out)?;
            let is_text = child == Kind::Text && field.is_delimited && field.number <= kind.last_field();
            if let Some(text) = self.out.get_mut(from..).filter(|_| is_text)
                && std::str::from_utf8(text).is_err()
            {
                let shown = String::from_utf8_lossy(text).chars().take(60).collect::<String>();
                text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
                let rule = format!("byte {}: {} is not UTF-8: '{shown}'", field.from, place(kind, field.number));
                let finding = Finding::new(RuleId::FileText, Place::default(), rule).with_offset(field.from);
                self.findings.push(finding.with_edit("encode the string as UTF-8"));
            }
            return Ok(());
        }
        Err(over(MeasureError::Limit(self.limit)))
    }

    /// Copies a tensor; many elements are skipped.
    fn tensor(&mut self, tensor: &Field) -> Result<(), Box<Finding>> {
        let message = OpenMessage { kind: Kind::Tensor, holder: None, end: tensor.to, length_at: None };
        let mut data = StoredData::default();
        let mut at = tensor.from;
        while at < tensor.to {
            let field = self.field(at, message)?;
            at = field.to;
            data.is_segment |= field.number == SEGMENT;
            self.count_unknown_fields(&field)?;
            if let Some(name) = DataField::from_number(field.number) {
                self.parts += add_part(&mut data.fields, name, &field);
                self.check_size()?;
            }
        }
        let bytes = data.bytes();
        let available = MAX_KEPT_BYTES.saturating_sub(self.kept).clamp(ALWAYS_KEPT_BYTES, MAX_TENSOR_BYTES);
        data.is_elided = bytes > available;
        if !data.is_elided {
            self.kept += bytes;
        }
        let open = self.open_shrinking(tensor, Kind::Tensor);
        let mut at = tensor.from;
        while at < tensor.to {
            let field = self.field(at, message)?;
            at = field.to;
            let is_data = DataField::from_number(field.number).is_some();
            let child = Kind::Tensor.field(field.number);
            if child.is_message() && !field.is_delimited {
                return Err(malformed(field.at, &format!("{} is not a message", place(Kind::Tensor, field.number))));
            }
            if field.number != SEGMENT && !(is_data && data.is_elided) {
                self.copy_field(Kind::Tensor, &field, child)?;
            }
        }
        if data.is_elided || data.is_segment {
            let begin = i64::try_from(self.data.len()).map_or(i64::MIN, |index| -1 - index);
            let segment = onnx::tensor_proto::Segment { begin: Some(begin), end: None };
            self.key(SEGMENT);
            self.out.extend(segment.encode_length_delimited_to_vec());
            self.data.push(data);
        }
        self.close(open);
        Ok(())
    }
}

impl<S: Source + ?Sized> Copier<'_, S> {
    /// Records unknown fields of a tensor and of its entries.
    fn count_unknown_fields(&mut self, field: &Field) -> Result<(), Box<Finding>> {
        self.unknown.count_if_unknown(Kind::Tensor, None, field);
        let kind = Kind::Tensor.field(field.number);
        if !kind.is_message() || !field.is_delimited {
            return Ok(());
        }
        let entry = OpenMessage { kind, holder: Some((Kind::Tensor, field.number)), end: field.to, length_at: None };
        let mut at = field.from;
        while at < field.to {
            let inner = self.field(at, entry)?;
            at = inner.to;
            self.unknown.count_if_unknown(kind, entry.holder, &inner);
        }
        Ok(())
    }
}

/// Writes the length of the message that is the rest of the bytes after its length at `at`.
fn write_length(bytes: &mut [u8], at: usize) {
    let length = bytes.len() - at - LENGTH_BYTES;
    for (index, byte) in bytes.iter_mut().skip(at).take(LENGTH_BYTES).enumerate() {
        let more = if index + 1 < LENGTH_BYTES { 0x80 } else { 0 };
        *byte = more | u8::try_from(length >> (7 * index) & 0x7f).unwrap_or(0);
    }
}

/// `TensorProto.segment`, which no release of ONNX reads.
const SEGMENT: u64 = 3;
