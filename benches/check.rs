//! Cost of checking a large model: time and peak memory. `cargo bench --bench check` prints a line per model and fails if a bound
//! is exceeded.
//!
//! Large files are sparse. Their content does not matter, because a check skips it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use onnx_conformance::check::Limits;
use onnx_conformance::reference::dtype::ElementType;
use onnx_conformance::reference::proto::encode::field;
use onnx_conformance::reference::proto::onnx::StringStringEntryProto;
use onnx_conformance::reference::proto::{
    AttributeProto, GraphProto, Message as _, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
    encode, texts,
};
use onnx_conformance::reference::spec::AttributeType;
use onnx_conformance::reference::tensor::Tensor;
use onnx_conformance::reference::types::ValueType;
use onnx_conformance_report::models::{CheckQuestions, Status, examine};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Number of runs per model; the fastest counts.
const RUNS: usize = 3;

const GIGABYTE: u64 = 1 << 30;

/// A model file, with the bounds and the expected result of its check.
struct Subject {
    about: &'static str,
    path: PathBuf,
    time: Duration,
    megabytes: usize,
    status: Status,
}

#[expect(clippy::print_stdout, reason = "the figures")]
fn main() -> ExitCode {
    let folder = tempfile::tempdir().unwrap();
    let mut is_over = false;
    println!("{:46} {:>14} {:>10} {:>10}", "model", "bytes", "time", "memory");
    for subject in subjects(folder.path()) {
        let bytes = subject.path.metadata().unwrap().len();
        let (mut time, mut peak) = (Duration::MAX, 0);
        for _ in 0..RUNS {
            MEMORY.reset_peak_usage();
            let (before, started) = (MEMORY.current_usage(), Instant::now());
            let report = examine(&subject.path, &CheckQuestions::default(), &Limits::default());
            time = time.min(started.elapsed());
            peak = peak.max(MEMORY.peak_usage().saturating_sub(before));
            assert_eq!(report.status, subject.status, "{}: {}", subject.about, report.verdict);
        }
        let megabytes = peak.div_ceil(1_000_000);
        // Unoptimized builds have no time bound.
        let is_slow = time > subject.time && !cfg!(debug_assertions);
        let note = if is_slow || megabytes > subject.megabytes { "  over the bound" } else { "" };
        is_over |= !note.is_empty();
        println!("{:46} {bytes:>14} {:>7.1} ms {megabytes:>7} MB{note}", subject.about, time.as_secs_f64() * 1e3);
    }
    if is_over { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn subjects(folder: &Path) -> Vec<Subject> {
    let subject = |about, (name, head, length): (&str, Vec<u8>, u64), milliseconds, megabytes, status| {
        let path = folder.join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(&head).unwrap();
        file.set_len(length.max(head.len() as u64)).unwrap();
        Subject { about, path, time: Duration::from_millis(milliseconds), megabytes, status }
    };
    let whole = |name, model: &ModelProto| (name, model.encode_to_vec(), 0);
    let external = external(folder, 100 * GIGABYTE);
    vec![
        subject("1 GB of weights in the file", with_hole("one.onnx", GIGABYTE), 100, 100, Status::Valid),
        subject("10 GB of weights in the file", with_hole("ten.onnx", 10 * GIGABYTE), 100, 100, Status::Valid),
        subject("100 GB of weights beside the file", whole("beside.onnx", &external), 100, 100, Status::Valid),
        subject("100,000 nodes", whole("nodes.onnx", &chain(100_000)), 1_000, 100, Status::Valid),
        subject("1,000,000 nodes", whole("million.onnx", &chain(1_000_000)), 15_000, 500, Status::Valid),
        subject("1,000,000 nodes with names", whole("named.onnx", &layers(1_000_000)), 15_000, 500, Status::Valid),
        subject("10,000 graphs, each in the one before", nested("nested.onnx", 10_000), 100, 100, Status::Unreadable),
        subject("10 GB of zeros", ("zeros.onnx", Vec::new(), 10 * GIGABYTE), 100, 100, Status::Unreadable),
    ]
}

fn info(name: &str) -> ValueInfoProto {
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(encode::value_type(&ValueType::Tensor(ElementType::Float), Some(&[2, 3]))),
        ..ValueInfoProto::default()
    }
}

fn model(graph: Option<GraphProto>) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(17) }],
        graph,
        ..ModelProto::default()
    }
}

fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: Some(operator.into()),
        input: texts(inputs.iter().copied()),
        output: texts([output]),
        ..NodeProto::default()
    }
}

/// Creates a chain of nodes. Each reads the previous one.
fn chain(nodes: usize) -> ModelProto {
    let name = |position: usize| match position {
        0 => "x".to_owned(),
        position if position == nodes => "y".to_owned(),
        position => format!("v{position}"),
    };
    let operators = ["Add", "Mul", "Relu", "Neg"];
    let node = |position: usize| {
        let (input, operator) = (name(position), operators[position % operators.len()]);
        let inputs: &[&str] = if position % operators.len() < 2 { &[&input, "x"] } else { &[&input] };
        node(operator, inputs, &name(position + 1))
    };
    model(Some(GraphProto {
        name: Some("chain".to_owned()),
        node: (0..nodes).map(node).collect(),
        input: vec![info("x")],
        output: vec![info("y")],
        ..GraphProto::default()
    }))
}

/// Creates a chain of named nodes as exporters write them. Some read weights, and some have attributes.
fn layers(nodes: usize) -> ModelProto {
    let operators = ["Add", "Relu", "Mul", "Reshape", "Transpose"];
    let second = ["bias", "", "scale", "shape", ""];
    let output = |position: usize| match position {
        0 => "x".to_owned(),
        position if position == nodes => "y".to_owned(),
        position => format!("/layer.{}/{}_output_0", (position - 1) / 5, operators[(position - 1) % 5]),
    };
    let node = |position: usize| {
        let (operator, second, input) = (operators[position % 5], second[position % 5], output(position));
        let inputs: &[&str] = if second.is_empty() { &[&input] } else { &[&input, second] };
        let is_transpose = operator == "Transpose";
        let perm = AttributeProto {
            name: Some("perm".to_owned()),
            r#type: Some(AttributeType::Ints.code()),
            ints: vec![0, 1],
            ..AttributeProto::default()
        };
        NodeProto {
            name: Some(format!("/layer.{}/{operator}", position / 5).into()),
            attribute: is_transpose.then_some(perm).into_iter().collect(),
            ..node(operator, inputs, &output(position + 1))
        }
    };
    let floats = |name| encode::tensor(&Tensor::of_floats(ElementType::Float, &[3], &[1.0; 3]).unwrap(), name);
    let shape = encode::tensor(&Tensor::from_vec(vec![2], vec![2_i64, 3]).unwrap(), "shape");
    model(Some(GraphProto {
        name: Some("layers".to_owned()),
        node: (0..nodes).map(node).collect(),
        initializer: vec![floats("bias"), floats("scale"), shape],
        input: vec![info("x")],
        output: vec![info("y")],
        ..GraphProto::default()
    }))
}

/// Creates a graph that adds a weight to its input.
fn weighted() -> GraphProto {
    GraphProto {
        name: Some("weighted".to_owned()),
        node: vec![node("Gather", &["w", "x"], "y")],
        input: vec![ValueInfoProto {
            r#type: Some(encode::value_type(&ValueType::Tensor(ElementType::Int64), Some(&[1]))),
            ..info("x")
        }],
        output: vec![ValueInfoProto {
            r#type: Some(encode::value_type(&ValueType::Tensor(ElementType::Float), Some(&[1]))),
            ..info("y")
        }],
        ..GraphProto::default()
    }
}

fn weight(bytes: u64) -> TensorProto {
    TensorProto {
        name: Some("w".to_owned()),
        dims: vec![i64::try_from(bytes / 4).unwrap()],
        data_type: Some(ElementType::Float.code()),
        ..TensorProto::default()
    }
}

/// Creates a model whose weight, the last bytes of the file, is a hole.
fn with_hole(name: &str, bytes: u64) -> (&str, Vec<u8>, u64) {
    let tensor = [weight(bytes).encode_to_vec(), field(9, bytes, &[])].concat();
    let initializer = field(5, tensor.len() as u64 + bytes, &tensor);
    let graph = [weighted().encode_to_vec(), initializer].concat();
    let head = [model(None).encode_to_vec(), field(7, graph.len() as u64 + bytes, &graph)].concat();
    let length = head.len() as u64 + bytes;
    (name, head, length)
}

/// Creates a model whose weight is in a file next to it.
fn external(folder: &Path, bytes: u64) -> ModelProto {
    File::create(folder.join("weights.bin")).unwrap().set_len(bytes).unwrap();
    let entry = StringStringEntryProto { key: Some("location".to_owned()), value: Some("weights.bin".to_owned()) };
    let tensor = TensorProto { data_location: Some(1), external_data: vec![entry], ..weight(bytes) };
    model(Some(GraphProto { initializer: vec![tensor], ..weighted() }))
}

/// Creates nested graphs in attributes of nodes.
fn nested(name: &str, depth: usize) -> (&str, Vec<u8>, u64) {
    let mut nested = Vec::new();
    for _ in 0..depth {
        let attribute = field(6, nested.len() as u64, &nested);
        let node = field(5, attribute.len() as u64, &attribute);
        nested = field(1, node.len() as u64, &node);
    }
    (name, [vec![8, 8], field(7, nested.len() as u64, &nested)].concat(), 0)
}
