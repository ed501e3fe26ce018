//! Types of a node that computes in half precision, by its operator version.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::infer::graphs_of;
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, decode, encode};
use onnx_conformance_reference::spec::{
    AttributeType, DEFAULT_DOMAIN, DefaultValue, FormalParameter, FormalType, OpSpec, OperatorVersion, Specs,
};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;

use super::reason::FloatReason;
use super::weights::Rounded;
use crate::convert::attributes::{int, set, tensor};
use crate::facts::{NodeFacts, ValueFact};
use crate::infer::output_types;

/// Nodes whose subgraphs get their types from the node.
const CONTROL: [&str; 3] = ["If", "Loop", "Scan"];

/// The operator that reinterprets the bits of a value as another type of the same width.
const BIT_CAST: &str = "BitCast";

/// The type of float values before the conversion.
const FLOAT: ValueType = ValueType::Tensor(ElementType::Float);

/// Types of a node in half precision.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTypes {
    /// True for each input that is read in half precision.
    pub(super) inputs: Vec<bool>,
    /// True for each output that is computed in half precision.
    pub(super) outputs: Vec<bool>,
    /// The attribute that selects the type.
    pub(super) attribute: Option<AttributeProto>,
}

/// True if a node reads a single float value and computes none, so it takes either type.
pub(super) fn takes_either(facts: &NodeFacts<'_>) -> bool {
    let floats = |facts: &[Option<ValueFact>]| facts.iter().flatten().filter(|fact| is_float(fact)).count();
    floats(&facts.inputs) == 1 && floats(&facts.outputs) == 0
}

/// True if the fact describes a float tensor.
pub(super) fn is_float(fact: &ValueFact) -> bool {
    fact.value_type.as_ref() == Some(&FLOAT)
}

/// True if the fact describes a sequence or an optional with float tensors in it.
fn contains_floats(fact: &ValueFact) -> bool {
    let contained = fact.value_type.as_ref().filter(|value_type| !matches!(value_type, ValueType::Tensor(_)));
    contained.is_some_and(|value_type| value_type.element_type() == ElementType::Float)
}

/// True if a version of Cast selects the type by number, and takes it.
pub(super) fn is_cast_to(cast: &OpSpec, element: ElementType) -> bool {
    let is_number = cast.attributes.get("to").is_some_and(|to| to.kind == AttributeType::Int);
    is_number && cast.output_at(0).is_some_and(|formal| takes(cast, formal, element))
}

/// Returns the types of a node in half precision, or the reason why it cannot have it.
pub(super) fn half_types(
    facts: &NodeFacts<'_>,
    spec: &'static OpSpec,
    half: ElementType,
) -> Result<NodeTypes, FloatReason> {
    if facts.node.attribute.iter().any(|attribute| graphs_of(attribute) > 0) {
        return control_types(facts, spec, half);
    }
    if spec.version.domain == DEFAULT_DOMAIN && spec.version.name == BIT_CAST {
        return Err(FloatReason::Bits);
    }
    let inputs = half_inputs(facts, spec, half)?;
    let as_half = |(fact, is_half): (&Option<ValueFact>, &bool)| match fact {
        Some(fact) if *is_half => Some(ValueFact {
            value_type: Some(ValueType::Tensor(half)),
            shape: fact.shape.clone(),
            ..ValueFact::default()
        }),
        fact => fact.clone(),
    };
    // A sequence keeps its items in float, and so does a node that puts a value into one. The type is not to blame, unless the
    // operator takes no such tensor.
    let has_sequence = facts.inputs.iter().chain(&facts.outputs).flatten().any(contains_floats);
    let reads_float = facts.inputs.iter().flatten().any(is_float);
    let in_float = || {
        let is_by_sequence = has_sequence && (inputs.contains(&true) || !reads_float);
        if is_by_sequence { FloatReason::Sequence } else { excluded(facts, spec, half) }
    };
    if has_sequence && inputs.contains(&true) {
        return Err(in_float());
    }
    let given: Vec<Option<ValueFact>> = facts.inputs.iter().zip(&inputs).map(as_half).collect();
    let types = |node: &NodeProto| output_types(node, spec, facts.opset, &given);
    let is_half = |types: &[Option<ValueType>]| types.first() == Some(&Some(ValueType::Tensor(half)));
    let mut found = types(facts.node);
    let mut attribute = None;
    let is_first_float = facts.outputs.first().is_some_and(|fact| fact.as_ref().is_some_and(is_float));
    if is_first_float && found.as_deref().is_none_or(|types| !is_half(types)) {
        for candidate in type_attributes(facts.node, spec, half)? {
            let mut node = facts.node.clone();
            set(&mut node, candidate.clone());
            if let Some(types) = types(&node).filter(|types| is_half(types)) {
                (found, attribute) = (Some(types), Some(candidate));
                break;
            }
        }
    }
    let outputs = found.and_then(|types| half_outputs(facts, &types, half));
    let Some(outputs) = outputs else { return Err(in_float()) };
    let is_changed = inputs.iter().chain(&outputs).any(|is_half| *is_half);
    if !is_changed {
        return Err(in_float());
    }
    Ok(NodeTypes { inputs, outputs, attribute })
}

fn takes(spec: &OpSpec, formal: &FormalParameter, element: ElementType) -> bool {
    spec.allowed(&formal.kind).contains(&ValueType::Tensor(element))
}

/// True if a formal parameter takes no float type but `float`.
fn demands_float(spec: &OpSpec, formal: &FormalParameter) -> bool {
    let others = [ElementType::Double, ElementType::Float16, ElementType::Bfloat16];
    matches!(formal.kind, FormalType::Literal(_)) || !others.iter().any(|other| takes(spec, formal, *other))
}

/// Returns for each input whether it is read in half precision.
fn half_inputs(facts: &NodeFacts<'_>, spec: &OpSpec, half: ElementType) -> Result<Vec<bool>, FloatReason> {
    let mut inputs = Vec::new();
    for (position, fact) in facts.inputs.iter().enumerate() {
        let Some((formal, fact)) = spec.input_at(position).zip(fact.as_ref()) else {
            inputs.push(false);
            continue;
        };
        if fact.value_type.is_none() && takes(spec, formal, ElementType::Float) {
            let name = facts.node.input.get(position).map_or_else(String::new, ToString::to_string);
            return Err(FloatReason::UnknownType(name));
        }
        let is_half = is_float(fact) && takes(spec, formal, half);
        if is_float(fact) && !is_half && !demands_float(spec, formal) {
            return Err(excluded(facts, spec, half));
        }
        inputs.push(is_half);
    }
    Ok(inputs)
}

/// Returns for each output whether it is computed in half precision; `None` if another type changes.
fn half_outputs(facts: &NodeFacts<'_>, types: &[Option<ValueType>], half: ElementType) -> Option<Vec<bool>> {
    let output = |(fact, new): (&Option<ValueFact>, &Option<ValueType>)| match fact {
        Some(fact) if is_float(fact) => match new {
            Some(ValueType::Tensor(ElementType::Float)) => Some(false),
            Some(ValueType::Tensor(new)) if *new == half => Some(true),
            _ => None,
        },
        Some(fact) => (fact.value_type == *new || new.is_none()).then_some(false),
        None => Some(false),
    };
    facts.outputs.iter().zip(types).map(output).collect()
}

/// Returns the attributes that may select the type of output 0, set to the type.
fn type_attributes(node: &NodeProto, spec: &OpSpec, half: ElementType) -> Result<Vec<AttributeProto>, FloatReason> {
    let float = i64::from(ElementType::Float.code());
    let mut found = Vec::new();
    for (name, attribute) in &spec.attributes {
        let given = node.attribute.iter().find(|given| given.name() == name);
        match (attribute.kind, &attribute.default) {
            (AttributeType::Int, default) => {
                let default = if let Some(DefaultValue::Int(default)) = default { Some(*default) } else { None };
                if given.map_or(default, |given| Some(given.i())) == Some(float) {
                    found.push(int(name, i64::from(half.code())));
                }
            }
            (AttributeType::Tensor, _) => {
                let value = match given {
                    Some(given) => given.t.as_deref().and_then(|value| decode::tensor(value, &NoExternalData).ok()),
                    None => Tensor::zero(ElementType::Float).ok(),
                };
                let value = value.filter(|value| value.element_type() == ElementType::Float);
                match value.and_then(|value| Rounded::new(&value, half)) {
                    Some(rounded) if rounded.overflows > 0 => return Err(FloatReason::Weight(name.clone())),
                    Some(rounded) => found.push(tensor(name, encode::tensor(&rounded.tensor, ""))),
                    None => {}
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Returns the types of a node with subgraphs.
fn control_types(facts: &NodeFacts<'_>, spec: &OpSpec, half: ElementType) -> Result<NodeTypes, FloatReason> {
    if !(spec.version.domain == DEFAULT_DOMAIN && CONTROL.contains(&spec.version.name.as_str())) {
        return Err(FloatReason::Subgraph(spec.version.to_string()));
    }
    let inputs = half_inputs(facts, spec, half)?;
    let unknown = facts.outputs.iter().position(|fact| fact.as_ref().is_some_and(|fact| fact.value_type.is_none()));
    if let Some(name) = unknown.and_then(|position| facts.node.output.get(position)) {
        return Err(FloatReason::UnknownType(name.to_string()));
    }
    let outputs = facts.outputs.iter().map(|fact| fact.as_ref().is_some_and(is_float)).collect::<Vec<bool>>();
    let fits = |(position, is_half): (usize, &bool)| {
        !is_half || spec.output_at(position).is_some_and(|formal| takes(spec, formal, half))
    };
    let is_taken = outputs.iter().enumerate().all(fits);
    if is_taken { Ok(NodeTypes { inputs, outputs, attribute: None }) } else { Err(excluded(facts, spec, half)) }
}

/// Returns the reason for an operator version that does not take the type, with the first opset that does.
fn excluded(facts: &NodeFacts<'_>, spec: &OpSpec, half: ElementType) -> FloatReason {
    let OperatorVersion { domain, name, since } = &spec.version;
    let later = |since: &u32| {
        let version = OperatorVersion::new(domain, name, *since);
        !Specs::is_next(&version)
            && Specs::embedded().get(&version).is_ok_and(|later| {
                let fits = |facts: &[Option<ValueFact>], formal: fn(&OpSpec, usize) -> Option<&FormalParameter>| {
                    let mut floats = facts.iter().enumerate().filter(|(_, fact)| fact.as_ref().is_some_and(is_float));
                    floats.all(|(position, _)| formal(later, position).is_some_and(|formal| takes(later, formal, half)))
                };
                fits(&facts.inputs, OpSpec::input_at) && fits(&facts.outputs, OpSpec::output_at)
            })
    };
    let opset = Specs::embedded().versions(domain, name).filter(|version| version > since).find(later);
    FloatReason::Type {
        version: spec.version.to_string(),
        element: half,
        opset: opset.filter(|_| domain == DEFAULT_DOMAIN),
    }
}
