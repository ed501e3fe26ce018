//! Summary of a case for its failure: the nodes of its model with their attributes, and its inputs.

use onnx_conformance_cases::case::{Case, Named};
use onnx_conformance_reference::model::text::print_node;
use onnx_conformance_reference::proto::{NodeProto, decode};

/// Maximum number of elements of an input to show, and of a tensor in an attribute.
const MAX_ELEMENTS: usize = 8;

/// Maximum number of nodes to show.
const MAX_NODES: usize = 4;

/// Formats the first nodes of the main graph as ONNX text: `Y = Concat <axis: int = 0> (A, B)`. A node that the syntax cannot express, or
/// with a large tensor, is only named. Empty if the bytes are not a model.
pub(super) fn summarize_nodes(case: &Case) -> String {
    let Ok(model) = decode::model(case.model.clone()) else { return String::new() };
    let nodes = model.graph.as_ref().map_or(&[][..], |graph| graph.node.as_slice());
    let shown = |node: &NodeProto| print_node(node, MAX_ELEMENTS).unwrap_or_else(|_| format!("{} ...", node.op_type()));
    let mut lines: Vec<String> = nodes.iter().take(MAX_NODES).map(shown).collect();
    match nodes.len().saturating_sub(MAX_NODES) {
        0 => {}
        1 => lines.push("... and 1 more node".to_owned()),
        more => lines.push(format!("... and {more} more nodes")),
    }
    lines.join("\n")
}

/// Formats the inputs of the first data set, each with its first elements only.
pub(super) fn summarize_inputs(case: &Case) -> String {
    let shown = |input: &Named| {
        let mut text = format!("{} = {}", input.name, input.value);
        if let Some(tensor) = input.value.as_tensor() {
            text.push(' ');
            // Writing to a string does not fail.
            let _ = tensor.write_elements(&mut text, MAX_ELEMENTS);
        }
        text
    };
    let inputs = case.data.first().map_or(&[][..], |data| &data.inputs);
    inputs.iter().map(shown).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::proto::Message as _;

    use super::*;

    /// Returns the summary of a graph with these nodes.
    fn nodes_of(nodes: &str) -> String {
        let text = format!("<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[2] x) => (float[2] y) {{ {nodes} }}");
        summarize_nodes(&Case::new("a", parse_model(&text).unwrap().encode_to_vec().into(), Vec::new()))
    }

    #[test]
    fn nodes_have_their_attributes() {
        let node = "y = AveragePool <kernel_shape: ints = [2], auto_pad: string = \"VALID\"> (x)";
        assert_eq!(nodes_of(node), node);
        let branches = nodes_of(
            "y = If <then_branch = g () => (z) { z = Neg (x) }, else_branch = h () => (z) { z = Abs (x) }> (c)",
        );
        assert!(branches.contains("z = Neg (x)") && branches.contains("z = Abs (x)"), "{branches}");
    }

    #[test]
    fn a_large_tensor_and_further_nodes_are_left_out() {
        let nodes = "a = Constant <value: tensor = float[9] {1, 2, 3, 4, 5, 6, 7, 8, 9}> () ";
        assert_eq!(nodes_of(&format!("{nodes} y = Neg (a)")), "Constant ...\ny = Neg (a)");
        let six = nodes_of("a = Neg (x) b = Neg (a) c = Neg (b) d = Neg (c) e = Neg (d) y = Neg (e)");
        assert_eq!(six, "a = Neg (x)\nb = Neg (a)\nc = Neg (b)\nd = Neg (c)\n... and 2 more nodes");
    }

    #[test]
    fn bytes_without_a_model_have_no_nodes() {
        assert_eq!(summarize_nodes(&Case::new("a", vec![0xff; 3].into(), Vec::new())), "");
    }
}
