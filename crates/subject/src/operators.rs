//! Operators of a graph before and after a runtime has optimized it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use onnx_conformance_reference::proto::{AttributeProto, FunctionProto, ModelProto, NodeProto};
use onnx_conformance_reference::spec::canonical_domain;
use serde::{Deserialize, Serialize};

use crate::declaration::deserialize_present;

/// Greatest depth of functions and subgraphs that are counted. Functions that call each other have no end.
const MAX_DEPTH: usize = 32;

/// Number of nodes per operator: `ai.onnx/Transpose`.
pub type OperatorCounts = BTreeMap<String, NonZeroU32>;

/// Nodes of a graph before and after its optimization, by operator.
///
/// Nodes of subgraphs count. A node that calls a function of the model counts as the nodes of the function. A Constant node
/// does not count, since it is an initializer in another form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Operators {
    /// The nodes that the runtime has without optimization: what it does to every graph is no rewrite. By default those of the
    /// model.
    #[serde(default, deserialize_with = "deserialize_present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "OperatorCounts"))]
    pub before: Option<OperatorCounts>,
    /// The nodes that it runs.
    pub after: OperatorCounts,
}

impl Operators {
    /// Returns true if the optimization changed the operators of a model. A graph without inputs is constant, so folding all of it is
    /// no rewrite.
    pub fn are_rewritten(&self, model: &ModelProto) -> bool {
        if self.after.is_empty() && model.graph.as_ref().is_none_or(|graph| graph.input.is_empty()) {
            return false;
        }
        self.before.as_ref().map_or_else(|| self.after != count_operators(model), |before| self.after != *before)
    }
}

/// Counts the nodes of a model by operator, as [`Operators`] describes.
pub fn count_operators(model: &ModelProto) -> OperatorCounts {
    let functions: Functions<'_> = model
        .functions
        .iter()
        .map(|function| ((canonical_domain(function.domain()), function.name()), function))
        .collect();
    let mut counts = OperatorCounts::new();
    let nodes = model.graph.iter().flat_map(|graph| &graph.node);
    nodes.for_each(|node| count(node, &functions, MAX_DEPTH, &mut counts));
    counts
}

/// The functions of a model, by domain and name.
type Functions<'a> = BTreeMap<(&'a str, &'a str), &'a FunctionProto>;

fn count(node: &NodeProto, functions: &Functions<'_>, depth: usize, counts: &mut OperatorCounts) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let (domain, operator) = (canonical_domain(node.domain()), node.op_type());
    if let Some(function) = functions.get(&(domain, operator)) {
        function.node.iter().for_each(|inner| count(inner, functions, depth, counts));
    } else if (domain, operator) != ("ai.onnx", "Constant") {
        let key = format!("{domain}/{operator}");
        counts.entry(key).and_modify(|count| *count = count.saturating_add(1)).or_insert(NonZeroU32::MIN);
    }
    let graphs = node.attribute.iter().flat_map(AttributeProto::all_graphs);
    graphs.flat_map(|graph| &graph.node).for_each(|inner| count(inner, functions, depth, counts));
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;

    use super::*;

    fn counts(entries: &[(&str, u32)]) -> OperatorCounts {
        entries.iter().map(|(name, count)| ((*name).to_owned(), NonZeroU32::new(*count).unwrap())).collect()
    }

    #[test]
    fn nodes_of_subgraphs_and_functions_are_counted() {
        let model = parse_model(
            "<ir_version: 8, opset_import: [\"\": 17, \"local\": 1]>
             g (bool c, float[2] x) => (float[2] y) {
                 two = Constant <value_float = 2.0> ()
                 doubled = local.twice (x)
                 again = local.twice (doubled)
                 y = If (c) <then_branch = a () => (float[2] p) { p = Mul (again, two) },
                             else_branch = b () => (float[2] q) { q = Neg (again) }>
             }
             <domain: \"local\", opset_import: [\"\": 17]> twice (a) => (b) { b = Add (a, a) }",
        )
        .unwrap();
        let expected = counts(&[("ai.onnx/Add", 2), ("ai.onnx/If", 1), ("ai.onnx/Mul", 1), ("ai.onnx/Neg", 1)]);
        assert_eq!(count_operators(&model), expected);
    }

    #[test]
    fn functions_that_call_themselves_end() {
        let model = parse_model(
            "<ir_version: 8, opset_import: [\"\": 17, \"local\": 1]>
             g (float[2] x) => (float[2] y) { y = local.f (x) }
             <domain: \"local\", opset_import: [\"\": 17, \"local\": 1]> f (a) => (c) { b = Neg (a) c = local.f (b) }",
        )
        .unwrap();
        assert_eq!(count_operators(&model).keys().collect::<Vec<_>>(), ["ai.onnx/Neg"]);
    }

    #[test]
    fn a_graph_is_rewritten_if_its_operators_changed() {
        let model = parse_model(
            "<ir_version: 8, opset_import: [\"\": 17]>
             g (float[2, 3] x) => (float[2, 3] y) {
                 t = Transpose <perm = [1, 0]> (x)
                 y = Transpose <perm = [1, 0]> (t)
             }",
        )
        .unwrap();
        let (same, other) = (counts(&[("ai.onnx/Transpose", 2)]), counts(&[("ai.onnx/Identity", 1)]));
        let of = |before: Option<&OperatorCounts>, after: &OperatorCounts| {
            Operators { before: before.cloned(), after: after.clone() }.are_rewritten(&model)
        };
        assert!(!of(None, &same) && of(None, &other));
        assert!(!of(Some(&other), &other) && of(Some(&other), &same), "what a runtime does anyhow is no rewrite");
        assert!(of(None, &OperatorCounts::new()), "the graph became constant");
        let constant = "<ir_version: 8, opset_import: [\"\": 17]> g () => (float y) { c = Constant <value_float = 2.0> () y = Neg (c) }";
        let folded = Operators { before: None, after: OperatorCounts::new() };
        assert!(!folded.are_rewritten(&parse_model(constant).unwrap()), "the graph was constant");
    }
}
