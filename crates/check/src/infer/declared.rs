//! Declared types and shapes of a model's values.

use onnx_conformance_reference::model::graph::Dim;
use onnx_conformance_reference::proto::{TypeProto, ValueInfoProto, decode, onnx};
use onnx_conformance_reference::types::ValueType;

use crate::facts::{MAX_RANK, ValueFact};
use crate::shorten::MAX_NAME;

/// The facts given by a declaration.
pub(crate) fn declared(info: &ValueInfoProto) -> ValueFact {
    info.r#type.as_ref().map(type_fact).unwrap_or_default()
}

/// The facts given by a type message; empty if the type is not one of ONNX's.
pub(crate) fn type_fact(proto: &TypeProto) -> ValueFact {
    use onnx::tensor_shape_proto::dimension::Value as V;
    let Ok(value_type) = decode::value_type(proto) else { return ValueFact::default() };
    let dim = |dim: &onnx::tensor_shape_proto::Dimension| match &dim.value {
        Some(V::DimValue(size)) => usize::try_from(*size).map_or(Dim::Unknown, Dim::Size),
        Some(V::DimParam(name)) if (1..=MAX_NAME).contains(&name.len()) => Dim::Name(name.as_str().into()),
        _ => Dim::Unknown,
    };
    let shape = match &proto.value {
        Some(onnx::type_proto::Value::TensorType(tensor)) => {
            let shape = tensor.shape.as_ref().filter(|shape| shape.dim.len() <= MAX_RANK);
            shape.map(|shape| shape.dim.iter().map(dim).collect())
        }
        _ => None,
    };
    ValueFact { value_type: Some(value_type), shape, ..ValueFact::default() }
}

/// Contradiction between a declaration and a known fact.
pub(crate) enum Contradiction {
    /// The types differ: declared, known.
    Type(ValueType, ValueType),
    /// The shapes exclude each other: declared, known.
    Shape(String, String),
}

/// Compares a declaration with the known facts of a value.
pub(crate) fn contradiction(declared: &ValueFact, known: &ValueFact) -> Option<Contradiction> {
    if let (Some(declared), Some(known)) = (&declared.value_type, &known.value_type)
        && declared != known
    {
        return Some(Contradiction::Type(declared.clone(), known.clone()));
    }
    let (one, two) = (declared.shape.as_ref()?, known.shape.as_ref()?);
    let differ = |(one, two): (&Dim, &Dim)| matches!((one, two), (Dim::Size(one), Dim::Size(two)) if one != two);
    let excluded = one.len() != two.len() || one.iter().zip(two).any(differ);
    excluded.then(|| Contradiction::Shape(shape_text(one), shape_text(two)))
}

/// Combines the known facts with those that only the declaration gives.
pub(crate) fn refine(declared: &ValueFact, known: ValueFact) -> ValueFact {
    let shape = match (known.shape.clone(), &declared.shape) {
        (Some(known), Some(declared)) if known.len() == declared.len() => {
            let more = |(known, declared): (Dim, &Dim)| match (&known, declared) {
                (Dim::Unknown, declared) | (Dim::Name(_) | Dim::Sum(_), declared @ Dim::Size(_)) => declared.clone(),
                _ => known,
            };
            Some(known.into_iter().zip(declared).map(more).collect())
        }
        (Some(known), _) => Some(known),
        (None, declared) => declared.clone(),
    };
    ValueFact { value_type: known.value_type.clone().or_else(|| declared.value_type.clone()), shape, ..known }
}

/// Formats a shape for messages.
pub(crate) fn shape_text(shape: &[Dim]) -> String {
    format!("[{}]", shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "))
}
