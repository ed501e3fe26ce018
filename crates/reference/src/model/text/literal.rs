//! Types and tensors.

use bytes::Bytes;

use super::scanner::{Literal, Scanner, TextError};
use crate::dtype::{ElementType, Kind};
use crate::proto::onnx::tensor_proto::DataLocation;
use crate::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use crate::proto::onnx::{StringStringEntryProto, TensorShapeProto, type_proto};
use crate::proto::{TensorProto, TypeProto};
use crate::tensor::packing::pack;
use crate::tensor::shape::element_count;

/// True if a type follows.
pub(super) fn next_is_type(scanner: &mut Scanner<'_>) -> bool {
    scanner.peek_identifier().is_some_and(|id| {
        id.parse::<ElementType>().is_ok() || ["seq", "map", "optional", "sparse_tensor", "opaque"].contains(&id)
    })
}

/// Parses a type with its shape: `float` is a scalar, `float[]` has any rank, `float[N, ?, 3]` has three dimensions.
pub(super) fn value_type(scanner: &mut Scanner<'_>) -> Result<TypeProto, TextError> {
    use type_proto::Value;
    scanner.enter()?;
    let place = scanner.place();
    let name = scanner.identifier("a type")?;
    let value = match name {
        "seq" => Value::SequenceType(Box::new(type_proto::Sequence { elem_type: Some(inner(scanner)?) })),
        "optional" => Value::OptionalType(Box::new(type_proto::Optional { elem_type: Some(inner(scanner)?) })),
        "map" => {
            scanner.expect('(')?;
            let key_type = Some(element(scanner)?.code());
            scanner.expect(',')?;
            let value_type = Some(Box::new(value_type(scanner)?));
            scanner.expect(')')?;
            Value::MapType(Box::new(type_proto::Map { key_type, value_type }))
        }
        "sparse_tensor" => {
            scanner.expect('(')?;
            let elem_type = Some(element(scanner)?.code());
            let shape = shape(scanner)?;
            scanner.expect(')')?;
            Value::SparseTensorType(type_proto::SparseTensor { elem_type, shape })
        }
        "opaque" => Value::OpaqueType(opaque_type(scanner)?),
        name => {
            let element: ElementType =
                name.parse().map_err(|_| scanner.error_at(place, &format!("'{name}' is not a type")))?;
            Value::TensorType(type_proto::Tensor { elem_type: Some(element.code()), shape: shape(scanner)? })
        }
    };
    scanner.leave();
    Ok(TypeProto { denotation: None, value: Some(value) })
}

fn inner(scanner: &mut Scanner<'_>) -> Result<Box<TypeProto>, TextError> {
    scanner.expect('(')?;
    let inner = value_type(scanner)?;
    scanner.expect(')')?;
    Ok(Box::new(inner))
}

fn element(scanner: &mut Scanner<'_>) -> Result<ElementType, TextError> {
    let place = scanner.place();
    let name = scanner.identifier("an element type")?;
    name.parse().map_err(|_| scanner.error_at(place, &format!("'{name}' is not an element type")))
}

/// Parses `(domain, name)`, `(name)` or `()`.
fn opaque_type(scanner: &mut Scanner<'_>) -> Result<type_proto::Opaque, TextError> {
    scanner.expect('(')?;
    let mut parts = Vec::new();
    while scanner.peek() != Some(')') && parts.len() < 2 {
        if !parts.is_empty() {
            scanner.expect(',')?;
        }
        let mut part = scanner.identifier("a name")?.to_owned();
        while scanner.take('.') {
            part = format!("{part}.{}", scanner.identifier("a name")?);
        }
        parts.push(part);
    }
    scanner.expect(')')?;
    let name = parts.pop();
    Ok(type_proto::Opaque { domain: parts.pop(), name })
}

fn shape(scanner: &mut Scanner<'_>) -> Result<Option<TensorShapeProto>, TextError> {
    if !scanner.take('[') {
        return Ok(Some(TensorShapeProto::default()));
    }
    if scanner.take(']') {
        return Ok(None);
    }
    let mut dim = Vec::new();
    loop {
        let value = if scanner.take('?') {
            None
        } else if let Some(name) = scanner.take_name()? {
            Some(dimension::Value::DimParam(name))
        } else {
            Some(dimension::Value::DimValue(scanner.integer("a dimension: a number, a name or '?'")?))
        };
        dim.push(Dimension { denotation: None, value });
        if !scanner.take(',') {
            break;
        }
    }
    scanner.expect(']')?;
    Ok(Some(TensorShapeProto { dim }))
}

/// Parses the values of a tensor of a type: `{1, 2}`, or `["location": "file"]` for external data.
pub(super) fn tensor(scanner: &mut Scanner<'_>, name: String, of: &TypeProto) -> Result<TensorProto, TextError> {
    let place = scanner.place();
    let fixed = "a tensor with values needs an element type and a shape of numbers, such as float[2, 3]";
    let (element, dims) = fixed_type(of).ok_or_else(|| scanner.error_at(place, fixed))?;
    let mut proto = TensorProto {
        name: (!name.is_empty()).then_some(name),
        data_type: Some(element.code()),
        dims,
        ..TensorProto::default()
    };
    if scanner.take('[') {
        proto.data_location = Some(DataLocation::External as i32);
        proto.external_data = string_pairs(scanner)?;
        return Ok(proto);
    }
    let values = values(scanner)?;
    let shape: Option<Vec<usize>> = proto.dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let expected = shape.and_then(|shape| element_count(&shape).ok());
    let parts = if element.kind() == Kind::Complex { 2 } else { 1 };
    if expected.and_then(|count| count.checked_mul(parts)) != Some(values.len()) {
        let rule = format!("shape {:?} does not match the {} values given", proto.dims, values.len());
        return Err(scanner.error_at(place, &rule));
    }
    if element == ElementType::String {
        proto.string_data = values
            .into_iter()
            .map(|(place, value)| match value {
                Literal::String(text) => Ok(Bytes::from(text)),
                _ => Err(scanner.error_at(place, "a string tensor needs values in quotes")),
            })
            .collect::<Result<_, _>>()?;
        return Ok(proto);
    }
    let mut bytes = Vec::new();
    for (place, value) in values {
        let bits = bits(element.component(), &value).map_err(|error| scanner.error_at(place, &error.to_string()))?;
        bytes.extend(bits.to_le_bytes().iter().take(element.component().size()));
    }
    proto.raw_data = Some(if element.bits() < 8 { pack(element, &bytes).into() } else { bytes.into() });
    Ok(proto)
}

fn fixed_type(of: &TypeProto) -> Option<(ElementType, Vec<i64>)> {
    let Some(type_proto::Value::TensorType(tensor)) = &of.value else { return None };
    let dims = tensor.shape.as_ref()?.dim.iter().map(|dim| match &dim.value {
        Some(dimension::Value::DimValue(size)) => Some(*size),
        _ => None,
    });
    Some((ElementType::from_code(tensor.elem_type?)?, dims.collect::<Option<_>>()?))
}

fn values<'a>(scanner: &mut Scanner<'a>) -> Result<Vec<(usize, Literal<'a>)>, TextError> {
    scanner.expect('{')?;
    let mut values = Vec::new();
    while !scanner.take('}') {
        if !values.is_empty() {
            scanner.expect(',')?;
        }
        values.push((scanner.place(), scanner.literal()?));
    }
    Ok(values)
}

/// Parses `"key": "value", ...]`.
pub(super) fn string_pairs(scanner: &mut Scanner<'_>) -> Result<Vec<StringStringEntryProto>, TextError> {
    let mut pairs = Vec::new();
    while !scanner.take(']') {
        if !pairs.is_empty() {
            scanner.expect(',')?;
        }
        let key = scanner.string("a key in quotes")?;
        scanner.expect(':')?;
        pairs.push(StringStringEntryProto { key: Some(key), value: Some(scanner.string("a value in quotes")?) });
    }
    Ok(pairs)
}

/// Number that its type does not hold.
#[derive(Debug, thiserror::Error)]
pub(super) enum NumberError {
    #[error("{0} is not a number")]
    NotANumber(String),
    #[error("{0} is not a value of {1}")]
    NotOfType(String, ElementType),
    #[error("{0} is not a pattern of {1} bits; write a value with a decimal point")]
    Pattern(i128, u32),
    #[error("{0} exceeds the largest float")]
    BeyondFloat(String),
}

/// The stored bits of a number. An integer is a value for `float` and `double`, and a bit pattern for a narrower float.
pub(super) fn bits(element: ElementType, value: &Literal<'_>) -> Result<u64, NumberError> {
    let not_of_type = |written: String| Err(NumberError::NotOfType(written, element));
    match value {
        Literal::String(text) => not_of_type(format!("\"{text}\"")),
        Literal::Integer(value) if matches!(element, ElementType::Float | ElementType::Double) => {
            Ok(element.encode_i128(*value))
        }
        Literal::Integer(value) if element.is_float() => u64::try_from(*value)
            .ok()
            .filter(|bits| bits >> element.bits() == 0)
            .ok_or(NumberError::Pattern(*value, element.bits())),
        Literal::Integer(value) => match (element.min_value(), element.max_value()) {
            (Some(min), Some(max)) if (min..=max).contains(value) => Ok(element.wrap(*value)),
            _ => not_of_type(value.to_string()),
        },
        Literal::Float(text) if element.is_float() => float_bits(element, text),
        Literal::Float(text) => not_of_type((*text).to_owned()),
    }
}

fn float_bits(element: ElementType, text: &str) -> Result<u64, NumberError> {
    if element == ElementType::Float {
        return float(text).map(|value| u64::from(value.to_bits()));
    }
    let value: f64 = text.parse().map_err(|_| NumberError::NotANumber(text.to_owned()))?;
    let bits = element.encode(value);
    if value.is_finite() == element.decode_f64(bits).is_finite() {
        Ok(bits)
    } else {
        Err(NumberError::NotOfType(text.to_owned(), element))
    }
}

/// Parses the nearest `f32`; a number beyond the largest is an error.
pub(super) fn float(text: &str) -> Result<f32, NumberError> {
    let value: f32 = text.parse().map_err(|_| NumberError::NotANumber(text.to_owned()))?;
    let is_word = text.contains(['n', 'N']);
    if value.is_finite() || is_word { Ok(value) } else { Err(NumberError::BeyondFloat(text.to_owned())) }
}
