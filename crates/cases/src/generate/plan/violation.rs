//! Violations: breaking exactly one rule of a valid node.

use std::sync::Arc;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::spec::{FormalParameter, FormalType, OpSpec};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, Optional, Sequence, SparseTensor, Value};

use crate::case::{Level, RefusalKind};
use crate::generate::plan::node_plan::{AttributePlan, InputPlan, NodePlan};
use crate::generate::plan::value_plan::ValuePlan;

/// The violated rule.
#[derive(Clone, Debug)]
pub(crate) enum Violation {
    /// An input of a type outside the constraint, by its position among the formal inputs.
    Type { at: usize, value_type: ValueType },
    /// An attribute that names a type outside the constraint of an output.
    BoundType { attribute: String, element: ElementType },
    /// A required input is omitted: its name is empty.
    Missing { at: usize },
    /// Only `count` inputs.
    Fewer { count: usize },
    /// One input more than the version has.
    Surplus,
    /// One output more than the version has.
    SurplusOutput,
    /// An attribute that the version does not have.
    UnknownAttribute { name: String },
    /// An attribute of another type than the declared one, which may be float.
    AttributeType { name: String, is_float: bool },
    /// A required attribute is omitted.
    MissingAttribute { name: String },
    /// A homogeneous variadic input of two types: the last value has this type.
    Mixed { value_type: ValueType },
}

impl Violation {
    /// Returns the reason for a level below required.
    pub(crate) fn why(&self) -> &'static str {
        match self.level() {
            Level::Required => "",
            _ => "The signature excludes the model, but no sentence says that a runtime refuses it.",
        }
    }

    /// Returns the level of the refusal: required if the node lacks something that the version needs.
    pub(crate) fn level(&self) -> Level {
        match self {
            Violation::Missing { .. } | Violation::Fewer { .. } | Violation::MissingAttribute { .. } => Level::Required,
            Violation::Type { .. }
            | Violation::BoundType { .. }
            | Violation::Surplus
            | Violation::SurplusOutput
            | Violation::UnknownAttribute { .. }
            | Violation::AttributeType { .. }
            | Violation::Mixed { .. } => Level::Recommended,
        }
    }

    /// Returns the kind of the refusal, which its id shows.
    pub(crate) fn kind(&self) -> RefusalKind {
        match self {
            Violation::Missing { .. } | Violation::Fewer { .. } => RefusalKind::MissingInput,
            Violation::Surplus | Violation::SurplusOutput => RefusalKind::Surplus,
            Violation::MissingAttribute { .. } => RefusalKind::MissingAttribute,
            Violation::UnknownAttribute { .. } => RefusalKind::UnknownAttribute,
            Violation::AttributeType { .. } => RefusalKind::AttributeType,
            Violation::Type { .. } | Violation::BoundType { .. } | Violation::Mixed { .. } => RefusalKind::Type,
        }
    }

    /// Breaks the rule in a valid node.
    pub(crate) fn apply(&self, spec: &OpSpec, node: &mut NodePlan) {
        match self {
            Violation::Type { at, value_type } => {
                for name in sharing(spec, *at, node) {
                    retype(node, &name, value_type);
                }
            }
            Violation::BoundType { attribute, element } => {
                let code = Attribute::Int(i64::from(element.code()));
                for other in node.attributes.iter_mut().filter(|other| other.name() == attribute) {
                    *other = AttributePlan::Value(attribute.clone(), code.clone());
                }
            }
            Violation::Missing { at } => {
                if let Some(name) = node.input_names.get_mut(*at) {
                    let name = std::mem::take(name);
                    node.inputs.retain(|input| input.name != name);
                }
            }
            Violation::Fewer { count } => {
                let dropped = node.input_names.split_off((*count).min(node.input_names.len()));
                node.inputs.retain(|input| !dropped.contains(&input.name));
            }
            Violation::Surplus => {
                while node.input_names.len() < spec.inputs.len() {
                    node.input_names.push(String::new());
                }
                node.input_names.push("surplus".to_owned());
                let value = ValuePlan::Written(Value::Tensor(small(ElementType::Float, &[1])));
                node.inputs.push(InputPlan { name: "surplus".to_owned(), value, stream: String::new() });
            }
            Violation::SurplusOutput => {
                while node.output_names.len() < spec.outputs.len() {
                    node.output_names.push(String::new());
                }
                node.output_names.push("surplus_out".to_owned());
            }
            Violation::UnknownAttribute { name } => {
                node.attributes.push(AttributePlan::Value(name.clone(), Attribute::Int(1)));
            }
            Violation::AttributeType { name, is_float } => {
                let value = if *is_float { Attribute::Int(1) } else { Attribute::Float(1.0) };
                let value = AttributePlan::Value(name.clone(), value);
                match node.attributes.iter_mut().find(|other| other.name() == name) {
                    Some(other) => *other = value,
                    None => node.attributes.push(value),
                }
            }
            Violation::MissingAttribute { name } => node.attributes.retain(|other| other.name() != name),
            Violation::Mixed { value_type } => {
                let name = node.input_names.last().cloned().unwrap_or_default();
                retype(node, &name, value_type);
            }
        }
    }
}

/// Returns the names of the inputs that share the type of a formal input. Inputs of one type parameter change together,
/// so that only the type is not allowed.
fn sharing(spec: &OpSpec, at: usize, node: &NodePlan) -> Vec<String> {
    let broken = spec.inputs.get(at);
    let shares = |formal: &FormalParameter| {
        broken.is_some_and(|broken| match &broken.kind {
            FormalType::Parameter(_) => formal.kind == broken.kind,
            FormalType::Literal(_) => formal.name == broken.name,
        })
    };
    let names = node.input_names.iter().enumerate();
    names.filter(|(position, _)| spec.input_at(*position).is_some_and(shares)).map(|(_, name)| name.clone()).collect()
}

/// Replaces an input by zeros of the type in the same shape, or by an empty container.
fn retype(node: &mut NodePlan, name: &str, value_type: &ValueType) {
    for given in node.inputs.iter_mut().filter(|given| given.name == name) {
        let shape = given.value.tensor_shape().unwrap_or(&[1]);
        given.value = ValuePlan::Written(zeros(value_type, shape));
    }
}

fn zeros(value_type: &ValueType, shape: &[usize]) -> Value {
    match value_type {
        ValueType::Tensor(element) => Value::Tensor(small(*element, shape)),
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

fn small(element: ElementType, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let tensor = match element {
        ElementType::String => Tensor::of_strings(shape, &vec![""; count]),
        _ => Tensor::of_integers(element, shape, &vec![0; count]),
    };
    tensor.unwrap_or_else(|error| unreachable!("a small tensor: {error}"))
}
