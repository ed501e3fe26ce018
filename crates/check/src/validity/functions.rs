//! Functions of a model: call graph and arguments.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use onnx_conformance_reference::model::graph::plain_domain;
use onnx_conformance_reference::proto::{FunctionProto, ValueInfoProto};
use onnx_conformance_reference::spec::Specs;

use crate::finding::{Finding, PathStep, Place};
use crate::infer::{NodeId, function_name};
use crate::rules::RuleId;
use crate::validity::context::{Context, Groups, more};

/// Checks the functions of a model and their calls.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let model = context.bodies().model;
    if model.functions.is_empty() {
        return;
    }
    for (function, index) in model.functions.iter().zip(0..) {
        check_function(context, function, index);
    }
    check_operators(context);
    check_calls(context);
    check_recursion(context);
}

fn place(function: &FunctionProto) -> Place {
    Place { path: vec![PathStep::Function(function_name(function))], ..Place::default() }
}

fn check_function(context: &mut Context<'_, '_>, function: &FunctionProto, index: usize) {
    let bodies = context.bodies();
    let mut push = |rule, message: String| context.push(Finding::new(rule, place(function), message));
    let key = (plain_domain(function.domain()), function.name(), function.overload());
    if bodies.by_name.get(&key) != Some(&index) {
        push(RuleId::FunctionTwice, "a function with this domain, name and overload is already defined".to_owned());
    }
    let mut names = HashSet::new();
    let attributes = function.attribute.iter().map(String::as_str);
    for attribute in
        attributes.chain(function.attribute_proto.iter().map(onnx_conformance_reference::proto::AttributeProto::name))
    {
        if !names.insert(attribute) {
            push(RuleId::FunctionAttributeTwice, format!("attribute '{attribute}' is declared twice"));
        }
    }
    check_declared_types(context, function, index);
}

/// Checks that the declared types in a function belong to its values, and that each is declared once.
fn check_declared_types(context: &mut Context<'_, '_>, function: &FunctionProto, index: usize) {
    let bodies = context.bodies();
    let Some(body) = bodies.functions.get(index).map(|id| bodies.body(*id)) else { return };
    let mut declared = HashSet::new();
    for name in function.value_info.iter().map(ValueInfoProto::name) {
        let problem = if !declared.insert(name) {
            format!("value_info has two entries for '{name}'")
        } else if !body.names.contains_key(name) {
            format!("value_info has an entry for '{name}', which is no value of the function")
        } else {
            continue;
        };
        let place = Place { item: Some(format!("value '{name}'")), ..place(function) };
        context.push(Finding::new(RuleId::FunctionValueInfo, place, problem));
    }
}

/// Checks that the operators of functions are the same at the versions that the model imports.
fn check_operators(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let mut groups = Groups::new();
    for id in bodies.node_ids() {
        let (Some(function), Some(node)) = (bodies.body(id.body).function, bodies.node(id)) else { continue };
        let domain = plain_domain(node.domain());
        let (Some(spec), Some(&opset)) = (bodies.spec(id.body, node), bodies.imports_of_model().get(domain)) else {
            continue;
        };
        let at_model = Specs::embedded().find(domain, node.op_type(), opset).ok();
        let since = at_model.map(|other| other.version.since);
        if since != Some(spec.version.since) {
            groups
                .add((function, spec.version.qualified(), opset, at_model.map(|other| other.version.qualified())), id);
        }
    }
    for ((_, own, opset, other), node, count) in groups.into_sorted() {
        let found = other.map_or_else(|| "is unknown".to_owned(), |other| format!("is {other}"));
        let message = format!(
            "the operator is {own} in the function, but {found} at opset {opset}, which the model imports{}",
            more(count)
        );
        context.node(node, RuleId::FunctionOpset, message, None);
    }
}

fn check_calls(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    for id in bodies.node_ids() {
        let Some(node) = bodies.node(id) else { continue };
        let Some(function) = bodies.function_of(node).and_then(|index| bodies.model.functions.get(index)) else {
            continue;
        };
        let (inputs, outputs) = (function.input.len(), function.output.len());
        if node.input.len() > inputs {
            let message = format!("the call has {} inputs, but the function has {inputs}", node.input.len());
            context.node(id, RuleId::FunctionArity, message, None);
        }
        if node.output.len() > outputs {
            let message = format!("the call has {} outputs, but the function has {outputs}", node.output.len());
            context.node(id, RuleId::FunctionArity, message, None);
        }
        let has_default = |name: &str| function.attribute_proto.iter().any(|default| default.name() == name);
        for attribute in &node.attribute {
            let name = attribute.name();
            if !has_default(name) && !function.attribute.iter().any(|declared| declared == name) {
                let message = format!("the function has no attribute '{name}'");
                context.node(id, RuleId::FunctionAttribute, message, Some(format!("remove '{name}'")));
            }
        }
        for name in &function.attribute {
            if !node.attribute.iter().any(|attribute| attribute.name() == name) {
                let message = format!("attribute '{name}' of the function has no default and is not set");
                context.node(id, RuleId::FunctionAttributeMissing, message, Some(format!("set '{name}'")));
            }
        }
    }
}

/// Checks for recursion. A function is settled once all functions it calls are settled. One that never settles calls
/// itself or one that does.
fn check_recursion(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    let mut calls: BTreeMap<usize, BTreeSet<usize>> =
        (0..bodies.model.functions.len()).map(|index| (index, BTreeSet::new())).collect();
    let mut callers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut sites: BTreeMap<(usize, usize), NodeId> = BTreeMap::new();
    for id in bodies.node_ids() {
        let (Some(caller), Some(node)) = (bodies.body(id.body).function, bodies.node(id)) else { continue };
        let Some(called) = bodies.function_of(node) else { continue };
        sites.entry((caller, called)).or_insert(id);
        if calls.entry(caller).or_default().insert(called) {
            callers.entry(called).or_default().push(caller);
        }
    }
    let mut settled: Vec<usize> = calls.iter().filter(|(_, called)| called.is_empty()).map(|(at, _)| *at).collect();
    while let Some(function) = settled.pop() {
        calls.remove(&function);
        for caller in callers.remove(&function).unwrap_or_default() {
            if let Some(called) = calls.get_mut(&caller)
                && called.remove(&function)
                && called.is_empty()
            {
                settled.push(caller);
            }
        }
    }
    // From any remaining function, calls lead into a cycle.
    let mut path: Vec<usize> = Vec::new();
    let mut visited = BTreeSet::new();
    let mut next = calls.keys().next().copied();
    while let Some(function) = next.filter(|function| visited.insert(*function)) {
        path.push(function);
        next = calls.get(&function).and_then(|called| called.first().copied());
    }
    let (Some(repeated), Some(&last)) = (next, path.last()) else { return };
    let cycle = path.iter().skip_while(|function| **function != repeated);
    let name = |index: &usize| bodies.model.functions.get(*index).map(function_name).unwrap_or_default();
    let mut names: Vec<String> = cycle.map(name).take(8).collect();
    names.push(name(&repeated));
    let message = format!("functions call each other recursively: {}", names.join(" calls "));
    if let Some(site) = sites.get(&(last, repeated)) {
        context.node(*site, RuleId::FunctionRecursive, message, None);
    }
}
