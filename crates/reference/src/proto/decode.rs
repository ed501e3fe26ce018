//! Conversion of messages to values. Raw tensor data is shared with the message, not copied, unless it is packed.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::deadline::Deadline;
use crate::dtype::{ElementType, Kind};
use crate::proto::external::check_location;
pub use crate::proto::external::{ExternalData, ExternalDataError, LocationFault, NoExternalData};
use crate::proto::measure::{DEFAULT_BYTES, Kind as MessageKind, MeasureError, decoded_size};
use crate::proto::{
    MapProto, ModelProto, OptionalProto, SequenceProto, SparseTensorProto, TensorProto, TypeProto, onnx,
};
use crate::tensor::packing::{extend, packed_len, unpack};
use crate::tensor::shape::element_count;
use crate::tensor::{Tensor, TensorError};
use crate::types::ValueType;
use crate::value::{Map, MapKey, Optional, Sequence, SparseTensor, Value};

/// Error of a message that holds no valid value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The decoded message would exceed the limits.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The bytes are not a protobuf message of this kind.
    #[error("not an ONNX message: {0}")]
    Message(#[from] prost::DecodeError),
    /// External data of a tensor cannot be read.
    #[error("{place}: {source}")]
    External {
        /// The tensor, by name.
        place: String,
        /// The problem.
        source: ExternalDataError,
    },
    /// A rule of the format is broken.
    #[error("{place}: {rule}")]
    Rule {
        /// The kind and name of the message.
        place: String,
        /// The problem.
        rule: String,
    },
}

fn broken(place: &str, rule: impl Into<String>) -> DecodeError {
    DecodeError::Rule { place: place.to_owned(), rule: rule.into() }
}

/// The rest of a message about an unknown code of an element type.
fn no_element_type() -> String {
    format!("is not an element type of ONNX (1 to {})", ElementType::ALL.len())
}

/// Converts a message to a tensor.
pub fn tensor(proto: &TensorProto, external: &dyn ExternalData) -> Result<Tensor, DecodeError> {
    let place = format!("tensor '{}'", proto.name());
    let code = proto.data_type.unwrap_or(0);
    let element = ElementType::from_code(code)
        .ok_or_else(|| broken(&place, format!("data_type {code} {}", no_element_type())))?;
    let shape = dimensions(&place, &proto.dims)?;
    if proto.segment.is_some() {
        return Err(broken(&place, "segments are not supported by any ONNX release; store the tensor whole"));
    }
    check_single_field(&place, proto)?;
    let is_external = proto.data_location() == onnx::tensor_proto::DataLocation::External;
    if is_external && (typed_entries(proto) > 0 || proto.raw_data.as_ref().is_some_and(|raw| !raw.is_empty())) {
        return Err(broken(&place, "elements are stored in the model, too, but its data_location is EXTERNAL"));
    }
    let count = element_count(&shape).map_err(|error| broken(&place, error.to_string()))?;
    let result = if element == ElementType::String {
        strings(&place, proto, shape)?
    } else if is_external {
        let bytes = external_bytes(&place, proto, packed_len(element, count), external)?;
        from_raw(Contents { element, shape, count }, &bytes)
    } else if let Some(raw) = proto.raw_data.as_ref().filter(|raw| !raw.is_empty() || typed_entries(proto) == 0) {
        from_raw(Contents { element, shape, count }, raw)
    } else {
        from_fields(&place, proto, Contents { element, shape, count })?
    };
    result.map_err(|error| broken(&place, error.to_string()))
}

/// Reads the stored bytes of a tensor with external data.
pub fn external_data(proto: &TensorProto, external: &dyn ExternalData) -> Result<Bytes, DecodeError> {
    let place = format!("tensor '{}'", proto.name());
    let code = proto.data_type.unwrap_or(0);
    let element = ElementType::from_code(code)
        .ok_or_else(|| broken(&place, format!("data_type {code} {}", no_element_type())))?;
    let count = element_count(&dimensions(&place, &proto.dims)?).map_err(|error| broken(&place, error.to_string()))?;
    external_bytes(&place, proto, packed_len(element, count), external)
}

/// Upper bound of the bytes of a tensor that are not shared with its message; 0 if there is no tensor.
pub fn own_bytes(proto: &TensorProto) -> usize {
    let Some(element) = ElementType::from_code(proto.data_type.unwrap_or(0)) else { return 0 };
    if proto.data_location() == onnx::tensor_proto::DataLocation::External {
        let shape: Option<Vec<usize>> = proto.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let count = shape.and_then(|shape| element_count(&shape).ok()).unwrap_or(0);
        // For a moment, packed elements exist in both forms.
        return count.saturating_mul(if element.bits() < 8 { 2 } else { element.size() });
    }
    let texts = proto.string_data.iter().map(|text| text.len() + 4 * size_of::<usize>()).sum::<usize>();
    let unpacked = proto.raw_data.as_ref().filter(|_| element.bits() < 8).map_or(0, |raw| raw.len().saturating_mul(4));
    texts + unpacked + typed_entries(proto).saturating_mul(2 * size_of::<f64>())
}

/// Converts dims to sizes; none may be negative.
fn dimensions(place: &str, dims: &[i64]) -> Result<Vec<usize>, DecodeError> {
    dims.iter()
        .map(|&dim| usize::try_from(dim).map_err(|_| broken(place, format!("dimension {dim} of {dims:?} is negative"))))
        .collect()
}

/// Checks that at most one of the fields for elements is used.
fn check_single_field(place: &str, proto: &TensorProto) -> Result<(), DecodeError> {
    let used = [
        ("raw_data", proto.raw_data.as_ref().is_some_and(|raw| !raw.is_empty())),
        ("float_data", !proto.float_data.is_empty()),
        ("int32_data", !proto.int32_data.is_empty()),
        ("string_data", !proto.string_data.is_empty()),
        ("int64_data", !proto.int64_data.is_empty()),
        ("double_data", !proto.double_data.is_empty()),
        ("uint64_data", !proto.uint64_data.is_empty()),
    ];
    let names: Vec<&str> = used.iter().filter(|(_, used)| *used).map(|(name, _)| *name).collect();
    match names.len() {
        0 | 1 => Ok(()),
        _ => Err(broken(place, format!("elements are in {}; only one field may hold them", names.join(" and ")))),
    }
}

fn strings(place: &str, proto: &TensorProto, shape: Vec<usize>) -> Result<Result<Tensor, TensorError>, DecodeError> {
    let text = |bytes: &Bytes| {
        std::str::from_utf8(bytes)
            .map(Arc::from)
            .map_err(|_| broken(place, "string_data contains bytes that are not UTF-8"))
    };
    let strings: Arc<[Arc<str>]> = proto.string_data.iter().map(text).collect::<Result<_, _>>()?;
    Ok(Tensor::from_strings(shape, strings))
}

/// Declared contents of a tensor.
struct Contents {
    element: ElementType,
    shape: Vec<usize>,
    /// The number of elements of the shape.
    count: usize,
}

fn from_raw(Contents { element, shape, count }: Contents, raw: &Bytes) -> Result<Tensor, TensorError> {
    if element.bits() >= 8 {
        return Tensor::from_bytes(element, shape, raw.clone());
    }
    let expected = packed_len(element, count).ok_or_else(|| TensorError::Overflow(shape.clone()))?;
    if raw.len() != expected {
        let (element_type, found) = (element, raw.len());
        return Err(TensorError::Length { element_type, shape, unit: "packed bytes", expected, found });
    }
    Tensor::from_bytes(element, shape, unpack(element, raw, count).into())
}

/// Reads the elements from the typed field for the element type.
fn from_fields(
    place: &str,
    proto: &TensorProto,
    Contents { element, shape, count }: Contents,
) -> Result<Result<Tensor, TensorError>, DecodeError> {
    use ElementType as E;
    let (field, entries, bytes): (&str, usize, Vec<u8>) = match element {
        E::Float | E::Complex64 => {
            ("float_data", proto.float_data.len(), proto.float_data.iter().flat_map(|v| v.to_le_bytes()).collect())
        }
        E::Double | E::Complex128 => {
            ("double_data", proto.double_data.len(), proto.double_data.iter().flat_map(|v| v.to_le_bytes()).collect())
        }
        E::Int64 => {
            ("int64_data", proto.int64_data.len(), proto.int64_data.iter().flat_map(|v| v.to_le_bytes()).collect())
        }
        E::Uint64 => {
            ("uint64_data", proto.uint64_data.len(), proto.uint64_data.iter().flat_map(|v| v.to_le_bytes()).collect())
        }
        E::Uint32 => (
            "uint64_data",
            proto.uint64_data.len(),
            proto.uint64_data.iter().flat_map(|v| v.to_le_bytes().into_iter().take(4)).collect(),
        ),
        _ => ("int32_data", proto.int32_data.len(), int32_bytes(element, &proto.int32_data, count)),
    };
    if entries == 0 && typed_entries(proto) > 0 {
        return Err(broken(place, format!("elements of {element} must be in {field}, which is empty")));
    }
    Ok(Tensor::from_bytes(element, shape, bytes.into()))
}

/// The total number of entries of the typed fields.
fn typed_entries(proto: &TensorProto) -> usize {
    proto.float_data.len()
        + proto.int32_data.len()
        + proto.int64_data.len()
        + proto.double_data.len()
        + proto.uint64_data.len()
        + proto.string_data.len()
}

/// `int32_data` as stored bytes: packed for 4- and 2-bit types, one entry per element for all others.
fn int32_bytes(element: ElementType, entries: &[i32], count: usize) -> Vec<u8> {
    if matches!(element.bits(), 2 | 4) {
        let packed: Vec<u8> = entries.iter().map(|entry| entry.to_le_bytes()[0]).collect();
        let holds = packed.len() * 8 / element.bits() as usize;
        return if packed_len(element, count) == Some(packed.len()) {
            unpack(element, &packed, count)
        } else {
            unpack(element, &packed, holds)
        };
    }
    let narrow = element.bits() < 8;
    let first = |entry: &i32| entry.to_le_bytes()[0];
    match element.size() {
        1 if narrow => entries.iter().map(|entry| extend(element, first(entry))).collect(),
        1 if element.kind() == Kind::Bool => entries.iter().map(|&entry| u8::from(entry != 0)).collect(),
        size => entries.iter().flat_map(|entry| entry.to_le_bytes().into_iter().take(size)).collect(),
    }
}

/// Reads the bytes of an external tensor, exactly as many as its elements need.
fn external_bytes(
    place: &str,
    proto: &TensorProto,
    needed: Option<usize>,
    external: &dyn ExternalData,
) -> Result<Bytes, DecodeError> {
    let entries = &proto.external_data;
    let entry = |key: &str| entries.iter().find(|entry| entry.key() == key).map(onnx::StringStringEntryProto::value);
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => text
            .parse::<u64>()
            .map(Some)
            .map_err(|_| broken(place, format!("external_data {key} '{text}' is not a number of bytes"))),
    };
    let location = entry("location").ok_or_else(|| broken(place, "external_data has no location"))?;
    let failed = |source: ExternalDataError| DecodeError::External { place: place.to_owned(), source };
    check_location(location).map_err(failed)?;
    let (offset, length) = (number("offset")?.unwrap_or(0), number("length")?);
    let size = external.size(location).map_err(failed)?;
    let left = size.checked_sub(offset).ok_or_else(|| {
        broken(place, format!("external data '{location}' has {size} bytes, so none at offset {offset}"))
    })?;
    let length = length.unwrap_or(left);
    if length > left {
        let rule = format!("external data '{location}' has {left} bytes at offset {offset}, not {length}");
        return Err(broken(place, rule));
    }
    if needed.and_then(|needed| u64::try_from(needed).ok()) != Some(length) {
        let needed = needed.map_or_else(|| "too many to count".to_owned(), |needed| needed.to_string());
        let rule = format!("external data '{location}' provides {length} bytes, but the elements take {needed}");
        return Err(broken(place, rule));
    }
    external.read(location, offset, length).map_err(failed)
}

/// Converts a message to a sparse tensor.
pub fn sparse_tensor(proto: &SparseTensorProto, external: &dyn ExternalData) -> Result<SparseTensor, DecodeError> {
    let place = format!("sparse tensor '{}'", proto.values.as_ref().map_or("", |values| values.name()));
    let part = |part: &Option<TensorProto>, what: &str| match part {
        Some(proto) => tensor(proto, external),
        None => Err(broken(&place, format!("{what} are missing"))),
    };
    let shape = dimensions(&place, &proto.dims)?;
    let sparse =
        SparseTensor { values: part(&proto.values, "values")?, indices: part(&proto.indices, "indices")?, shape };
    check_sparse(&place, &sparse)?;
    Ok(sparse)
}

/// Checks the indices: `int64`, `[nnz]` or `[nnz, rank]`, inside the shape, ascending, and without duplicates.
fn check_sparse(place: &str, sparse: &SparseTensor) -> Result<(), DecodeError> {
    let count = element_count(&sparse.shape).map_err(|error| broken(place, error.to_string()))?;
    let (values, indices) = (&sparse.values, &sparse.indices);
    if indices.element_type() != ElementType::Int64 {
        return Err(broken(place, format!("indices are {}, not int64", indices.element_type())));
    }
    let linear = indices.shape() == [values.len()];
    if values.rank() != 1 || !(linear || indices.shape() == [values.len(), sparse.shape.len()]) {
        let (values, indices, shape) = (values.shape(), indices.shape(), &sparse.shape);
        let rule = format!("values {values:?} and indices {indices:?} do not describe a tensor of shape {shape:?}");
        return Err(broken(place, rule));
    }
    let mut last = None;
    for position in sparse.positions() {
        let position =
            position.filter(|&index| index < count).ok_or_else(|| broken(place, "an index is outside the shape"))?;
        if last.is_some_and(|last| position <= last) {
            return Err(broken(place, "indices are not in ascending order"));
        }
        last = Some(position);
    }
    Ok(())
}

impl SparseTensor {
    /// The flat position of each value; `None` if an index is out of range.
    pub fn positions(&self) -> impl Iterator<Item = Option<usize>> {
        let width = if self.indices.rank() == 2 { self.shape.len() } else { 1 };
        let indices = self.indices.indices();
        let linear = self.indices.rank() != 2;
        (0..self.values.len()).map(move |value| {
            let row = indices.get(value * width..(value + 1) * width)?;
            if linear {
                return row.first().and_then(|&index| usize::try_from(index).ok());
            }
            row.iter().zip(&self.shape).try_fold(0usize, |flat, (&index, &dim)| {
                let index = usize::try_from(index).ok().filter(|&index| index < dim)?;
                flat.checked_mul(dim)?.checked_add(index)
            })
        })
    }
}

/// Converts a message to a value type.
pub fn value_type(proto: &TypeProto) -> Result<ValueType, DecodeError> {
    use onnx::type_proto::Value as V;
    let element = |code: i32| {
        ElementType::from_code(code).ok_or_else(|| broken("type", format!("element type {code} {}", no_element_type())))
    };
    let inner = |inner: &Option<Box<TypeProto>>| match inner {
        Some(inner) => value_type(inner).map(Box::new),
        None => Err(broken("type", "a container has no type for its items")),
    };
    match &proto.value {
        Some(V::TensorType(tensor)) => Ok(ValueType::Tensor(element(tensor.elem_type())?)),
        Some(V::SparseTensorType(tensor)) => Ok(ValueType::SparseTensor(element(tensor.elem_type())?)),
        Some(V::SequenceType(sequence)) => Ok(ValueType::Sequence(inner(&sequence.elem_type)?)),
        Some(V::OptionalType(optional)) => Ok(ValueType::Optional(inner(&optional.elem_type)?)),
        Some(V::MapType(map)) => Ok(ValueType::Map(element(map.key_type())?, inner(&map.value_type)?)),
        Some(V::OpaqueType(_)) => Err(broken("type", "opaque types have no meaning in ONNX's own domains")),
        None => Err(broken("type", "no type is given")),
    }
}

/// Converts a message to a sequence. An empty one takes its item type from `hint`, the declared type of the value.
pub fn sequence(
    proto: &SequenceProto,
    hint: Option<&ValueType>,
    external: &dyn ExternalData,
) -> Result<Sequence, DecodeError> {
    use onnx::sequence_proto::DataType as D;
    let place = format!("sequence '{}'", proto.name());
    let item_hint = match hint {
        Some(ValueType::Sequence(item)) => Some(&**item),
        _ => None,
    };
    let kind = D::try_from(proto.elem_type()).unwrap_or(D::Undefined);
    let items: Vec<Value> = match kind {
        D::Undefined => Vec::new(),
        D::Tensor => collect(&proto.tensor_values, |t| tensor(t, external).map(Value::Tensor))?,
        D::SparseTensor => {
            collect(&proto.sparse_tensor_values, |t| Ok(Value::Sparse(Arc::new(sparse_tensor(t, external)?))))?
        }
        D::Sequence => collect(&proto.sequence_values, |s| sequence(s, item_hint, external).map(Value::Sequence))?,
        D::Map => collect(&proto.map_values, |m| map(m, item_hint, external).map(Value::Map))?,
        D::Optional => collect(&proto.optional_values, |o| optional(o, item_hint, external).map(Value::Optional))?,
    };
    let item_type = match (items.first(), item_hint) {
        (Some(first), _) => first.value_type(),
        (None, Some(hint)) => hint.clone(),
        (None, None) => return Err(broken(&place, "an empty sequence needs a declared type")),
    };
    match items.iter().find(|item| item.value_type() != item_type) {
        Some(other) => Err(broken(&place, format!("items are of {item_type} and of {}", other.value_type()))),
        None => Ok(Sequence::new(item_type, items)),
    }
}

fn collect<P>(protos: &[P], decode: impl Fn(&P) -> Result<Value, DecodeError>) -> Result<Vec<Value>, DecodeError> {
    protos.iter().map(decode).collect()
}

/// Converts a message to an optional. An absent one takes its type from `hint`, the declared type of the value.
pub fn optional(
    proto: &OptionalProto,
    hint: Option<&ValueType>,
    external: &dyn ExternalData,
) -> Result<Optional, DecodeError> {
    let place = format!("optional '{}'", proto.name());
    let item_hint = match hint {
        Some(ValueType::Optional(item)) => Some(&**item),
        _ => None,
    };
    let item = if let Some(proto) = &proto.tensor_value {
        Some(Value::Tensor(tensor(proto, external)?))
    } else if let Some(proto) = &proto.sparse_tensor_value {
        Some(Value::Sparse(Arc::new(sparse_tensor(proto, external)?)))
    } else if let Some(proto) = &proto.sequence_value {
        Some(Value::Sequence(sequence(proto, item_hint, external)?))
    } else if let Some(proto) = &proto.map_value {
        Some(Value::Map(map(proto, item_hint, external)?))
    } else if let Some(proto) = &proto.optional_value {
        Some(Value::Optional(optional(proto, item_hint, external)?))
    } else {
        None
    };
    let item_type = match (&item, item_hint) {
        (Some(item), _) => item.value_type(),
        (None, Some(hint)) => hint.clone(),
        (None, None) => return Err(broken(&place, "an absent optional needs a declared type")),
    };
    Ok(Optional { item_type, item: item.map(Arc::new) })
}

/// Converts a message to a map. An empty one takes its types from `hint`, the declared type of the value.
pub fn map(proto: &MapProto, hint: Option<&ValueType>, external: &dyn ExternalData) -> Result<Map, DecodeError> {
    let place = format!("map '{}'", proto.name());
    let code = proto.key_type();
    let key_type = ElementType::from_code(code)
        .filter(|key| key.is_integer() || *key == ElementType::String)
        .ok_or_else(|| broken(&place, format!("key_type {code} is neither an integer type nor string")))?;
    let value_hint = match hint {
        Some(ValueType::Map(_, value)) => Some(&**value),
        _ => None,
    };
    let keys: Vec<MapKey> = if key_type == ElementType::String {
        let text = |bytes: &Bytes| {
            std::str::from_utf8(bytes)
                .map(|text| MapKey::String(Arc::from(text)))
                .map_err(|_| broken(&place, "string_keys contains bytes that are not UTF-8"))
        };
        proto.string_keys.iter().map(text).collect::<Result<_, _>>()?
    } else {
        proto.keys.iter().map(|&key| MapKey::Integer(i128::from(key))).collect()
    };
    let sequence_hint = value_hint.map(|value| ValueType::Sequence(Box::new(value.clone())));
    let values = match &proto.values {
        Some(values) => sequence(values, sequence_hint.as_ref(), external)?,
        None => return Err(broken(&place, "values are missing")),
    };
    if keys.len() != values.items.len() {
        return Err(broken(&place, format!("there are {} keys, but {} values", keys.len(), values.items.len())));
    }
    let count = keys.len();
    let entries: BTreeMap<MapKey, Value> = keys.into_iter().zip(values.items.iter().cloned()).collect();
    if entries.len() != count {
        return Err(broken(&place, "a key appears twice"));
    }
    Ok(Map { key_type, value_type: values.item_type, entries: Arc::new(entries) })
}

/// Maximum size of the decoded messages of one file, without bytes that they share with it.
const MAX_DECODED: usize = DEFAULT_BYTES;

/// Decodes a model file. One that would need more memory than [`decoded_size`] allows is refused before decoding.
pub fn model(bytes: Bytes) -> Result<ModelProto, DecodeError> {
    use prost::Message;
    decoded_size(MessageKind::Model, &bytes, MAX_DECODED, &Deadline::never())?;
    Ok(ModelProto::decode(bytes)?)
}

/// Decodes a value file of an ONNX test folder. The type `declared` determines the message.
pub fn value(bytes: Bytes, declared: &ValueType) -> Result<Value, DecodeError> {
    use prost::Message;
    let missing = &NoExternalData;
    let kind = match declared {
        ValueType::Tensor(_) => MessageKind::Tensor,
        ValueType::SparseTensor(_) => MessageKind::SparseTensor,
        ValueType::Sequence(_) => MessageKind::Sequence,
        ValueType::Optional(_) => MessageKind::Optional,
        ValueType::Map(..) => MessageKind::Map,
    };
    decoded_size(kind, &bytes, MAX_DECODED, &Deadline::never())?;
    Ok(match declared {
        ValueType::Tensor(_) => Value::Tensor(tensor(&TensorProto::decode(bytes)?, missing)?),
        ValueType::SparseTensor(_) => {
            Value::Sparse(Arc::new(sparse_tensor(&SparseTensorProto::decode(bytes)?, missing)?))
        }
        ValueType::Sequence(_) => Value::Sequence(sequence(&SequenceProto::decode(bytes)?, Some(declared), missing)?),
        ValueType::Optional(_) => Value::Optional(optional(&OptionalProto::decode(bytes)?, Some(declared), missing)?),
        ValueType::Map(..) => Value::Map(map(&MapProto::decode(bytes)?, Some(declared), missing)?),
    })
}
