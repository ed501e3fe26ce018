//! Gradient: the variables that it differentiates by or keeps constant must be independent of each other.

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use onnx_conformance_reference::proto::{AttributeProto, NodeProto, TensorProto, Text};

use crate::infer::{BodyId, NodeId};
use crate::rules::RuleId;
use crate::validity::context::Context;

/// The domain of Gradient.
const DOMAIN: &str = "ai.onnx.preview.training";

/// Checks the names of every Gradient in a graph.
pub(super) fn check(context: &mut Context<'_, '_>) {
    let bodies = context.bodies();
    for id in bodies.ids() {
        let nodes = bodies.body(id).nodes();
        if bodies.body(id).graph().is_none() || !nodes.iter().any(is_gradient) {
            continue;
        }
        for (node, index) in nodes.iter().zip(0..).filter(|(node, _)| is_gradient(node)) {
            check_node(context, NodeId { body: id, index }, node);
        }
    }
}

fn is_gradient(node: &NodeProto) -> bool {
    node.op_type() == "Gradient" && node.domain() == DOMAIN
}

/// Returns the values of the graph that the attributes of a Gradient name.
pub(super) fn named_values(node: &NodeProto) -> impl Iterator<Item = &str> {
    let attributes =
        node.attribute.iter().filter(|found| is_gradient(node) && ["xs", "y", "zs"].contains(&found.name()));
    let texts = attributes.flat_map(|found| found.strings.iter().chain(&found.s));
    texts.filter_map(|text| std::str::from_utf8(text).ok())
}

fn check_node(context: &mut Context<'_, '_>, id: NodeId, node: &NodeProto) {
    let names: Vec<&str> = ["xs", "zs"].into_iter().flat_map(|attribute| names_of(node, attribute)).collect();
    for name in &names {
        if context.is_over() {
            return;
        }
        let others: HashSet<&str> = names.iter().copied().filter(|other| other != name).collect();
        if is_determined(context, id.body, name, &others) {
            let message =
                format!("'{name}' is computed from other names of xs and zs, so it is not independent of them");
            context.node(id, RuleId::NodeConstraint, message, None);
        }
    }
}

/// Returns the names in an attribute.
fn names_of<'m>(node: &'m NodeProto, attribute: &str) -> impl Iterator<Item = &'m str> + use<'m> {
    let found: Option<&AttributeProto> = node.attribute.iter().find(|found| found.name() == attribute);
    found.into_iter().flat_map(|found| &found.strings).filter_map(|text| std::str::from_utf8(text).ok())
}

/// Returns true if nodes of a graph compute a value from initializers and other values alone.
fn is_determined(context: &Context<'_, '_>, body: BodyId, name: &str, others: &HashSet<&str>) -> bool {
    let bodies = context.bodies();
    let body = bodies.body(body);
    let Some(graph) = body.graph() else { return false };
    let constants: HashSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
    let mut producers: HashMap<&str, &NodeProto> = HashMap::new();
    for node in body.nodes() {
        producers.extend(node.output.iter().map(|output| (output.as_str(), node)));
    }
    if !producers.contains_key(name) {
        return false;
    }
    let (mut open, mut seen) = (vec![name], HashSet::new());
    let mut is_used = false;
    while let Some(value) = open.pop() {
        if !seen.insert(value) || constants.contains(value) {
            continue;
        }
        if others.contains(value) {
            is_used = true;
            continue;
        }
        let Some(node) = producers.get(value) else { return false };
        open.extend(node.input.iter().map(Text::as_str).filter(|input| !input.is_empty()));
    }
    is_used
}
