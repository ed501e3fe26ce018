//! Branches of If: the declared shape of an output must fit the output of both.

use foldhash::{HashMap, HashMapExt as _};
use onnx_conformance_reference::proto::{NodeProto, Text, ValueInfoProto};
use onnx_conformance_reference::spec::DEFAULT_DOMAIN;

use crate::infer::{BodyId, Contradiction, NodeId, contradiction, declared};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// Checks the declared shapes of the outputs of every If.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    for id in bodies.ids() {
        let Some(graph) = bodies.body(id).graph() else { continue };
        let branching: Vec<NodeId> = branching(context, id);
        if branching.is_empty() {
            continue;
        }
        let mut infos: HashMap<&str, &ValueInfoProto> = HashMap::new();
        infos.extend(graph.value_info.iter().chain(&graph.output).map(|info| (info.name(), info)));
        for node in branching {
            if context.is_over() {
                return;
            }
            check_node(context, node, &infos);
        }
    }
}

/// Returns the nodes of a graph that are If.
fn branching(context: &Context<'_, '_>, body: BodyId) -> Vec<NodeId> {
    let bodies = context.bodies();
    let is_if = |node: &NodeProto| {
        let spec = bodies.spec(body, node);
        spec.is_some_and(|spec| spec.version.name == "If" && spec.version.domain == DEFAULT_DOMAIN)
    };
    let nodes = bodies.body(body).nodes().iter().zip(0..);
    nodes.filter(|(node, _)| is_if(node)).map(|(_, index)| NodeId { body, index }).collect()
}

fn check_node(context: &mut Context<'_, '_>, id: NodeId, infos: &HashMap<&str, &ValueInfoProto>) {
    let Some(facts) = context.inferred.node_facts(id) else { return };
    for (at, name) in facts.node.output.iter().map(Text::as_str).enumerate() {
        let Some(info) = infos.get(name) else { continue };
        for (attribute, outputs) in &facts.subgraph_outputs {
            let Some(output) = outputs.get(at) else { continue };
            if let Some(Contradiction::Shape(own, other)) = contradiction(&declared(info), output) {
                let message =
                    format!("output {at} '{name}' is declared with the shape {own}, but {attribute} gives {other}");
                context.node(id, RuleId::SubgraphShape, message, None);
            }
        }
    }
}
