//! Function bodies as sentences, one for each node.

use anyhow::{Context as _, Result, bail};
use onnx_conformance_reference::model::text::print_model;
use onnx_conformance_reference::proto::{FunctionProto, GraphProto, Message as _, ModelProto, NodeProto};

/// Elements of the largest constant that is printed. The constants of function bodies have one element or a few.
const MAX_ELEMENTS: usize = 1024;

/// Splits a function body, given in hexadecimal digits, into sentences in ONNX's text syntax. Names of nodes and documentation are
/// omitted, since they change nothing, and the imported opsets if they are those of the body's place.
pub(crate) fn sentences(digits: &str, opset: &str) -> Result<Vec<String>> {
    let function = FunctionProto::decode(bytes(digits)?.as_slice()).context("the bytes are not a FunctionProto")?;
    let mut imports: Vec<String> = function
        .opset_import
        .iter()
        .map(|import| format!("{} {}", canonical(import.domain()), import.version()))
        .collect();
    imports.sort();
    let mut sentences = Vec::new();
    // The oldest packages record no imports.
    if !imports.is_empty() && imports != [format!("ai.onnx {opset}")] {
        sentences.push(format!("opsets: {}", imports.join(", ")));
    }
    for node in function.node {
        let op = node.op_type().to_owned();
        sentences.push(printed(node).with_context(|| format!("cannot print the node {op}"))?);
    }
    Ok(sentences)
}

fn canonical(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

/// Prints a node on one line.
fn printed(mut node: NodeProto) -> Result<String> {
    remove_names(&mut node);
    let graph = GraphProto { name: Some("body".to_owned()), node: vec![node], ..GraphProto::default() };
    let text = print_model(&ModelProto { graph: Some(graph), ..ModelProto::default() }, MAX_ELEMENTS)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    // The node is between the braces of the graph, which has no values.
    let Some((_, text)) = text.split_once("() => () {\n") else { bail!("the model has no graph") };
    let Some((text, _)) = text.rsplit_once('}') else { bail!("the graph has no end") };
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Removes the names of a node and of the nodes of its subgraphs.
fn remove_names(node: &mut NodeProto) {
    node.name = None;
    for attribute in &mut node.attribute {
        for inner in attribute.all_graphs_mut().flat_map(|graph| &mut graph.node) {
            remove_names(inner);
        }
    }
}

/// Reads bytes from their hexadecimal digits.
fn bytes(digits: &str) -> Result<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    pairs.map(|pair| u8::from_str_radix(pair, 16).with_context(|| format!("'{pair}' is not a byte"))).collect()
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::model::text::parse_function;

    use super::*;

    #[test]
    fn a_body_is_its_nodes_and_other_opsets() {
        let text = "<opset_import: [\"\" : 18], domain: \"\"> Twice (x) => (y) {\n\
                    [first] two = Constant <value: tensor = float {2.0}> ()\n  y = Mul (x, two)\n}";
        let function = parse_function(text).unwrap();
        let digits = function.encode_to_vec().iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"));
        let nodes = ["two = Constant <value: tensor = float {2.0}> ()", "y = Mul (x, two)"];
        assert_eq!(sentences(&digits, "18").unwrap(), nodes);
        assert_eq!(sentences(&digits, "17").unwrap(), [&["opsets: ai.onnx 18"], &nodes[..]].concat());
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(sentences("zz", "1").is_err());
        assert!(sentences("ff", "1").is_err());
    }
}
