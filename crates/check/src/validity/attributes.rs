//! Attributes: form, references to a caller's attributes, and enumerated values.

use std::collections::HashSet;

use onnx_conformance_reference::proto::{AttributeProto, NodeProto, decode};
use onnx_conformance_reference::spec::{AttributeType, OpSpec};

use crate::finding::{Finding, PathStep, Place};
use crate::infer::{NodeId, function_name};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the attributes of all nodes, and the defaults of functions.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    for function in &bodies.model.functions {
        for attribute in &function.attribute_proto {
            if let Some(problem) = form_problem(attribute) {
                let item = Some(format!("attribute '{}'", attribute.name()));
                let place = Place { path: vec![PathStep::Function(function_name(function))], node: None, item };
                context.push(Finding::new(RuleId::NodeAttributeForm, place, problem));
            }
        }
    }
    for id in bodies.node_ids() {
        let Some(node) = bodies.node(id).filter(|node| !node.attribute.is_empty()) else { continue };
        check_node(context, id, node);
    }
}

fn check_node(context: &mut Context<'_, '_>, id: NodeId, node: &NodeProto) {
    let bodies = context.bodies();
    let function = bodies.body(id.body).function.and_then(|index| bodies.model.functions.get(index));
    let spec = bodies.spec(id.body, node);
    let mut names = HashSet::new();
    for attribute in &node.attribute {
        let name = attribute.name();
        if !names.insert(name) {
            context.node(id, RuleId::NodeAttributeTwice, format!("duplicate attribute '{name}'"), None);
        }
        if let Some(problem) = form_problem(attribute) {
            context.node(id, RuleId::NodeAttributeForm, format!("attribute '{name}' {problem}"), None);
        }
        match (attribute.ref_attr_name(), function) {
            ("", _) => {}
            (_, None) => {
                let message = format!(
                    "attribute '{name}' refers to an attribute of the caller, but the node is not in a function"
                );
                context.node(id, RuleId::NodeAttributeReference, message, None);
            }
            (other, Some(function)) => {
                let is_default = function.attribute_proto.iter().any(|attribute| attribute.name() == other);
                if !is_default && !function.attribute.iter().any(|declared| declared == other) {
                    let message =
                        format!("attribute '{name}' refers to '{other}', which the function does not declare");
                    context.node(id, RuleId::NodeAttributeReference, message, None);
                }
            }
        }
        if let Some((message, edit)) = spec.and_then(|spec| value_problem(spec, attribute)) {
            context.node(id, RuleId::NodeAttributeValue, message, Some(edit));
        }
    }
}

/// Returns the problem with the form of an attribute, if there is one.
fn form_problem(attribute: &AttributeProto) -> Option<String> {
    if attribute.name().is_empty() {
        return Some("has no name".to_owned());
    }
    let code = attribute.r#type.unwrap_or(0);
    let Some(kind) = AttributeType::from_code(code) else {
        return Some("has no type, or an unknown one".to_owned());
    };
    if !attribute.ref_attr_name().is_empty() {
        return None;
    }
    let is_text = |text: &bytes::Bytes| std::str::from_utf8(text).is_ok();
    if attribute.s.as_ref().is_some_and(|text| !is_text(text)) || !attribute.strings.iter().all(is_text) {
        return Some("contains a string that is not UTF-8".to_owned());
    }
    let stored = stored(attribute);
    let may_be_empty = matches!(kind, AttributeType::Float | AttributeType::Int | AttributeType::String)
        || matches!(
            kind,
            AttributeType::Floats
                | AttributeType::Ints
                | AttributeType::Strings
                | AttributeType::Tensors
                | AttributeType::Graphs
                | AttributeType::SparseTensors
                | AttributeType::TypeProtos
        );
    if stored.is_empty() && may_be_empty {
        return None;
    }
    if !stored.contains(&kind) {
        let stored = stored.first().map_or("nothing".to_owned(), ToString::to_string);
        return Some(format!("has type {kind}, but contains {stored}"));
    }
    if let Some(other) = stored.iter().find(|other| **other != kind) {
        return Some(format!("has type {kind}, but also contains {other}"));
    }
    let types = attribute.all_types();
    types
        .filter_map(|proto| decode::value_type(proto).err())
        .map(|error| format!("contains an invalid type: {error}"))
        .next()
}

/// The types of the values that an attribute holds.
fn stored(attribute: &AttributeProto) -> Vec<AttributeType> {
    use AttributeType as T;
    let all = [
        (T::Float, attribute.f.is_some()),
        (T::Int, attribute.i.is_some()),
        (T::String, attribute.s.is_some()),
        (T::Tensor, attribute.t.is_some()),
        (T::Graph, attribute.g.is_some()),
        (T::SparseTensor, attribute.sparse_tensor.is_some()),
        (T::TypeProto, attribute.tp.is_some()),
        (T::Floats, !attribute.floats.is_empty()),
        (T::Ints, !attribute.ints.is_empty()),
        (T::Strings, !attribute.strings.is_empty()),
        (T::Tensors, !attribute.tensors.is_empty()),
        (T::Graphs, !attribute.graphs.is_empty()),
        (T::SparseTensors, !attribute.sparse_tensors.is_empty()),
        (T::TypeProtos, !attribute.type_protos.is_empty()),
    ];
    all.into_iter().filter(|(_, stored)| *stored).map(|(kind, _)| kind).collect()
}

/// Returns the message and the edit for a string that the operator version does not list.
fn value_problem(spec: &OpSpec, attribute: &AttributeProto) -> Option<(String, String)> {
    if attribute.s.is_none() && attribute.strings.is_empty() {
        return None;
    }
    let name = attribute.name();
    let allowed = spec.facts.values(name);
    let texts = attribute.s.iter().chain(&attribute.strings);
    let mut texts = texts.filter_map(|text| std::str::from_utf8(text).ok());
    let text = texts.find(|text| !spec.allows(name, text))?;
    let message = format!("attribute '{name}' is '{text}', which {} does not allow", spec.version);
    let similar = allowed.iter().find(|allowed| allowed.eq_ignore_ascii_case(text));
    let edit = match similar {
        Some(similar) => format!("use '{similar}'"),
        None => format!("use one of {}", allowed.join(", ")),
    };
    Some((message, edit))
}
