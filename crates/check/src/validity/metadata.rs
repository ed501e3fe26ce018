//! Metadata: the keys of each `metadata_props` are distinct.

use std::collections::HashSet;

use onnx_conformance_reference::proto::onnx::StringStringEntryProto;

use crate::finding::{Finding, Place};
use crate::infer::{BodyId, NodeId};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the metadata of the model, its functions and graphs, and what they contain.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let model = context.bodies().model;
    if let Some(key) = repeated(&model.metadata_props) {
        context.model(RuleId::ModelMetadataKey, message("the model", key), None);
    }
    for function in &model.functions {
        if let Some(key) = repeated(&function.metadata_props) {
            let text = message(&format!("function '{}'", function.name()), key);
            context.model(RuleId::ModelMetadataKey, text, None);
        }
    }
    for id in context.bodies().ids() {
        let body = context.bodies().body(id);
        for (index, node) in body.nodes().iter().enumerate() {
            if let Some(key) = repeated(node.metadata_props()) {
                let node = NodeId { body: id, index };
                context.node(node, RuleId::ModelMetadataKey, message("the node", key), None);
            }
        }
        let Some(graph) = body.graph() else { continue };
        if let Some(key) = repeated(&graph.metadata_props) {
            context.body(id, RuleId::ModelMetadataKey, message("the graph", key));
        }
        for info in graph.input.iter().chain(&graph.output).chain(&graph.value_info) {
            check_item(context, id, format!("value '{}'", info.name()), &info.metadata_props);
        }
        for tensor in &graph.initializer {
            check_item(context, id, format!("initializer '{}'", tensor.name()), &tensor.metadata_props);
        }
    }
}

/// Checks the metadata of an item of a graph.
fn check_item(context: &mut Context<'_, '_>, id: BodyId, item: String, metadata: &[StringStringEntryProto]) {
    if let Some(key) = repeated(metadata) {
        let text = message(&item, key);
        let place = Place { item: Some(item), ..context.bodies().place(id) };
        context.push(Finding::new(RuleId::ModelMetadataKey, place, text));
    }
}

/// Returns the first key that occurs a second time.
fn repeated(metadata: &[StringStringEntryProto]) -> Option<&str> {
    let mut seen = HashSet::new();
    metadata.iter().map(StringStringEntryProto::key).find(|key| !seen.insert(*key))
}

fn message(owner: &str, key: &str) -> String {
    format!("metadata_props of {owner} has the key '{key}' twice")
}
