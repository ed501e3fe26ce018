//! Conversion of values to messages. Numbers go to `raw_data`, packed as in ONNX.

use bytes::Bytes;
use prost::encoding::{WireType, encode_varint};

use crate::dtype::ElementType;
use crate::proto::{MapProto, OptionalProto, SequenceProto, SparseTensorProto, TensorProto, TypeProto, onnx};
use crate::tensor::Tensor;
use crate::tensor::packing::pack;
use crate::types::ValueType;
use crate::value::{Map, MapKey, Optional, Sequence, SparseTensor, Value};

/// Encodes a bytes field: key, length and bytes. `bytes` may be shorter than `length`, if the caller adds the rest or
/// omits it.
pub fn field(number: u32, length: u64, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    encode_varint(u64::from(number) << 3 | WireType::LengthDelimited as u64, &mut field);
    encode_varint(length, &mut field);
    field.extend_from_slice(bytes);
    field
}

/// Encodes a number in the fewest bytes.
pub fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_varint(value, &mut bytes);
    bytes
}

/// Returns the message of a tensor.
pub fn tensor(tensor: &Tensor, name: &str) -> TensorProto {
    let element = tensor.element_type();
    let mut proto = TensorProto {
        name: (!name.is_empty()).then(|| name.to_owned()),
        data_type: Some(element.code()),
        dims: dims(tensor.shape()),
        ..TensorProto::default()
    };
    if element == ElementType::String {
        proto.string_data = tensor.strings().iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
    } else if element.bits() < 8 {
        proto.raw_data = Some(pack(element, tensor.bytes()).into());
    } else {
        proto.raw_data = Some(tensor.bytes().clone());
    }
    proto
}

fn dims(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect()
}

/// Returns the message of a sparse tensor.
pub fn sparse_tensor(sparse: &SparseTensor, name: &str) -> SparseTensorProto {
    SparseTensorProto {
        values: Some(tensor(&sparse.values, name)),
        indices: Some(tensor(&sparse.indices, "")),
        dims: dims(&sparse.shape),
    }
}

/// Returns the message of a sequence.
pub fn sequence(sequence_value: &Sequence, name: &str) -> SequenceProto {
    use onnx::sequence_proto::DataType as D;
    let kind = match sequence_value.item_type {
        ValueType::Tensor(_) => D::Tensor,
        ValueType::SparseTensor(_) => D::SparseTensor,
        ValueType::Sequence(_) => D::Sequence,
        ValueType::Optional(_) => D::Optional,
        ValueType::Map(..) => D::Map,
    };
    let mut proto = SequenceProto {
        name: (!name.is_empty()).then(|| name.to_owned()),
        elem_type: Some(kind as i32),
        ..SequenceProto::default()
    };
    for item in sequence_value.items.iter() {
        match item {
            Value::Tensor(item) => proto.tensor_values.push(tensor(item, "")),
            Value::Sparse(item) => proto.sparse_tensor_values.push(sparse_tensor(item, "")),
            Value::Sequence(item) => proto.sequence_values.push(sequence(item, "")),
            Value::Optional(item) => proto.optional_values.push(optional(item, "")),
            Value::Map(item) => proto.map_values.push(map(item, "")),
        }
    }
    proto
}

/// Returns the message of an optional.
pub fn optional(optional_value: &Optional, name: &str) -> OptionalProto {
    use onnx::optional_proto::DataType as D;
    let mut proto = OptionalProto { name: (!name.is_empty()).then(|| name.to_owned()), ..OptionalProto::default() };
    let kind = match optional_value.item.as_deref() {
        None => D::Undefined,
        Some(Value::Tensor(item)) => {
            proto.tensor_value = Some(tensor(item, ""));
            D::Tensor
        }
        Some(Value::Sparse(item)) => {
            proto.sparse_tensor_value = Some(sparse_tensor(item, ""));
            D::SparseTensor
        }
        Some(Value::Sequence(item)) => {
            proto.sequence_value = Some(sequence(item, ""));
            D::Sequence
        }
        Some(Value::Optional(item)) => {
            proto.optional_value = Some(Box::new(optional(item, "")));
            D::Optional
        }
        Some(Value::Map(item)) => {
            proto.map_value = Some(map(item, ""));
            D::Map
        }
    };
    proto.elem_type = Some(kind as i32);
    proto
}

/// Returns the message of a map.
pub fn map(map_value: &Map, name: &str) -> MapProto {
    let mut proto = MapProto {
        name: (!name.is_empty()).then(|| name.to_owned()),
        key_type: Some(map_value.key_type.code()),
        ..MapProto::default()
    };
    for key in map_value.entries.keys() {
        match key {
            MapKey::Integer(key) => proto.keys.push(i64::try_from(*key).unwrap_or(i64::MAX)),
            MapKey::String(key) => proto.string_keys.push(Bytes::copy_from_slice(key.as_bytes())),
        }
    }
    let values = map_value.entries.values().cloned().collect();
    proto.values = Some(sequence(&Sequence::new(map_value.value_type.clone(), values), ""));
    proto
}

/// Encodes the value as a file of an ONNX test folder.
pub fn value(value: &Value, name: &str) -> Vec<u8> {
    use prost::Message;
    match value {
        Value::Tensor(value) => tensor(value, name).encode_to_vec(),
        Value::Sparse(value) => sparse_tensor(value, name).encode_to_vec(),
        Value::Sequence(value) => sequence(value, name).encode_to_vec(),
        Value::Optional(value) => optional(value, name).encode_to_vec(),
        Value::Map(value) => map(value, name).encode_to_vec(),
    }
}

/// Returns the message of a type; a tensor type carries `shape` if given.
pub fn value_type(value_type_: &ValueType, shape: Option<&[usize]>) -> TypeProto {
    use onnx::type_proto::{self, Value as V};
    let shape = shape.map(|shape| onnx::TensorShapeProto {
        dim: dims(shape)
            .into_iter()
            .map(|dim| onnx::tensor_shape_proto::Dimension {
                denotation: None,
                value: Some(onnx::tensor_shape_proto::dimension::Value::DimValue(dim)),
            })
            .collect(),
    });
    let inner = |inner: &ValueType| Some(Box::new(value_type(inner, None)));
    let value = match value_type_ {
        ValueType::Tensor(element) => V::TensorType(type_proto::Tensor { elem_type: Some(element.code()), shape }),
        ValueType::SparseTensor(element) => {
            V::SparseTensorType(type_proto::SparseTensor { elem_type: Some(element.code()), shape })
        }
        ValueType::Sequence(item) => V::SequenceType(Box::new(type_proto::Sequence { elem_type: inner(item) })),
        ValueType::Optional(item) => V::OptionalType(Box::new(type_proto::Optional { elem_type: inner(item) })),
        ValueType::Map(key, item) => {
            V::MapType(Box::new(type_proto::Map { key_type: Some(key.code()), value_type: inner(item) }))
        }
    };
    TypeProto { denotation: None, value: Some(value) }
}
