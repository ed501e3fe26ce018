//! Invalid model files for `check` and `convert`: each gets a quick answer, and nothing is half-written.

use std::fs;
use std::io::Write as _;
use std::time::{Duration, Instant};

use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::encode::field;
use onnx_conformance::reference::proto::{Message as _, texts};
use onnx_conformance_check::rules::{Example, RuleId};

use crate::models::{Folder, identity, raw};
use crate::program::call;

/// Creates a model whose last initializer's elements are missing: they are a hole in the file.
fn with_hole(elements: u64) -> (Vec<u8>, u64) {
    let mut model = identity();
    let mut graph = model.graph.take().unwrap();
    graph.node[0].input = texts(["w"]);
    graph.output[0].r#type = None;
    let mut tensor = raw(&[i64::try_from(elements).unwrap()], 0);
    tensor.name = Some("w".to_owned());
    tensor.raw_data = None;
    let length = elements * 4;
    let tensor = [tensor.encode_to_vec(), field(9, length, &[])].concat();
    let initializer = field(5, tensor.len() as u64 + length, &tensor);
    let graph = [graph.encode_to_vec(), initializer].concat();
    let head = [model.encode_to_vec(), field(7, graph.len() as u64 + length, &graph)].concat();
    let whole = head.len() as u64 + length;
    (head, whole)
}

#[test]
fn a_sparse_file_of_ten_gigabytes_is_answered_at_once() {
    let folder = Folder::new();
    let zeros = folder.file("zeros.onnx");
    fs::File::create(&zeros).unwrap().set_len(10 << 30).unwrap();
    let started = Instant::now();
    call(&["check", &zeros]).expect(4, "zeros.onnx");
    call(&["convert", &zeros, "--opset", "12"]).expect(4, "zeros.onnx");
    let (head, length) = with_hole(2560 << 20);
    let path = folder.file("large.onnx");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(&head).unwrap();
    file.set_len(length).unwrap();
    let told = call(&["check", &path]);
    assert!(told.code == 1 && told.out.contains("graph/output-type"), "{told:?}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn graphs_in_ten_thousand_graphs_are_refused_with_their_depth() {
    let mut nested = Vec::new();
    for _ in 0..10_000 {
        let attribute = field(6, nested.len() as u64, &nested);
        let node = field(5, attribute.len() as u64, &attribute);
        nested = field(1, node.len() as u64, &node);
    }
    let folder = Folder::new();
    let path = folder.write("deep.onnx", [vec![8, 8], field(7, nested.len() as u64, &nested)].concat());
    call(&["check", &path]).expect(4, "nest");
    let out = folder.file("out.onnx");
    call(&["convert", &path, "--opset", "12", "-o", &out]).expect(4, "deep.onnx");
    assert!(!folder.path().join("out.onnx").exists());
}

#[test]
fn what_is_no_model_is_unreadable() {
    let folder = Folder::new();
    let whole = identity().encode_to_vec();
    for (name, bytes, says) in [
        ("empty.onnx", Vec::new(), "the file is empty"),
        ("tensor.onnx", raw(&[3], 12).encode_to_vec(), "TensorProto"),
        ("cut.onnx", whole[..whole.len() - 3].to_vec(), "are left"),
        ("model.ort", b"\x20\0\0\0ORTM....".to_vec(), "ORT format"),
        ("text.onnx", b"import numpy\n".to_vec(), "a text"),
    ] {
        let path = folder.write(name, bytes);
        call(&["check", &path]).expect(4, says);
        call(&["convert", &path, "--opset", "12"]).expect(4, name);
    }
}

#[test]
fn a_model_that_cannot_be_is_a_finding_and_a_foreign_domain_is_none() {
    let folder = Folder::new();
    let model = |head: &str, node: &str| {
        let text =
            format!("<ir_version: 8, opset_import: [{head}]> g (float[2] x) => (float[2] y) {{ y = {node} (x) }}");
        parse_model(&text).unwrap().encode_to_vec()
    };
    for (name, rule) in [
        ("zero.onnx", RuleId::OpsetInvalid),
        ("future.onnx", RuleId::OpsetUnknown),
        ("recursive.onnx", RuleId::FunctionRecursive),
    ] {
        let Example::Text(text) = rule.bad() else { panic!("{}: {rule} has no text", rule.place()) };
        let (rule, bytes) = (rule.id(), parse_model(text).unwrap().encode_to_vec());
        let path = folder.write(name, bytes);
        call(&["check", &path]).expect(1, rule);
        let told = call(&["convert", &path, "--opset", "12", "-o", &folder.file("out.onnx")]);
        let is_written = folder.path().join("out.onnx").exists();
        let is_recursive = name == "recursive.onnx";
        assert!(is_written == is_recursive && (told.code == 0) == is_recursive, "{name}: {told:?}");
        assert!(
            !is_recursive || told.out.contains("not verified: the built-in executor does not run the model"),
            "{told:?}"
        );
    }
    let path = folder.write("foreign.onnx", model(r#""" : 13, "com.example" : 1"#, "com.example.Any"));
    call(&["check", &path]).expect(0, "opset/foreign");
    let mut bytes = identity().encode_to_vec();
    let at = bytes.windows(8).position(|window| window == b"Identity").unwrap();
    bytes[at] = 0xff;
    let path = folder.write("bytes.onnx", bytes);
    call(&["check", &path]).expect(1, "file/text");
}
