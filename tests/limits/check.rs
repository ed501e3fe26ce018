//! The check of a model stays within its memory limit, whatever the model contains.

use std::time::{Duration, Instant};

use onnx_conformance::reference::deadline::Deadline;
use onnx_conformance::reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance::reference::proto::onnx::{TensorShapeProto, TypeProto, type_proto};
use onnx_conformance::reference::proto::{
    AttributeProto, FunctionProto, GraphProto, Message as _, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto,
    texts,
};
use onnx_conformance_check::Limits;
use onnx_conformance_report::model_reports::{markdown_report, page, sarif, text};
use onnx_conformance_report::models::{CheckQuestions, NamedModel, examine_source};

use crate::{MEMORY, alone};

/// Memory limit of a check.
const BYTES: usize = 64 << 20;

/// Memory limit of a check and its report in four formats.
const MAX_BYTES: usize = 2 * BYTES;

/// Time limit of a check.
const TIME: Duration = Duration::from_secs(2);

fn import(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(version) }
}

fn node(operator: &str, input: String, output: String) -> NodeProto {
    NodeProto { op_type: Some(operator.into()), input: texts([input]), output: texts([output]), ..NodeProto::default() }
}

fn value(name: &str, dims: Vec<dimension::Value>) -> ValueInfoProto {
    let dim = dims.into_iter().map(|value| Dimension { denotation: None, value: Some(value) }).collect();
    let shape = Some(TensorShapeProto { dim });
    let value = Some(type_proto::Value::TensorType(type_proto::Tensor { elem_type: Some(1), shape }));
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto { denotation: None, value }),
        ..ValueInfoProto::default()
    }
}

fn graph(node: Vec<NodeProto>, input: ValueInfoProto, output: &str) -> GraphProto {
    let output = ValueInfoProto { name: Some(output.to_owned()), ..ValueInfoProto::default() };
    GraphProto { name: Some("g".to_owned()), node, input: vec![input], output: vec![output], ..GraphProto::default() }
}

fn model(graph: GraphProto, functions: Vec<FunctionProto>) -> Vec<u8> {
    let model = ModelProto {
        ir_version: Some(10),
        opset_import: vec![import("", 21), import("l", 1)],
        graph: Some(graph),
        functions,
        ..ModelProto::default()
    };
    model.encode_to_vec()
}

/// Creates a chain of nodes of one operator, each reading the previous one.
fn chain(operator: &str, count: usize) -> Vec<NodeProto> {
    let name = |at: usize| if at == 0 { "x".to_owned() } else { format!("v{at}") };
    (0..count).map(|at| node(operator, name(at), name(at + 1))).collect()
}

/// Creates a chain of Concat nodes, whose results have a shape of their own each.
fn growing(count: usize) -> Vec<NodeProto> {
    let axis =
        AttributeProto { name: Some("axis".to_owned()), r#type: Some(2), i: Some(0), ..AttributeProto::default() };
    let with_x = |node: NodeProto| NodeProto {
        input: texts(["x".to_owned(), node.input[0].to_string()]),
        attribute: vec![axis.clone()],
        ..node
    };
    chain("Concat", count).into_iter().map(with_x).collect()
}

/// Creates nodes that read undefined values.
fn broken(count: usize) -> Vec<NodeProto> {
    (0..count).map(|at| node("Neg", format!("q{at}"), format!("v{}", at + 1))).collect()
}

fn scalar() -> ValueInfoProto {
    value("x", Vec::new())
}

fn function(name: &str, node: Vec<NodeProto>, attribute: Vec<String>) -> FunctionProto {
    FunctionProto {
        name: Some(name.to_owned()),
        domain: Some("l".to_owned()),
        input: vec!["x".to_owned()],
        output: vec!["v1".to_owned()],
        attribute,
        node,
        opset_import: vec![import("", 21)],
        ..FunctionProto::default()
    }
}

fn call(name: &str) -> NodeProto {
    NodeProto { domain: Some("l".into()), ..node(name, "x".to_owned(), "y".to_owned()) }
}

/// Returns models whose names, dimensions, findings or calls multiply, and a text of their report. They once exhausted the
/// memory.
#[expect(clippy::too_many_lines, reason = "a list of attacks")]
fn attacks() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let long = "n".repeat(2 << 20);
    let named = GraphProto { name: Some(long.clone()), ..graph(broken(3000), scalar(), "v1") };
    let sizes = |count: usize| vec![dimension::Value::DimValue(1); count];
    let calls: Vec<NodeProto> = (0..300)
        .map(|at| {
            let attribute = |name: usize| AttributeProto {
                name: Some(format!("a{name}")),
                r#type: Some(2),
                i: Some(if name == 0 { at } else { 1 }),
                ..AttributeProto::default()
            };
            let output = texts([format!("v{}", at + 1)]);
            NodeProto { attribute: (0..50).map(attribute).collect(), output, ..call("f") }
        })
        .collect();
    let attributes = (0..50).map(|name| format!("a{name}")).collect();
    let split = NodeProto {
        output: texts((0..20_000).map(|at| format!("v{at}"))),
        ..node("Split", "x".to_owned(), String::new())
    };
    vec![
        ("a graph's name of 2 MB in 3,000 findings", model(named, Vec::new()), "is read, but never defined"),
        (
            "a function's name of 2 MB in 3,000 findings",
            model(graph(vec![call(&long)], scalar(), "y"), vec![function(&long, broken(3000), Vec::new())]),
            "is read, but never defined",
        ),
        (
            "a dimension's name of 2 MB in 3,000 shapes",
            model(
                graph(chain("Neg", 3000), value("x", vec![dimension::Value::DimParam(long.clone())]), "v3000"),
                Vec::new(),
            ),
            "",
        ),
        (
            "300,000 dimensions in 3,000 shapes",
            model(graph(chain("Neg", 3000), value("x", sizes(300_000)), "v3000"), Vec::new()),
            "",
        ),
        (
            "1,024 dimensions in 10,000 shapes",
            model(graph(chain("Neg", 10_000), value("x", sizes(1024)), "v10000"), Vec::new()),
            "",
        ),
        (
            "1,024 dimensions in 10,000 different shapes",
            model(graph(growing(10_000), value("x", sizes(1024)), "v10000"), Vec::new()),
            "the memory for shapes and constants is exhausted",
        ),
        (
            "1,000 dimensions of 20,000 outputs",
            model(graph(vec![split], value("x", sizes(1000)), "v2"), Vec::new()),
            "",
        ),
        (
            "300 calls with 50 attributes",
            model(graph(calls, scalar(), "v1"), vec![function("f", chain("Neg", 1), attributes)]),
            "",
        ),
        (
            "a rank of 2^31 - 1",
            model(
                graph(
                    vec![node("ConstantOfShape", "s".to_owned(), "y".to_owned())],
                    ValueInfoProto {
                        r#type: Some(TypeProto {
                            denotation: None,
                            value: Some(type_proto::Value::TensorType(type_proto::Tensor {
                                elem_type: Some(7),
                                shape: Some(TensorShapeProto {
                                    dim: vec![Dimension {
                                        denotation: None,
                                        value: Some(dimension::Value::DimValue(i64::from(i32::MAX))),
                                    }],
                                }),
                            })),
                        }),
                        ..value("s", Vec::new())
                    },
                    "y",
                ),
                Vec::new(),
            ),
            "",
        ),
    ]
}

#[test]
fn a_check_stays_within_its_memory() {
    let _alone = alone();
    let wanted = CheckQuestions::default();
    let limits = || {
        let started = Instant::now();
        Limits { bytes: BYTES, deadline: Deadline::new(move || started.elapsed() > TIME), ..Limits::default() }
    };
    // Loads the specs, which are read only once.
    let small = model(graph(chain("Neg", 1), scalar(), "v1"), Vec::new());
    let _ = examine_source(&NamedModel { name: "m.onnx", bytes: &small, folder: None }, &wanted, &limits());
    let mut faults = Vec::new();
    for (what, file, says) in attacks() {
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let file = NamedModel { name: "m.onnx", bytes: &file, folder: None };
        let report = examine_source(&file, &wanted, &limits());
        let reports = std::slice::from_ref(&report);
        let _ = (text(&report), markdown_report(reports), page(reports), sarif(reports).to_string());
        let bytes = MEMORY.peak_usage().saturating_sub(before);
        let is_said = says.is_empty() || report.findings.iter().any(|finding| finding.message.contains(says));
        if bytes > MAX_BYTES || !is_said {
            faults.push(format!("{what}: {bytes} bytes, {}", report.verdict));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
