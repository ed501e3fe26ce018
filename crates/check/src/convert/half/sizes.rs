//! Sizes that a model computes in float, such as those of a resized image. They must be exact, so their nodes stay in float.

use std::collections::HashSet;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::infer::graphs_of;
use onnx_conformance_reference::types::ValueType;

use super::node_types::takes_either;
use super::plan::{Plan, is_onnx};
use super::reason::FloatReason;
use crate::facts::{NodeFacts, ValueFact};
use crate::infer::{Definition, NodeId, ValueId};

/// Keeps the nodes in float that compute integers, or values that a node demands in float, from the sizes of tensors alone.
pub(super) fn keep_sizes(plan: &mut Plan<'_, '_>) {
    let sizes = size_values(plan);
    let mut open: Vec<ValueId> = Vec::new();
    for id in plan.node_ids() {
        let Some(facts) = plan.inferred.node_facts(id) else { continue };
        let is_integer = plan.nodes.contains_key(&id) && takes_either(&facts) && has_integer(&facts);
        let exact = plan.reads(id).into_iter().flatten().filter(|(_, read)| is_integer || *read == ElementType::Float);
        open.extend(exact.map(|(value, _)| value));
    }
    let mut seen = HashSet::new();
    while let Some(value) = open.pop() {
        if !sizes.contains(&value) || !seen.insert(value) {
            continue;
        }
        let Some(id) = producer(plan, value) else { continue };
        open.extend(plan.reads(id).into_iter().flatten().map(|(value, _)| value));
        if plan.nodes.contains_key(&id) {
            plan.compute_in_float(id, FloatReason::Size);
        }
    }
}

fn has_integer(facts: &NodeFacts<'_>) -> bool {
    let is_integer =
        |fact: &ValueFact| matches!(fact.value_type, Some(ValueType::Tensor(element)) if element.is_integer());
    facts.outputs.iter().flatten().any(is_integer)
}

fn producer(plan: &Plan<'_, '_>, value: ValueId) -> Option<NodeId> {
    let site = plan.inferred.bodies.site(value)?;
    match site.definition {
        Definition::Node(index, _) => Some(NodeId { body: site.body, index }),
        Definition::Input(_) | Definition::Initializer(_) | Definition::SparseInitializer(_) => None,
    }
}

/// Returns the values that are computed from shapes and constants alone.
fn size_values(plan: &Plan<'_, '_>) -> HashSet<ValueId> {
    let bodies = &plan.inferred.bodies;
    let (mut sizes, mut constants) = (HashSet::new(), HashSet::new());
    for id in plan.node_ids() {
        let Some(node) = bodies.node(id) else { continue };
        if node.attribute.iter().any(|attribute| graphs_of(attribute) > 0) {
            continue;
        }
        let is_shape = is_onnx(node, "Shape") || is_onnx(node, "Size");
        let inputs: Vec<ValueId> = node.input.iter().filter_map(|name| bodies.lookup(id.body, name)).collect();
        let is_initializer = |value: &ValueId| {
            matches!(bodies.site(*value).map(|site| site.definition), Some(Definition::Initializer(_)))
        };
        let is_fixed =
            inputs.iter().all(|value| sizes.contains(value) || constants.contains(value) || is_initializer(value));
        let is_size = is_shape || (is_fixed && inputs.iter().any(|value| sizes.contains(value)));
        let outputs = node.output.iter().filter_map(|name| bodies.lookup(id.body, name));
        if is_size {
            sizes.extend(outputs);
        } else if is_onnx(node, "Constant") {
            constants.extend(outputs);
        }
    }
    sizes
}
