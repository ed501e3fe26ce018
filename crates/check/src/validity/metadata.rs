//! Metadata: the keys of each `metadata_props` are distinct.

use std::collections::HashSet;

use onnx_conformance_reference::proto::onnx::StringStringEntryProto;

use crate::finding::{Finding, Place};
use crate::infer::{Bodies, BodyId, NodeId};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// A part of a model, other than the model itself, that has `metadata_props`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'m> {
    /// A function, by its name.
    Function(&'m str),
    /// A graph.
    Graph(BodyId),
    /// A node.
    Node(NodeId),
    /// A tensor in an attribute of a node.
    Attribute(NodeId, &'m str),
    /// A declaration in a graph.
    Value(BodyId, &'m str),
    /// An initializer, or the values of a sparse one.
    Initializer(BodyId, &'m str),
}

/// Calls `see` for each part of a model with its entries, which may be none.
pub(super) fn visit<'m>(bodies: &Bodies<'m>, mut see: impl FnMut(Part<'m>, &'m [StringStringEntryProto])) {
    for function in &bodies.model.functions {
        see(Part::Function(function.name()), &function.metadata_props);
    }
    for id in bodies.ids() {
        let body = bodies.body(id);
        for (index, node) in body.nodes().iter().enumerate() {
            let place = NodeId { body: id, index };
            see(Part::Node(place), node.metadata_props());
            for attribute in &node.attribute {
                let sparse = attribute.all_sparse_tensors().filter_map(|sparse| sparse.values.as_ref());
                for tensor in attribute.all_tensors().chain(sparse) {
                    see(Part::Attribute(place, attribute.name()), &tensor.metadata_props);
                }
            }
        }
        let Some(graph) = body.graph() else { continue };
        see(Part::Graph(id), &graph.metadata_props);
        for info in graph.input.iter().chain(&graph.output).chain(&graph.value_info) {
            see(Part::Value(id, info.name()), &info.metadata_props);
        }
        let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
        for tensor in graph.initializer.iter().chain(sparse) {
            see(Part::Initializer(id, tensor.name()), &tensor.metadata_props);
        }
    }
}

/// Checks the metadata of the model, its functions and graphs, and everything in them.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    if let Some(key) = repeated(&bodies.model.metadata_props) {
        context.model(RuleId::ModelMetadataKey, message("the model", key), None);
    }
    visit(bodies, |part, entries| {
        if let Some(key) = repeated(entries) {
            report(context, part, key);
        }
    });
}

/// Adds the finding about a part with a repeated key.
fn report(context: &mut Context<'_, '_>, part: Part<'_>, key: &str) {
    let rule = RuleId::ModelMetadataKey;
    match part {
        Part::Function(name) => context.model(rule, message(&format!("function '{name}'"), key), None),
        Part::Graph(id) => context.body(id, rule, message("the graph", key)),
        Part::Node(id) => context.node(id, rule, message("the node", key), None),
        Part::Attribute(id, name) => context.node(id, rule, message(&format!("attribute '{name}'"), key), None),
        Part::Value(id, name) => report_item(context, id, format!("value '{name}'"), key),
        Part::Initializer(id, name) => report_item(context, id, format!("initializer '{name}'"), key),
    }
}

/// Adds the finding about an item of a graph.
fn report_item(context: &mut Context<'_, '_>, id: BodyId, item: String, key: &str) {
    let text = message(&item, key);
    let place = Place { item: Some(item), ..context.bodies().place(id) };
    context.push(Finding::new(RuleId::ModelMetadataKey, place, text));
}

/// Returns the first key that occurs a second time.
fn repeated(metadata: &[StringStringEntryProto]) -> Option<&str> {
    let mut seen = HashSet::new();
    metadata.iter().map(StringStringEntryProto::key).find(|key| !seen.insert(*key))
}

fn message(owner: &str, key: &str) -> String {
    format!("metadata_props of {owner} has the key '{key}' twice")
}
