//! Differences that the version files settle: attribute defaults, set explicitly or omitted, arity and types.

use onnx_conformance_reference::proto::{AttributeProto, Text};
use onnx_conformance_reference::spec::{
    Argument, AttributeType, DefaultValue, FormalParameter, FormalType, NodeSignature, OpSpec, validate,
};

use super::answer::{Step, impossible, unknown};
use super::attributes;
use super::draft::Draft;

/// Attribute of the first versions for buffers that may be overwritten; it has no effect on the result.
const CONSUMED_INPUTS: &str = "consumed_inputs";

/// Converts a node to another version by setting or omitting attributes, or fails if that is not enough.
pub(crate) fn settle(draft: &mut Draft, from: &OpSpec, to: &OpSpec) -> Step {
    for name in from.attributes.keys().filter(|name| !to.attributes.contains_key(*name)) {
        omit(draft, from, to, name)?;
    }
    let same_defaults = draft.take_same_defaults();
    for name in to.attributes.keys().filter(|name| !same_defaults.contains(name)) {
        set_explicitly(draft, from, to, name)?;
    }
    check_texts(draft, from, to)?;
    draft.trim_to_signature(to);
    check_signature(draft, to)?;
    check_types_known(draft, from, to)
}

/// Removes an attribute that the other version does not have; fails unless its value is the default.
fn omit(draft: &mut Draft, from: &OpSpec, to: &OpSpec, name: &str) -> Step {
    let Some(attribute) = draft.node.attribute.iter().find(|attribute| attribute.name() == name) else { return Ok(()) };
    let default = from.attributes.get(name).and_then(|attribute| attribute.default.as_ref());
    if name == CONSUMED_INPUTS {
        draft.edit("attribute consumed_inputs, which has no effect on the result, is removed");
    } else if default.is_some_and(|default| attributes::is_default(attribute, default))
        || has_textual_default(attribute)
    {
        draft.edit(format!("attribute {name}, which has its default value, is removed"));
    } else {
        let value = attributes::value_text(attribute);
        return impossible(format!("{} has no attribute {name}, which is {value} in this node", to.version));
    }
    attributes::remove(&mut draft.node, name);
    Ok(())
}

/// True if an attribute has a default that only the operator's text gives: dilations of 1 along each axis.
fn has_textual_default(attribute: &AttributeProto) -> bool {
    attribute.name() == "dilations" && attribute.ints.iter().all(|dilation| *dilation == 1)
}

/// Sets an omitted attribute explicitly if its default differs.
fn set_explicitly(draft: &mut Draft, from: &OpSpec, to: &OpSpec, name: &str) -> Step {
    let (earlier, Some(attribute)) = (from.attributes.get(name), to.attributes.get(name)) else { return Ok(()) };
    if let Some(given) = draft.node.attribute.iter().find(|given| given.name() == name) {
        return check_kind(given, to, attribute.kind);
    }
    let default = earlier.and_then(|earlier| earlier.default.as_ref());
    match (default, &attribute.default) {
        (Some(before), after) if after.as_ref() != Some(before) => {
            if after.is_none() && !attribute.required && equals_omission(before) {
                return Ok(());
            }
            let value = attributes::from_default(name, before);
            check_kind(&value, to, attribute.kind)?;
            draft.edit(format!(
                "the default of attribute {name}, {}, is set explicitly",
                attributes::value_text(&value)
            ));
            attributes::set(&mut draft.node, value);
            Ok(())
        }
        (None, _) if attribute.required => impossible(format!("{} requires attribute {name}", to.version)),
        (None, Some(after)) if earlier.is_some() => {
            impossible(format!("the default of attribute {name} in {} is {after}", to.version))
        }
        _ => Ok(()),
    }
}

/// True if a default is an empty list, which is equivalent to omitting the attribute.
fn equals_omission(default: &DefaultValue) -> bool {
    match default {
        DefaultValue::Ints(values) => values.is_empty(),
        DefaultValue::Floats(values) => values.is_empty(),
        DefaultValue::Strings(values) => values.is_empty(),
        _ => false,
    }
}

fn check_kind(given: &AttributeProto, to: &OpSpec, kind: AttributeType) -> Step {
    match attributes::kind_of(given) {
        Some(actual) if actual != kind => {
            impossible(format!("attribute {} of {} has type {kind}, not {actual}", given.name(), to.version))
        }
        _ => Ok(()),
    }
}

/// Checks that a string is also allowed in the other version.
fn check_texts(draft: &Draft, from: &OpSpec, to: &OpSpec) -> Step {
    for attribute in &draft.node.attribute {
        let allowed = to.facts.values(attribute.name());
        let texts = attribute.s.iter().chain(&attribute.strings);
        for text in texts.map(|text| String::from_utf8_lossy(text)) {
            let lists =
                |values: &[String]| values.is_empty() || values.iter().any(|value| value.eq_ignore_ascii_case(&text));
            if lists(from.facts.values(attribute.name())) && !lists(allowed) {
                let (name, values) = (attribute.name(), allowed.join(", "));
                return impossible(format!("{} does not support {name}={text}; it supports {values}", to.version));
            }
        }
    }
    Ok(())
}

/// The arguments of one side, with their types if known.
fn arguments(names: &[Text], facts: &[Option<crate::facts::ValueFact>]) -> Vec<Argument> {
    let argument = |(at, name): (usize, &Text)| {
        if name.is_empty() {
            return Argument::Absent;
        }
        let value_type = facts.get(at).and_then(|fact| fact.as_ref()?.value_type.clone());
        value_type.map_or(Argument::Unknown, Argument::Typed)
    };
    names.iter().enumerate().map(argument).collect()
}

/// Checks that the node fits the version.
fn check_signature(draft: &Draft, to: &OpSpec) -> Step {
    if to.deprecated {
        return impossible(format!("{} deprecates the operator", to.version));
    }
    let kinds: Vec<(&str, AttributeType)> = draft
        .node
        .attribute
        .iter()
        .filter_map(|attribute| Some((attribute.name(), attributes::kind_of(attribute)?)))
        .collect();
    let inputs = arguments(&draft.node.input, &draft.inputs);
    let outputs = arguments(&draft.node.output, &draft.outputs);
    match validate(to, NodeSignature { inputs: &inputs, outputs: &outputs, attributes: &kinds }) {
        Ok(_) => Ok(()),
        Err(error) => impossible(error.to_string()),
    }
}

/// Checks that unknown input types are the same in both versions.
fn check_types_known(draft: &Draft, from: &OpSpec, to: &OpSpec) -> Step {
    let unknown_at = |at: &usize| draft.has_input(*at) && draft.fact(*at).value_type.is_none();
    for at in (0..draft.node.input.len()).filter(unknown_at) {
        let (Some(before), Some(after)) = (from.input_at(at), to.input_at(at)) else { continue };
        let (earlier, later) = (from.allowed(&before.kind), to.allowed(&after.kind));
        if earlier.iter().any(|value_type| !later.contains(value_type)) || is_split(from, to, before, after) {
            return unknown(format!(
                "the type of input {at} '{}' is unknown, and {} does not allow every type that {} allows",
                after.name, to.version, from.version
            ));
        }
    }
    Ok(())
}

/// True if inputs may differ in type before but must have the same type after.
fn is_split(from: &OpSpec, to: &OpSpec, before: &FormalParameter, after: &FormalParameter) -> bool {
    let shares = |spec: &OpSpec, kind: &FormalType| spec.inputs.iter().filter(|other| other.kind == *kind).count();
    matches!(after.kind, FormalType::Parameter(_)) && shares(to, &after.kind) > shares(from, &before.kind)
}
