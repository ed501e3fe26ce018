//! Breaking exactly one rule of a node that is right.

use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::spec::{FormalParameter, FormalType, OpSpec};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, Optional, Sequence, SparseTensor, Value};

use crate::case::Named;
use crate::generate::make::model::attribute_message;
use crate::generate::plan::fit::NodeDraft;

/// The one thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) enum Violation {
    /// An input of a type outside the constraint, by its position among the formal inputs.
    Type { at: usize, value_type: ValueType },
    /// An attribute that names a type outside the constraint of an output.
    BoundType { attribute: String, element: ElementType },
    /// A required input left out: its name is empty.
    Missing { at: usize },
    /// Only so many inputs.
    Fewer { count: usize },
    /// One input more than the version takes.
    Surplus,
    /// One output more than the version has.
    SurplusOutput,
    /// An attribute that the version does not have.
    UnknownAttribute { name: String },
    /// An attribute of another type than declared, which may be a float.
    AttributeType { name: String, is_float: bool },
    /// A required attribute left out.
    MissingAttribute { name: String },
    /// A homogeneous variadic input of two types: the last is of this one.
    Mixed { value_type: ValueType },
    /// What a refusal of op.yaml says, by its name, with an alternative of each axis.
    Written { name: String, choices: Vec<usize> },
}

/// Breaks the rule, unless it is written in op.yaml.
pub(crate) fn apply(spec: &OpSpec, violation: &Violation, parts: &mut NodeDraft) {
    match violation {
        Violation::Type { at, value_type } => {
            // Every input that shares the type parameter changes with it, so that the type alone is wrong.
            let broken = spec.inputs.get(*at);
            let shares = |formal: &FormalParameter| {
                broken.is_some_and(|broken| match &broken.kind {
                    FormalType::Parameter(_) => formal.kind == broken.kind,
                    FormalType::Literal(_) => formal.name == broken.name,
                })
            };
            let shared: Vec<String> = parts
                .input_names
                .iter()
                .enumerate()
                .filter(|(position, _)| spec.input_at(*position).is_some_and(shares))
                .map(|(_, name)| name.clone())
                .collect();
            for given in parts.inputs.iter_mut().filter(|given| shared.contains(&given.name)) {
                retype(given, value_type);
            }
        }
        Violation::BoundType { attribute, element } => {
            let code = Attribute::Int(i64::from(element.code()));
            for other in parts.attributes.iter_mut().filter(|other| other.name() == attribute) {
                *other = attribute_message(attribute, &code);
            }
        }
        Violation::Missing { at } => {
            if let Some(name) = parts.input_names.get_mut(*at) {
                let name = std::mem::take(name);
                parts.inputs.retain(|input| input.name != name);
            }
        }
        Violation::Fewer { count } => {
            let dropped = parts.input_names.split_off((*count).min(parts.input_names.len()));
            parts.inputs.retain(|input| !dropped.contains(&input.name));
        }
        Violation::Surplus => {
            while parts.input_names.len() < spec.inputs.len() {
                parts.input_names.push(String::new());
            }
            parts.input_names.push("surplus".to_owned());
            parts.inputs.push(Named { name: "surplus".to_owned(), value: tensor_of_zeros(ElementType::Float, &[1]) });
        }
        Violation::SurplusOutput => {
            while parts.output_names.len() < spec.outputs.len() {
                parts.output_names.push(String::new());
            }
            parts.output_names.push("surplus_out".to_owned());
        }
        Violation::UnknownAttribute { name } => parts.attributes.push(attribute_message(name, &Attribute::Int(1))),
        Violation::AttributeType { name, is_float } => {
            let wrong = if *is_float { Attribute::Int(1) } else { Attribute::Float(1.0) };
            let wrong = attribute_message(name, &wrong);
            match parts.attributes.iter_mut().find(|other| other.name() == name) {
                Some(other) => *other = wrong,
                None => parts.attributes.push(wrong),
            }
        }
        Violation::MissingAttribute { name } => parts.attributes.retain(|other| other.name() != name),
        Violation::Mixed { value_type } => {
            let name = parts.input_names.last().cloned().unwrap_or_default();
            for given in parts.inputs.iter_mut().filter(|given| given.name == name) {
                retype(given, value_type);
            }
        }
        Violation::Written { .. } => {}
    }
}

/// Zeros of the type in the shape of what was given, or an empty container.
fn retype(given: &mut Named, value_type: &ValueType) {
    let shape = given.value.as_tensor().map_or(vec![1], |tensor| tensor.shape().to_vec());
    given.value = zeros(value_type, &shape);
}

fn zeros(value_type: &ValueType, shape: &[usize]) -> Value {
    match value_type {
        ValueType::Tensor(element) => tensor_of_zeros(*element, shape),
        ValueType::SparseTensor(element) => {
            let (values, indices) = (small(*element, &[0]), small(ElementType::Int64, &[0]));
            Value::Sparse(Arc::new(SparseTensor { values, indices, shape: vec![1] }))
        }
        ValueType::Sequence(item) => Value::Sequence(Sequence::new((**item).clone(), Vec::new())),
        ValueType::Optional(item) => Value::Optional(Optional { item_type: (**item).clone(), item: None }),
        ValueType::Map(key_type, value_type) => {
            Value::Map(Map { key_type: *key_type, value_type: (**value_type).clone(), entries: Arc::default() })
        }
    }
}

fn tensor_of_zeros(element: ElementType, shape: &[usize]) -> Value {
    Value::Tensor(small(element, shape))
}

fn small(element: ElementType, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let tensor = match element {
        ElementType::String => Tensor::of_strings(shape, &vec![""; count]),
        _ => Tensor::of_integers(element, shape, &vec![0; count]),
    };
    tensor.unwrap_or_else(|error| unreachable!("a small tensor: {error}"))
}
