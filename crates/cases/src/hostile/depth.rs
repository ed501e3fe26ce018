//! Depth and width: structures that are too deep for the stack, or too wide for a quadratic walk.

use std::fmt::Write as _;

use onnx_conformance_reference::proto::{Message, ModelProto};

use crate::hostile::draft::{Attack, DraftResult, floats, negation, truth, valid_model};
use crate::hostile::wire::{field, head, integer, nest};

/// Field numbers.
mod number {
    pub(super) const MODEL_GRAPH: u32 = 7;
    pub(super) const GRAPH_NODE: u32 = 1;
    pub(super) const GRAPH_NAME: u32 = 2;
    pub(super) const GRAPH_OUTPUT: u32 = 12;
    pub(super) const GRAPH_VALUE_INFO: u32 = 13;
    pub(super) const NODE_INPUT: u32 = 1;
    pub(super) const NODE_OUTPUT: u32 = 2;
    pub(super) const NODE_OPERATOR: u32 = 4;
    pub(super) const NODE_ATTRIBUTE: u32 = 5;
    pub(super) const ATTRIBUTE_NAME: u32 = 1;
    pub(super) const ATTRIBUTE_GRAPH: u32 = 6;
    pub(super) const ATTRIBUTE_TYPE: u32 = 20;
    pub(super) const NAME: u32 = 1;
    pub(super) const TYPE: u32 = 2;
    pub(super) const TYPE_TENSOR: u32 = 1;
    pub(super) const TYPE_SEQUENCE: u32 = 4;
    pub(super) const TYPE_OPTIONAL: u32 = 9;
    pub(super) const ELEMENT: u32 = 1;
}

/// Number of the attribute kind for graphs.
const GRAPH: u64 = 5;

pub(super) const ATTACKS: &[Attack] = &[
    Attack { name: "subgraphs_30", says: "30 graphs in each other, which is valid", make: || subgraphs(30) },
    Attack { name: "subgraphs_100", says: "100 graphs in each other, which is valid", make: || subgraphs(100) },
    Attack { name: "subgraphs_1000", says: "1,000 graphs in each other, which is valid", make: || subgraphs(1000) },
    Attack { name: "subgraphs_10000", says: "10,000 graphs in each other, which is valid", make: || subgraphs(10_000) },
    Attack {
        name: "sequences_of_sequences_30",
        says: "a declared type of 30 sequences in each other",
        make: || types(number::TYPE_SEQUENCE, 30),
    },
    Attack {
        name: "sequences_of_sequences_10000",
        says: "a declared type of 10,000 sequences in each other",
        make: || types(number::TYPE_SEQUENCE, 10_000),
    },
    Attack {
        name: "optionals_of_optionals_10000",
        says: "a declared type of 10,000 optionals in each other",
        make: || types(number::TYPE_OPTIONAL, 10_000),
    },
    Attack { name: "chain_of_1000_nodes", says: "1,000 nodes in a chain, which is valid", make: || chain(1000) },
    Attack { name: "chain_of_20000_nodes", says: "20,000 nodes in a chain, which is valid", make: || chain(20_000) },
    Attack {
        name: "node_of_20000_inputs",
        says: "a Sum of one value 20,000 times, which is valid",
        make: || {
            let names = vec!["x"; 20_000].join(", ");
            let text = format!(
                r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {{ y = Sum ({names}) }}"#
            );
            valid_model(&text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[20e3, -40e3]))])?
                .answered()
        },
    },
    Attack {
        name: "graph_of_1000_outputs",
        says: "1,000 outputs, which is valid",
        make: || {
            let names: Vec<String> = (0..1000).map(|output| format!("o{output}")).collect();
            let declared: Vec<String> = names.iter().map(|name| format!("float[2] {name}")).collect();
            let nodes: Vec<String> = names.iter().map(|name| format!("{name} = Neg (x)")).collect();
            let text = format!(
                r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => ({}) {{ {} }}"#,
                declared.join(", "),
                nodes.join(" ")
            );
            let outputs = names.iter().map(|name| (name.as_str(), floats(&[2], &[-1.0, 2.0]))).collect();
            valid_model(&text, vec![("x", floats(&[2], &[1.0, -2.0]))], outputs)?.answered()
        },
    },
    Attack {
        name: "value_of_10000_readers",
        says: "10,000 nodes that read one value, which is valid",
        make: || {
            let names: Vec<String> = (0..10_000).map(|reader| format!("r{reader}")).collect();
            let nodes: Vec<String> = names.iter().map(|name| format!("{name} = Neg (x)")).collect();
            let text = format!(
                r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {{ {} y = Sum ({}) }}"#,
                nodes.join(" "),
                names.join(", ")
            );
            valid_model(&text, vec![("x", floats(&[2], &[1.0, -2.0]))], vec![("y", floats(&[2], &[-10e3, 20e3]))])?
                .answered()
        },
    },
    Attack {
        name: "opset_imported_100000_times",
        says: "the same opset imported 100,000 times",
        make: || {
            let import = |model: &mut ModelProto| {
                let import = model.opset_import.first().cloned();
                model.opset_import = import.into_iter().cycle().take(100_000).collect();
            };
            negation()?.changed(import).any()
        },
    },
    Attack {
        name: "metadata_of_100000_entries",
        says: "100,000 entries of metadata, which nothing reads, which is valid",
        make: || {
            let entry = [field(1, b"key"), field(2, b"value")].concat();
            negation()?.answered_as(|bytes| [bytes, field(14, &entry).repeat(100_000)].concat())
        },
    },
];

/// A model of nested If branches; the innermost graph negates the input. All conditions hold.
fn subgraphs(levels: usize) -> DraftResult {
    let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x, bool c) => (float[2] y) { y = Neg (x) }"#;
    let inputs = vec![("x", floats(&[2], &[1.0, -2.0])), ("c", truth(true))];
    let valid = valid_model(text, inputs, vec![("y", floats(&[2], &[-1.0, 2.0]))])?;
    let innermost = [field(number::GRAPH_NODE, &negate("z0")), graph_tail("z0")].concat();
    let branch = nest(levels - 1, &innermost, |level, length| {
        let name = format!("z{}", level + 1);
        let (before, behind) = if_node(&name, length);
        (before, [behind, graph_tail(&name)].concat())
    });
    let (before, behind) = if_node("y", branch.len());
    valid.answered_as(|bytes| {
        let mut model = ModelProto::decode(bytes.as_slice()).unwrap_or_default();
        let mut rest = model.graph.take().unwrap_or_default();
        rest.node.clear();
        let graph = [before, branch, behind, rest.encode_to_vec()].concat();
        [model.encode_to_vec(), field(number::MODEL_GRAPH, &graph)].concat()
    })
}

/// Encodes an If as a field of a graph: the bytes before its first branch, and the bytes after it.
fn if_node(output: &str, branch: usize) -> (Vec<u8>, Vec<u8>) {
    let name = field(number::ATTRIBUTE_NAME, b"then_branch");
    let kind = integer(number::ATTRIBUTE_TYPE, GRAPH);
    let graph = head(number::ATTRIBUTE_GRAPH, branch);
    let attribute = name.len() + graph.len() + branch + kind.len();
    let other = format!("other_{output}");
    let other = [field(number::GRAPH_NODE, &negate(&other)), graph_tail(&other)].concat();
    let other = [field(number::ATTRIBUTE_NAME, b"else_branch"), field(number::ATTRIBUTE_GRAPH, &other), kind.clone()];
    let tail = [
        field(number::NODE_ATTRIBUTE, &other.concat()),
        field(number::NODE_INPUT, b"c"),
        field(number::NODE_OUTPUT, output.as_bytes()),
        field(number::NODE_OPERATOR, b"If"),
    ]
    .concat();
    let attribute_head = head(number::NODE_ATTRIBUTE, attribute);
    let node = head(number::GRAPH_NODE, attribute_head.len() + attribute + tail.len());
    ([node, attribute_head, name, graph].concat(), [kind, tail].concat())
}

/// Encodes a node that negates x.
fn negate(output: &str) -> Vec<u8> {
    let fields = [(number::NODE_INPUT, "x"), (number::NODE_OUTPUT, output), (number::NODE_OPERATOR, "Neg")];
    fields.into_iter().flat_map(|(number, text)| field(number, text.as_bytes())).collect()
}

/// Encodes the name of a graph and its single output.
fn graph_tail(output: &str) -> Vec<u8> {
    let info = field(number::NAME, output.as_bytes());
    [field(number::GRAPH_NAME, b"branch"), field(number::GRAPH_OUTPUT, &info)].concat()
}

/// A model with a declared type of this kind, nested `levels` deep, for a value that no node computes.
fn types(kind: u32, levels: usize) -> DraftResult {
    // The innermost type is a tensor of floats.
    let tensor = field(number::TYPE_TENSOR, &integer(number::ELEMENT, 1));
    let nested = nest(levels, &tensor, |_, length| {
        let element = head(number::ELEMENT, length);
        ([head(kind, element.len() + length), element].concat(), Vec::new())
    });
    let info = [field(number::NAME, b"unused"), field(number::TYPE, &nested)].concat();
    negation()?.answered_as(|bytes| {
        let mut model = ModelProto::decode(bytes.as_slice()).unwrap_or_default();
        let graph = model.graph.take().unwrap_or_default().encode_to_vec();
        let graph = [graph, field(number::GRAPH_VALUE_INFO, &info)].concat();
        [model.encode_to_vec(), field(number::MODEL_GRAPH, &graph)].concat()
    })
}

/// Chain of an even number of nodes. Each negates the output of the previous one.
fn chain(nodes: usize) -> DraftResult {
    let mut text = String::from("v1 = Neg (x)");
    for node in 2..nodes {
        // Writing to a string does not fail.
        let _ = write!(text, " v{node} = Neg (v{})", node - 1);
    }
    let text = format!(
        r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) {{ {text} y = Neg (v{}) }}"#,
        nodes - 1
    );
    let value = || floats(&[2], &[1.0, -2.0]);
    valid_model(&text, vec![("x", value())], vec![("y", value())])?.answered()
}
