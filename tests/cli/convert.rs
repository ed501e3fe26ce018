//! `convert`: its printed output, written files, and refusals.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message as _, decode};
use onnx_conformance_reference::spec::Specs;

use crate::program::call;

const SUM: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, n] x) => (float[2] y) <int64[1] axes = {1}> { y = ReduceSum <keepdims = 0> (x, axes) }"#;

/// Writes a model into a folder.
fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("model.onnx");
    fs::write(&path, parse_model(text).unwrap().encode_to_vec()).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_model_is_converted_proved_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (written(folder.path(), SUM), folder.path().join("out.onnx"));
    let call = |more: &[&str]| call(&[&["convert", text(&model), "--opset", "12"], more].concat());
    let told = call(&[]).expect(0, "verified: bit-identical outputs on 3 of 3 inputs");
    assert!(
        told.out.starts_with("1 edit\n  model: opset 13 of ai.onnx becomes 12\n  node 0 (ReduceSum): "),
        "{told:?}"
    );
    assert!(!out.exists());
    call(&["--verify", "0", "-o", text(&out)]).expect(0, "not verified: no inputs were requested");
    let converted = decode::model(fs::read(&out).unwrap().into()).unwrap();
    assert_eq!(converted.opset_import[0].version(), 12);
    call(&["-o", text(&out)]).expect(64, "choose another file, or overwrite it with --force");
    call(&["-o", text(&out), "--force"]).expect(0, "wrote ");
    call(&["-o", text(&model), "--force"]).expect(64, "is the model itself");
}

#[test]
fn what_cannot_be_converted_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let model = written(folder.path(), SUM);
    let out = folder.path().join("out.onnx");
    let call = |more: &[&str]| call(&[&["convert", text(&model), "-o", text(&out)], more].concat());
    call(&["--opset", "12", "--relabel-only"]).expect(1, "1 place cannot be converted\n  node 0 (ReduceSum): ");
    call(&["--opset", "99"])
        .expect(64, &format!("ai.onnx has the opsets 1 to {}", Specs::embedded().newest_opset("").unwrap()));
    call(&[]).expect(64, "the target is missing");
    call(&["--opset", "ai.onnx.ml=3"]).expect(64, "the model does not import ai.onnx.ml");
    call(&["--release", "0.1"]).expect(64, "there is no ONNX release 0.1");
    assert!(!out.exists());
    fs::write(&model, "no model").unwrap();
    call(&["--opset", "12"]).expect(4, "is not a model");
}
