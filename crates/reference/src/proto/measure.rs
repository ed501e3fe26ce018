//! Memory use of a decoded message, computed from its encoding without decoding it: two bytes of a file can encode an
//! empty message of several hundred bytes.

use crate::deadline::Deadline;
use crate::proto::node::{NodeProto, RareFields};
use crate::proto::onnx;

/// Default memory limit of a file or a run: 4 GiB, or a quarter of the address space on 32-bit targets.
pub const DEFAULT_BYTES: usize = 1 << if usize::BITS > 32 { 32 } else { 30 };

/// The deepest nesting that prost decodes.
const DEEPEST: usize = 100;

/// Number of fields between two checks of the clock.
const FIELDS_BETWEEN_CHECKS: usize = 1 << 16;

/// Bytes that the allocator may add to a block.
const BLOCK: usize = 16;

/// Error of measuring a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The message exceeds the limit.
    #[error("the decoded messages would exceed the limit of {0} bytes")]
    Limit(usize),
    /// Messages nest deeper than any decoder accepts.
    #[error("the messages nest deeper than the limit of {DEEPEST}")]
    Depth,
    /// The deadline has passed.
    #[error("the time limit of loading is exceeded")]
    Deadline,
}

/// Kinds of messages that contain more than scalars, and of other field contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `ModelProto`.
    Model,
    /// `GraphProto`.
    Graph,
    /// `FunctionProto`.
    Function,
    /// `NodeProto`.
    Node,
    /// `AttributeProto`.
    Attribute,
    /// `TensorProto`.
    Tensor,
    /// `SparseTensorProto`.
    SparseTensor,
    /// `ValueInfoProto`.
    ValueInfo,
    /// `TypeProto`.
    Type,
    /// `TypeProto.Tensor` and `TypeProto.SparseTensor`.
    TensorType,
    /// `TypeProto.Sequence` and `TypeProto.Optional`.
    ItemType,
    /// `TypeProto.Map`.
    MapType,
    /// `TensorShapeProto`.
    Shape,
    /// `TensorShapeProto.Dimension`, `OperatorSetIdProto`, `StringStringEntryProto` and others of that size, which hold
    /// only strings and numbers.
    Entry,
    /// `TensorAnnotation`.
    Annotation,
    /// `TrainingInfoProto`.
    Training,
    /// `DeviceConfigurationProto`.
    Device,
    /// `NodeDeviceConfigurationProto`.
    NodeDevice,
    /// `ShardingSpecProto`.
    Sharding,
    /// `IntIntListEntryProto`.
    DeviceGroup,
    /// `ShardedDimProto`.
    ShardedDim,
    /// `SequenceProto`.
    Sequence,
    /// `MapProto`.
    Map,
    /// `OptionalProto`.
    Optional,
    /// A string, which is copied.
    Text,
    /// Bytes, which are shared with the file.
    Shared,
    /// Packed floats.
    Floats,
    /// Packed varints, with the size of one decoded item in bytes.
    Varints(usize),
}

impl Kind {
    /// The size of one such message in bytes, without the memory it points to.
    const fn size(self) -> usize {
        match self {
            Kind::Model => size_of::<onnx::ModelProto>(),
            Kind::Graph => size_of::<onnx::GraphProto>(),
            Kind::Function => size_of::<onnx::FunctionProto>(),
            Kind::Node => size_of::<NodeProto>(),
            Kind::Attribute => size_of::<onnx::AttributeProto>(),
            Kind::Tensor => size_of::<onnx::TensorProto>(),
            Kind::SparseTensor => size_of::<onnx::SparseTensorProto>(),
            Kind::ValueInfo => size_of::<onnx::ValueInfoProto>(),
            Kind::Type => size_of::<onnx::TypeProto>(),
            Kind::TensorType => size_of::<onnx::type_proto::Tensor>(),
            Kind::ItemType => size_of::<onnx::type_proto::Sequence>(),
            Kind::MapType => size_of::<onnx::type_proto::Map>(),
            Kind::Shape => size_of::<onnx::TensorShapeProto>(),
            Kind::Entry => size_of::<onnx::tensor_shape_proto::Dimension>(),
            Kind::Annotation => size_of::<onnx::TensorAnnotation>(),
            Kind::Training => size_of::<onnx::TrainingInfoProto>(),
            Kind::Device => size_of::<onnx::DeviceConfigurationProto>(),
            Kind::NodeDevice => size_of::<onnx::NodeDeviceConfigurationProto>(),
            Kind::Sharding => size_of::<onnx::ShardingSpecProto>(),
            Kind::DeviceGroup => size_of::<onnx::IntIntListEntryProto>(),
            Kind::ShardedDim => size_of::<onnx::ShardedDimProto>(),
            Kind::Sequence => size_of::<onnx::SequenceProto>(),
            Kind::Map => size_of::<onnx::MapProto>(),
            Kind::Optional => size_of::<onnx::OptionalProto>(),
            Kind::Text => size_of::<String>(),
            Kind::Shared => size_of::<bytes::Bytes>(),
            Kind::Floats | Kind::Varints(_) => 0,
        }
    }

    /// The name of the message; `None` for kinds that several messages share and for other contents.
    pub const fn message_name(self) -> Option<&'static str> {
        Some(match self {
            Kind::Model => "ModelProto",
            Kind::Graph => "GraphProto",
            Kind::Function => "FunctionProto",
            Kind::Node => "NodeProto",
            Kind::Attribute => "AttributeProto",
            Kind::Tensor => "TensorProto",
            Kind::SparseTensor => "SparseTensorProto",
            Kind::ValueInfo => "ValueInfoProto",
            Kind::Type => "TypeProto",
            Kind::MapType => "TypeProto.Map",
            Kind::Shape => "TensorShapeProto",
            Kind::Annotation => "TensorAnnotation",
            Kind::Training => "TrainingInfoProto",
            Kind::Device => "DeviceConfigurationProto",
            Kind::NodeDevice => "NodeDeviceConfigurationProto",
            Kind::Sharding => "ShardingSpecProto",
            Kind::DeviceGroup => "IntIntListEntryProto",
            Kind::ShardedDim => "ShardedDimProto",
            Kind::Sequence => "SequenceProto",
            Kind::Map => "MapProto",
            Kind::Optional => "OptionalProto",
            _ => return None,
        })
    }

    /// The kind of a field's content by its number in a message of this kind; numbers and unknown fields count as
    /// strings.
    #[must_use]
    #[expect(clippy::match_same_arms, clippy::too_many_lines, reason = "a table, in the order of the messages")]
    pub const fn field(self, number: u64) -> Kind {
        match (self, number) {
            (Kind::Model, 7) => Kind::Graph,
            (Kind::Model, 20) => Kind::Training,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Model, 26) => Kind::Device,
            (Kind::Model, 8 | 14) => Kind::Entry,
            (Kind::Graph, 1) => Kind::Node,
            (Kind::Graph, 5) => Kind::Tensor,
            (Kind::Graph, 15) => Kind::SparseTensor,
            (Kind::Graph, 11..=13) => Kind::ValueInfo,
            (Kind::Graph, 14) => Kind::Annotation,
            (Kind::Graph, 16) => Kind::Entry,
            (Kind::Function, 7) => Kind::Node,
            (Kind::Function, 9 | 14) => Kind::Entry,
            (Kind::Function, 11) => Kind::Attribute,
            (Kind::Function, 12) => Kind::ValueInfo,
            (Kind::Node, 5) => Kind::Attribute,
            (Kind::Node, 9) => Kind::Entry,
            (Kind::Node, 10) => Kind::NodeDevice,
            (Kind::Attribute, 5 | 10) => Kind::Tensor,
            (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Attribute, 22 | 23) => Kind::SparseTensor,
            (Kind::Attribute, 14 | 15) => Kind::Type,
            (Kind::Attribute, 4 | 9) => Kind::Shared,
            (Kind::Attribute, 7) => Kind::Floats,
            (Kind::Attribute, 8) => Kind::Varints(8),
            (Kind::Tensor, 1 | 7 | 11) => Kind::Varints(8),
            (Kind::Tensor, 5) => Kind::Varints(4),
            (Kind::Tensor, 4 | 10) => Kind::Floats,
            (Kind::Tensor, 6 | 9) => Kind::Shared,
            (Kind::Tensor, 3 | 13 | 16) => Kind::Entry,
            (Kind::SparseTensor, 1 | 2) => Kind::Tensor,
            (Kind::SparseTensor, 3) => Kind::Varints(8),
            (Kind::ValueInfo, 2) => Kind::Type,
            (Kind::ValueInfo, 4) => Kind::Entry,
            (Kind::Type, 1 | 8) => Kind::TensorType,
            (Kind::Type, 4 | 9) => Kind::ItemType,
            (Kind::Type, 5) => Kind::MapType,
            (Kind::Type, 7) => Kind::Entry,
            (Kind::TensorType, 2) => Kind::Shape,
            (Kind::ItemType, 1) | (Kind::MapType, 2) => Kind::Type,
            (Kind::Shape, 1) => Kind::Entry,
            (Kind::Annotation, 2) => Kind::Entry,
            (Kind::Training, 1 | 2) => Kind::Graph,
            (Kind::Training, 3 | 4) => Kind::Entry,
            (Kind::NodeDevice, 2) => Kind::Sharding,
            (Kind::Sharding, 2) => Kind::Varints(8),
            (Kind::Sharding, 3) => Kind::DeviceGroup,
            (Kind::Sharding, 4) => Kind::ShardedDim,
            (Kind::DeviceGroup, 2) => Kind::Varints(8),
            (Kind::ShardedDim, 2) => Kind::Entry,
            (Kind::Sequence, 3) => Kind::Tensor,
            (Kind::Sequence, 4) => Kind::SparseTensor,
            (Kind::Sequence, 5) => Kind::Sequence,
            (Kind::Sequence, 6) => Kind::Map,
            (Kind::Sequence, 7) => Kind::Optional,
            (Kind::Map, 3) => Kind::Varints(8),
            (Kind::Map, 4) => Kind::Shared,
            (Kind::Map, 5) => Kind::Sequence,
            (Kind::Optional, 3) => Kind::Tensor,
            (Kind::Optional, 4) => Kind::SparseTensor,
            (Kind::Optional, 5) => Kind::Sequence,
            (Kind::Optional, 6) => Kind::Map,
            (Kind::Optional, 7) => Kind::Optional,
            _ => Kind::Text,
        }
    }

    /// True if the content is a message, with fields of its own.
    pub const fn is_message(self) -> bool {
        !matches!(self, Kind::Text | Kind::Shared | Kind::Floats | Kind::Varints(_))
    }
}

/// Upper bound of the memory of a decoded message of this kind, in bytes, without the bytes that it shares with its
/// encoding. A malformed encoding is measured up to the error, where decoding ends, too.
pub fn decoded_size(kind: Kind, bytes: &[u8], limit: usize, deadline: &Deadline) -> Result<usize, MeasureError> {
    let mut total = kind.size();
    // The open messages, each with its remaining bytes.
    let mut open: Vec<(Kind, &[u8])> = vec![(kind, bytes)];
    let mut fields = 0usize;
    while let Some((kind, rest)) = open.last_mut() {
        if rest.is_empty() {
            open.pop();
            continue;
        }
        let kind = *kind;
        let Some(field) = next_field(rest) else { break };
        fields += 1;
        if fields.is_multiple_of(FIELDS_BETWEEN_CHECKS) && deadline.is_over() {
            return Err(MeasureError::Deadline);
        }
        let child = kind.field(field.number);
        // A growing list may have reserved space for as many items again.
        let cost = match (field.payload, child) {
            (None, _) => 2 * size_of::<u64>(),
            (Some(payload), Kind::Floats) => 2 * payload.len(),
            (Some(payload), Kind::Varints(size)) => numbers(payload).saturating_mul(2 * size),
            (Some(payload), Kind::Text) => 2 * child.size() + payload.len() + BLOCK,
            (Some(_), child) => 2 * child.size() + BLOCK,
        };
        let is_rare = kind == Kind::Node && matches!(field.number, 6 | 8 | 9 | 10);
        let rare = if is_rare { size_of::<RareFields>() + BLOCK } else { 0 };
        total = total.saturating_add(cost).saturating_add(rare);
        if total > limit {
            return Err(MeasureError::Limit(limit));
        }
        if let Some(payload) = field.payload.filter(|_| child.is_message()) {
            if open.len() >= DEEPEST {
                return Err(MeasureError::Depth);
            }
            open.push((child, payload));
        }
    }
    Ok(total)
}

/// The number of varints: each ends with a byte below 128.
fn numbers(payload: &[u8]) -> usize {
    payload.iter().filter(|&&byte| byte < 0x80).count()
}

/// A field of an encoded message.
struct Field<'a> {
    number: u64,
    /// The bytes of a length-delimited field; numbers have none.
    payload: Option<&'a [u8]>,
}

/// Consumes the next field; `None` if the encoding is malformed.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<Field<'a>> {
    let key = varint(rest)?;
    let number = key >> 3;
    let payload = match key & 7 {
        0 => {
            varint(rest)?;
            None
        }
        1 => take(rest, 8).map(|_| None)?,
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Some(take(rest, length)?)
        }
        // Start and end of a group, which no ONNX message has.
        3 | 4 => None,
        5 => take(rest, 4).map(|_| None)?,
        _ => return None,
    };
    Some(Field { number, payload })
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

/// Consumes a number; `None` if the encoding is malformed.
pub fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let byte = *take(rest, 1)?.first()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::proto::encode::field;
    use crate::proto::{
        AttributeProto, GraphProto, ModelProto, SequenceProto, TensorProto, Text, ValueInfoProto, texts,
    };

    fn measure(kind: Kind, message: &impl Message) -> Result<usize, MeasureError> {
        decoded_size(kind, &message.encode_to_vec(), 1 << 30, &Deadline::never())
    }

    fn model(graph: GraphProto) -> ModelProto {
        ModelProto { graph: Some(graph), ..ModelProto::default() }
    }

    #[test]
    fn empty_messages_are_counted_at_their_full_size() {
        let node = NodeProto { attribute: vec![AttributeProto::default(); 1000], ..NodeProto::default() };
        assert!(measure(Kind::Node, &node).unwrap() >= 1000 * size_of::<AttributeProto>());
        let graph = GraphProto {
            node: vec![NodeProto::default(); 1000],
            initializer: vec![TensorProto::default(); 1000],
            input: vec![ValueInfoProto::default(); 1000],
            ..GraphProto::default()
        };
        let sizes = size_of::<NodeProto>() + size_of::<TensorProto>() + size_of::<ValueInfoProto>();
        assert!(measure(Kind::Model, &model(graph)).unwrap() >= 1000 * sizes);
        let node = NodeProto { input: texts([""; 1000]), ..NodeProto::default() };
        assert!(measure(Kind::Node, &node).unwrap() >= 1000 * size_of::<Text>());
        let items = SequenceProto { tensor_values: vec![TensorProto::default(); 1000], ..SequenceProto::default() };
        assert!(measure(Kind::Sequence, &items).unwrap() >= 1000 * size_of::<TensorProto>());
    }

    #[test]
    fn numbers_are_counted_once_and_shared_bytes_not() {
        let tensor = TensorProto { float_data: vec![1.0; 1000], int64_data: vec![1; 1000], ..TensorProto::default() };
        let size = measure(Kind::Tensor, &tensor).unwrap();
        assert!((12_000..30_000).contains(&size), "{size}");
        let raw = TensorProto { raw_data: Some(vec![0x80; 1 << 20].into()), ..TensorProto::default() };
        assert!(measure(Kind::Tensor, &raw).unwrap() < 4096);
    }

    #[test]
    fn values_over_the_limits_are_refused() {
        let graph = GraphProto { node: vec![NodeProto::default(); 1 << 17], ..GraphProto::default() };
        let bytes = model(graph).encode_to_vec();
        let size = |limit, deadline: Deadline| decoded_size(Kind::Model, &bytes, limit, &deadline);
        assert_eq!(size(1 << 20, Deadline::never()), Err(MeasureError::Limit(1 << 20)));
        assert_eq!(size(1 << 30, Deadline::new(|| true)), Err(MeasureError::Deadline));
        let deep = (0..200).fold(Vec::new(), |inner, _| field(5, inner.len() as u64, &inner));
        assert_eq!(decoded_size(Kind::Sequence, &deep, 1 << 30, &Deadline::never()), Err(MeasureError::Depth));
    }

    #[test]
    fn a_broken_encoding_is_measured_as_far_as_it_is_decoded() {
        for bytes in [&[0x0f][..], &[0x3a, 0xff], &[0xff; 20], &[0x3a, 0x02, 0x0a, 0x7f]] {
            assert!(decoded_size(Kind::Model, bytes, 1 << 30, &Deadline::never()).is_ok(), "{bytes:?}");
        }
    }
}
