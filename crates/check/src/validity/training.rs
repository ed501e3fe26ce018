//! Training information: its graphs, and the bindings of variables.

use std::collections::HashSet;

use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TrainingInfoProto};
use onnx_conformance_reference::proto::{GraphProto, TensorProto, Text, ValueInfoProto};

use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the training information of the model.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let model = context.bodies().model;
    let mut updated = HashSet::new();
    for (info, number) in model.training_info.iter().zip(0..) {
        if context.is_over() {
            return;
        }
        let place = format!("training information {number}");
        check_initialization(context, &place, info);
        check_keys(context, &place, info);
        let mut initialized = HashSet::new();
        check_unique(
            context,
            &format!("initialization_binding of {place}"),
            &info.initialization_binding,
            &mut initialized,
        );
        // Each algorithm updates variables of its own.
        check_unique(context, &format!("update_binding of {place}"), &info.update_binding, &mut updated);
        if let (Some(graph), Some(algorithm)) = (&model.graph, &info.algorithm) {
            check_algorithm(context, &place, graph, algorithm);
        }
    }
}

/// Checks that the initialization has a graph without inputs, if it has bindings, and that the graph computes their values.
fn check_initialization(context: &mut Context<'_, '_>, place: &str, info: &TrainingInfoProto) {
    let bindings = &info.initialization_binding;
    let Some(graph) = &info.initialization else {
        if !bindings.is_empty() {
            let message = format!("{place} has bindings of an initialization, but no graph that computes their values");
            context.model(RuleId::TrainingInitialization, message, None);
        }
        return;
    };
    if let Some(input) = graph.input.first() {
        let message = format!("the initialization of {place} has the input '{}'; it must have none", input.name());
        context.model(RuleId::TrainingInitialization, message, None);
    }
    let outputs: HashSet<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
    for binding in bindings.iter().filter(|binding| !outputs.contains(binding.value())) {
        let (key, value) = (binding.key(), binding.value());
        let message = format!("'{key}' is bound to '{value}', which is no output of the initialization of {place}");
        context.model(RuleId::TrainingBindingValue, message, None);
    }
}

/// Checks that the keys of bindings are initializers of the main graph or of the algorithm.
fn check_keys(context: &mut Context<'_, '_>, place: &str, info: &TrainingInfoProto) {
    let graphs = context.bodies().model.graph.iter().chain(&info.algorithm);
    let variables: HashSet<&str> = graphs.flat_map(|graph| &graph.initializer).map(TensorProto::name).collect();
    let bindings = info.initialization_binding.iter().chain(&info.update_binding);
    for key in bindings.map(StringStringEntryProto::key).filter(|key| !variables.contains(key)) {
        let message = format!("{place} binds '{key}', which is no initializer of the main graph or the algorithm");
        context.model(RuleId::TrainingBindingKey, message, None);
    }
}

/// Checks that no key occurs a second time.
fn check_unique<'m>(
    context: &mut Context<'_, '_>,
    place: &str,
    bindings: &'m [StringStringEntryProto],
    seen: &mut HashSet<&'m str>,
) {
    for key in bindings.iter().map(StringStringEntryProto::key) {
        if !seen.insert(key) {
            context.model(RuleId::TrainingBindingTwice, format!("{place} binds '{key}' a second time"), None);
        }
    }
}

/// Checks that the nodes of an algorithm read values of the main graph and of the algorithm, and assign to new names.
fn check_algorithm(context: &mut Context<'_, '_>, place: &str, main: &GraphProto, algorithm: &GraphProto) {
    let mut push = |message: String| context.model(RuleId::TrainingAlgorithm, message, None);
    let mut defined: HashSet<&str> = given(main).chain(given(algorithm)).collect();
    defined.extend(main.node.iter().flat_map(|node| &node.output).map(Text::as_str));
    for node in &algorithm.node {
        for name in node.input.iter().map(Text::as_str).filter(|name| !name.is_empty()) {
            if !defined.contains(name) {
                push(format!(
                    "a node in the algorithm of {place} reads '{name}', which neither graph defines before it"
                ));
            }
        }
        for name in node.output.iter().map(Text::as_str).filter(|name| !name.is_empty()) {
            if !defined.insert(name) {
                push(format!("a node in the algorithm of {place} assigns to '{name}', which has a value already"));
            }
        }
    }
    for name in algorithm.output.iter().map(ValueInfoProto::name).filter(|name| !defined.contains(name)) {
        push(format!("no node computes the output '{name}' of the algorithm of {place}"));
    }
}

/// Returns the names of a graph's inputs and initializers.
fn given(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    let tensors = graph.initializer.iter().chain(sparse).map(TensorProto::name);
    graph.input.iter().map(ValueInfoProto::name).chain(tensors)
}
