//! Graphs and heads: models without required parts, versions far in the future, and nodes without a meaning.

use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TrainingInfoProto};
use onnx_conformance_reference::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TypeProto, texts};

use crate::hostile::draft::{Attack, DraftResult, first_node, graph, negation, weight};

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "no_graph",
        says: "a model without a graph",
        make: || negation()?.refused(|model| model.graph = None),
    },
    Attack {
        name: "empty_graph",
        says: "a graph without anything",
        make: || weight()?.changed(|model| model.graph = Some(GraphProto::default())).any(),
    },
    Attack {
        name: "no_nodes_and_outputs",
        says: "a graph with a name and nothing else",
        make: || {
            let named = GraphProto { name: Some("g".to_owned()), ..GraphProto::default() };
            weight()?.changed(|model| model.graph = Some(named)).any()
        },
    },
    Attack {
        name: "no_outputs",
        says: "a graph without outputs",
        make: || weight()?.changed(|model| graph(model).output.clear()).any(),
    },
    Attack {
        name: "output_that_nothing_makes",
        says: "an output that no node makes",
        make: || negation()?.refused(|model| graph(model).node.clear()),
    },
    Attack {
        name: "node_of_nothing",
        says: "a node without operator, inputs and outputs",
        make: || negation()?.refused(|model| graph(model).node.insert(0, NodeProto::default())),
    },
    Attack {
        name: "node_without_outputs",
        says: "a node that makes nothing",
        make: || {
            negation()?
                .changed(|model| {
                    let mut node = graph(model).node.first().cloned().unwrap_or_default();
                    node.output.clear();
                    graph(model).node.insert(0, node);
                })
                .any()
        },
    },
    Attack {
        name: "node_of_1000_outputs",
        says: "a Neg of 1,000 outputs",
        make: || {
            negation()?.refused(|model| {
                first_node(model, |node| node.output.extend((0..999).map(|output| format!("surplus_{output}").into())));
            })
        },
    },
    Attack {
        name: "node_of_1000_inputs",
        says: "a Neg of 1,000 inputs",
        make: || negation()?.refused(|model| first_node(model, |node| node.input = texts(["x"; 1000]))),
    },
    Attack {
        name: "node_without_inputs",
        says: "a Neg of nothing",
        make: || negation()?.refused(|model| first_node(model, |node| node.input.clear())),
    },
    Attack {
        name: "input_without_type",
        says: "an input of the graph without a type",
        make: || negation()?.refused(|model| graph(model).input.iter_mut().for_each(|info| info.r#type = None)),
    },
    Attack {
        name: "input_of_an_empty_type",
        says: "an input of the graph whose type says nothing",
        make: || {
            negation()?.refused(|model| {
                graph(model).input.iter_mut().for_each(|info| info.r#type = Some(TypeProto::default()));
            })
        },
    },
    Attack { name: "no_imports", says: "a model that imports no opset", make: || imports(&[]) },
    Attack { name: "opset_0", says: "opset 0", make: || imports(&[0]) },
    Attack { name: "opset_minus_1", says: "opset -1", make: || imports(&[-1]) },
    Attack { name: "opset_2_to_the_31", says: "opset 2^31, which is -2^31 in 32 bits", make: || imports(&[1 << 31]) },
    Attack {
        name: "opset_13_in_32_bits",
        says: "opset 2^32 + 13, which is 13 in 32 bits",
        make: || imports(&[(1 << 32) + 13]),
    },
    Attack { name: "largest_opset", says: "opset 2^63 - 1", make: || imports(&[i64::MAX]) },
    Attack { name: "two_opsets", says: "opsets 13 and 1 of one domain", make: || imports(&[13, 1]) },
    Attack { name: "no_ir_version", says: "a model without an IR version", make: || ir(None) },
    Attack { name: "ir_version_0", says: "IR version 0", make: || ir(Some(0)) },
    Attack { name: "ir_version_minus_1", says: "IR version -1", make: || ir(Some(-1)) },
    Attack {
        name: "ir_version_7_in_32_bits",
        says: "IR version 2^32 + 7, which is 7 in 32 bits",
        make: || ir(Some((1 << 32) + 7)),
    },
    Attack { name: "largest_ir_version", says: "IR version 2^63 - 1", make: || ir(Some(i64::MAX)) },
    Attack {
        name: "metadata_that_configures",
        says: "metadata by which a runtime may be configured: a library to load, a file to write a profile to",
        make: || {
            let entry = |(key, value): (&str, &str)| StringStringEntryProto {
                key: Some(key.to_owned()),
                value: Some(value.to_owned()),
            };
            let entries = [
                (
                    "ort_config",
                    r#"{"session_options": {"enable_profiling": true, "optimized_model_filepath": "../../owned"}}"#,
                ),
                ("custom_ops_library", "../../../../tmp/evil.so"),
                ("__proto__", "{}"),
            ];
            negation()?.changed(|model| model.metadata_props = entries.map(entry).to_vec()).answered()
        },
    },
    Attack {
        name: "graph_of_itself_in_training",
        says: "information for training whose graphs are those of the model",
        make: || {
            let with_training = |model: &mut ModelProto| {
                let training = TrainingInfoProto {
                    initialization: model.graph.clone(),
                    algorithm: model.graph.clone(),
                    ..TrainingInfoProto::default()
                };
                model.training_info = vec![training];
            };
            negation()?.changed(with_training).any()
        },
    },
];

/// A model that imports these opsets of ONNX's own domain.
fn imports(opsets: &[i64]) -> DraftResult {
    let import = |opset: &i64| OperatorSetIdProto { domain: Some(String::new()), version: Some(*opset) };
    negation()?.refused(|model| model.opset_import = opsets.iter().map(import).collect())
}

/// A model of this IR version.
fn ir(version: Option<i64>) -> DraftResult {
    negation()?.refused(|model| model.ir_version = version)
}
