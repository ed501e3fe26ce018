//! Attributes of a node during conversion: typed reading, setting and removal.

use bytes::Bytes;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, TensorProto};
use onnx_conformance_reference::spec::{AttributeType, DefaultValue};

use super::answer::{Step, impossible, unknown};
use crate::shorten::shorten;

/// An attribute without a value.
fn empty(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.to_owned()), r#type: Some(kind.code()), ..AttributeProto::default() }
}

/// An attribute of one integer.
pub(crate) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..empty(name, AttributeType::Int) }
}

/// An attribute of integers.
pub(crate) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..empty(name, AttributeType::Ints) }
}

/// An attribute of one number.
pub(crate) fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..empty(name, AttributeType::Float) }
}

/// An attribute of numbers.
pub(crate) fn floats(name: &str, values: &[f32]) -> AttributeProto {
    AttributeProto { floats: values.to_vec(), ..empty(name, AttributeType::Floats) }
}

/// An attribute of one text.
pub(crate) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(Bytes::copy_from_slice(value.as_bytes())), ..empty(name, AttributeType::String) }
}

/// An attribute of texts.
pub(crate) fn strings(name: &str, values: &[String]) -> AttributeProto {
    let values = values.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
    AttributeProto { strings: values, ..empty(name, AttributeType::Strings) }
}

/// An attribute of one tensor.
pub(crate) fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(Box::new(value)), ..empty(name, AttributeType::Tensor) }
}

/// Creates an attribute with the value of a default.
pub(crate) fn from_default(name: &str, value: &DefaultValue) -> AttributeProto {
    match value {
        DefaultValue::Int(value) => int(name, *value),
        DefaultValue::Float(value) => float(name, *value),
        DefaultValue::String(value) => string(name, value),
        DefaultValue::Ints(values) => ints(name, values),
        DefaultValue::Floats(values) => floats(name, values),
        DefaultValue::Strings(values) => strings(name, values),
    }
}

/// The type of an attribute's value. Before IR 2 a message may omit it.
pub(crate) fn kind_of(attribute: &AttributeProto) -> Option<AttributeType> {
    AttributeType::from_code(attribute.r#type.unwrap_or_default())
}

/// True if an attribute has the value of a default.
pub(crate) fn is_default(attribute: &AttributeProto, default: &DefaultValue) -> bool {
    attribute.ref_attr_name().is_empty()
        && match default {
            DefaultValue::Int(value) => attribute.i == Some(*value),
            DefaultValue::Float(value) => attribute.f.is_some_and(|other| other.to_bits() == value.to_bits()),
            DefaultValue::String(value) => attribute.s.as_deref() == Some(value.as_bytes()),
            DefaultValue::Ints(values) => attribute.ints == *values,
            DefaultValue::Floats(values) => attribute.floats == *values,
            DefaultValue::Strings(values) => {
                attribute.strings.iter().map(|text| &text[..]).eq(values.iter().map(String::as_bytes))
            }
        }
}

/// Maximum number of characters of a string in messages.
const MAX_SHOWN: usize = 80;

/// Formats the value of an attribute for display.
pub(crate) fn value_text(attribute: &AttributeProto) -> String {
    let text = |bytes: &Bytes| shorten(&String::from_utf8_lossy(bytes), MAX_SHOWN).into_owned();
    match kind_of(attribute) {
        _ if !attribute.ref_attr_name().is_empty() => format!("the caller's {}", attribute.ref_attr_name()),
        Some(AttributeType::Int) => attribute.i().to_string(),
        Some(AttributeType::Float) => format!("{:?}", attribute.f()),
        Some(AttributeType::String) => attribute.s.as_ref().map(text).unwrap_or_default(),
        Some(AttributeType::Ints) if attribute.ints.len() < 16 => format!("{:?}", attribute.ints),
        Some(AttributeType::Floats) if attribute.floats.len() < 16 => format!("{:?}", attribute.floats),
        Some(AttributeType::Strings) if attribute.strings.len() < 16 => {
            format!("[{}]", attribute.strings.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        Some(kind) => format!("a value of type {kind}"),
        None => "a value".to_owned(),
    }
}

/// Returns the attribute of this name, if the node sets it.
///
/// In a function an attribute may refer to the caller's; its value is then unknown.
pub(crate) fn get<'a>(node: &'a NodeProto, name: &str) -> Step<Option<&'a AttributeProto>> {
    match node.attribute.iter().find(|attribute| attribute.name() == name) {
        Some(attribute) if !attribute.ref_attr_name().is_empty() => {
            unknown(format!("attribute {name} refers to attribute {} of the caller", attribute.ref_attr_name()))
        }
        found => Ok(found),
    }
}

/// Returns the attribute of this name after checking its type.
fn typed<'a>(node: &'a NodeProto, name: &str, kind: AttributeType) -> Step<Option<&'a AttributeProto>> {
    match get(node, name)? {
        Some(attribute) if kind_of(attribute).is_some_and(|other| other != kind) => {
            impossible(format!("attribute {name} does not have type {kind}"))
        }
        found => Ok(found),
    }
}

/// Reads an integer attribute.
pub(crate) fn get_int(node: &NodeProto, name: &str) -> Step<Option<i64>> {
    Ok(typed(node, name, AttributeType::Int)?.map(AttributeProto::i))
}

/// Reads an attribute of integers.
pub(crate) fn get_ints(node: &NodeProto, name: &str) -> Step<Option<Vec<i64>>> {
    Ok(typed(node, name, AttributeType::Ints)?.map(|attribute| attribute.ints.clone()))
}

/// Reads a numeric attribute.
pub(crate) fn get_float(node: &NodeProto, name: &str) -> Step<Option<f32>> {
    Ok(typed(node, name, AttributeType::Float)?.map(AttributeProto::f))
}

/// Reads an attribute of numbers.
pub(crate) fn get_floats(node: &NodeProto, name: &str) -> Step<Option<Vec<f32>>> {
    Ok(typed(node, name, AttributeType::Floats)?.map(|attribute| attribute.floats.clone()))
}

/// Reads a string attribute.
pub(crate) fn get_string(node: &NodeProto, name: &str) -> Step<Option<String>> {
    let text = |attribute: &AttributeProto| String::from_utf8_lossy(attribute.s()).into_owned();
    Ok(typed(node, name, AttributeType::String)?.map(text))
}

/// Reads an attribute of strings.
pub(crate) fn get_strings(node: &NodeProto, name: &str) -> Step<Option<Vec<String>>> {
    let texts = |attribute: &AttributeProto| {
        attribute.strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    };
    Ok(typed(node, name, AttributeType::Strings)?.map(texts))
}

/// Sets an attribute; it replaces one of the same name.
pub(crate) fn set(node: &mut NodeProto, attribute: AttributeProto) {
    match node.attribute.iter_mut().find(|other| other.name() == attribute.name()) {
        Some(place) => *place = attribute,
        None => node.attribute.push(attribute),
    }
}

/// Sets all attributes of a node. Existing attributes keep their order in the file.
pub(crate) fn replace_all(node: &mut NodeProto, new: Vec<AttributeProto>) {
    node.attribute.retain(|attribute| new.iter().any(|other| other.name() == attribute.name()));
    for attribute in new {
        set(node, attribute);
    }
}

/// Removes an attribute; returns true if there was one.
pub(crate) fn remove(node: &mut NodeProto, name: &str) -> bool {
    let before = node.attribute.len();
    node.attribute.retain(|attribute| attribute.name() != name);
    node.attribute.len() < before
}
