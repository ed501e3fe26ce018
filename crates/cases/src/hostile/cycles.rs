//! Cycles: nodes and functions that wait for themselves, and calls whose number doubles.

use std::fmt::Write as _;

use onnx_conformance_reference::proto::NodeProto;

use crate::hostile::draft::{Attack, DraftError, DraftResult, ValidModel, first_node, floats, nodes, valid_model};

/// Head of a function in the text syntax.
const FUNCTION: &str = r#"<domain: "f", opset_import: ["" : 15, "f" : 1]>"#;

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "node_reads_itself",
        says: "a node takes its own output",
        make: || plain()?.refused_for("a = Constant <value = float[2] {1, -2}> () y = Add (y, a)"),
    },
    Attack {
        name: "ring_of_2",
        says: "two nodes take each other's outputs",
        make: || plain()?.refused_for("a = Neg (y) y = Neg (a)"),
    },
    Attack { name: "ring_of_10000", says: "10,000 nodes in a ring", make: || ring(10_000) },
    Attack {
        name: "ring_beside_what_is_asked_for",
        says: "two nodes in a ring that no output needs",
        make: || {
            plain()?.refused_for("a = Constant <value = float[2] {1, -2}> () y = Neg (a) b = Add (c, a) c = Neg (b)")
        },
    },
    Attack {
        name: "ring_in_a_subgraph",
        says: "two nodes in a ring, in a branch of If",
        make: || branch()?.refused_for(&if_node("a = Neg (z) z = Neg (a)")),
    },
    Attack {
        name: "ring_through_a_subgraph",
        says: "a branch of If takes the output of the If",
        make: || branch()?.refused_for(&if_node("z = Neg (y)")),
    },
    Attack {
        name: "output_of_the_subgraph_from_the_other_branch",
        says: "a branch of If takes a value that only the other branch has",
        make: || branch()?.refused_for(&if_node("z = Neg (other)")),
    },
    Attack { name: "function_calls_itself", says: "a function calls itself", make: || calls_in_a_ring(1) },
    Attack { name: "functions_call_each_other", says: "two functions call each other", make: || calls_in_a_ring(2) },
    Attack {
        name: "ring_of_1000_functions",
        says: "1,000 functions call each other in a ring",
        make: || calls_in_a_ring(1000),
    },
    Attack {
        name: "chain_of_100_functions",
        says: "100 functions, each of which calls the next, which is valid",
        make: || chain(100, 1),
    },
    Attack {
        name: "chain_of_10000_functions",
        says: "10,000 functions, each of which calls the next, which is valid",
        make: || chain(10_000, 1),
    },
    Attack {
        name: "calls_that_double_14_times",
        says: "14 functions, each of which calls the next twice: 2^14 nodes, which is valid",
        make: || chain(14, 2),
    },
    Attack {
        name: "calls_that_double_60_times",
        says: "60 functions, each of which calls the next twice: 2^60 nodes, none of which does anything",
        make: || chain(60, 2),
    },
    Attack {
        name: "unused_calls_that_double_60_times",
        says: "60 functions, each of which calls the next twice, and a graph that calls none of them",
        make: || {
            let unused = |node: &mut NodeProto| {
                node.op_type = Some("Identity".into());
                node.domain = None;
            };
            chain_model(60, 2)?.changed(|model| first_node(model, unused)).answered()
        },
    },
];

/// A model of constants only: y = -a.
fn plain() -> Result<ValidModel, DraftError> {
    let text = "a = Constant <value = float[2] {1, -2}> () y = Neg (a)";
    nodes(text, ("y", "float[2]", floats(&[2], &[-1.0, 2.0])))
}

/// Returns nodes with an If whose first branch has the nodes of `branch`.
fn if_node(branch: &str) -> String {
    format!(
        "a0 = Constant <value = float[2] {{1, -2}}> () c = Constant <value = bool {{1}}> ()
         y = If (c) <then_branch = t () => (float[2] z) {{ {branch} }},
                     else_branch = e () => (float[2] other) {{ other = Identity (a0) }}>"
    )
}

/// A valid model with an If.
fn branch() -> Result<ValidModel, DraftError> {
    nodes(&if_node("z = Neg (a0)"), ("y", "float[2]", floats(&[2], &[-1.0, 2.0])))
}

/// Ring of this many nodes. One of them computes the output of the graph.
fn ring(nodes: usize) -> DraftResult {
    let mut text = format!("y = Neg (v{}) v0 = Neg (y)", nodes - 2);
    for node in 1..nodes - 1 {
        // Writing to a string does not fail.
        let _ = write!(text, " v{node} = Neg (v{})", node - 1);
    }
    plain()?.refused_for(&text)
}

/// Ring of functions. The graph calls the first one. The control is a chain that is short enough for any runtime.
fn calls_in_a_ring(functions: usize) -> DraftResult {
    let ring = chain_model(functions, 1)?.changed(|model| {
        if let Some(last) = model.functions.last_mut().and_then(|function| function.node.first_mut()) {
            last.op_type = Some("f0".into());
            last.domain = Some("f".into());
        }
    });
    chain_model(functions.min(10), 1)?.refused(|model| *model = ring.model)
}

fn chain(functions: usize, calls: usize) -> DraftResult {
    chain_model(functions, calls)?.answered()
}

/// Chain of functions. Each calls the next one `calls` times in sequence, and the last one calls Identity.
fn chain_model(functions: usize, calls: usize) -> Result<ValidModel, DraftError> {
    let mut text =
        r#"<ir_version: 8, opset_import: ["" : 15, "f" : 1]> g (float[2] x) => (float[2] y) { y = f.f0 (x) }"#
            .to_owned();
    for function in 0..functions {
        let callee = if function + 1 == functions { "Identity".to_owned() } else { format!("f.f{}", function + 1) };
        let body = match calls {
            1 => format!("y = {callee} (x)"),
            _ => format!("a = {callee} (x) y = {callee} (a)"),
        };
        // Writing to a string does not fail.
        let _ = write!(text, " {FUNCTION} f{function} (x) => (y) {{ {body} }}");
    }
    let value = || floats(&[2], &[1.0, -2.0]);
    valid_model(&text, vec![("x", value())], vec![("y", value())])
}
