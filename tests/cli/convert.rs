//! `convert`: its printed output, written files, and refusals.

use std::fs;
use std::path::{Path, PathBuf};

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message as _, decode};
use onnx_conformance_reference::spec::Specs;
use serde_json::{Value, json};

use crate::check::validate_as;
use crate::program::call;

const SUM: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, n] x) => (float[2] y) <int64[1] axes = {1}> { y = ReduceSum <keepdims = 0> (x, axes) }"#;

/// Writes a model into a folder.
pub(crate) fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("model.onnx");
    fs::write(&path, parse_model(text).unwrap().encode_to_vec()).unwrap();
    path
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> &str {
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
fn the_json_says_how_a_conversion_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (written(folder.path(), SUM), folder.path().join("out.onnx"));
    let json = |code: i32, more: &[&str]| {
        let called = call(&[&["convert", text(&model), "--format", "json"], more].concat()).expect(code, "\"status\"");
        let value: Value = serde_json::from_str(&called.out).unwrap();
        validate_as("convert", &value);
        assert!(called.err.is_empty(), "{value:#} {}", called.err);
        assert!(called.out.starts_with("{\n  \"format\": 1,"), "{}", called.out);
        value
    };
    let converted = json(0, &["--opset", "12", "-o", text(&out)]);
    assert_eq!((&converted["status"], &converted["summary"]), (&"converted".into(), &"1 edit".into()));
    assert_eq!(converted["edits"][0]["text"], "opset 13 of ai.onnx becomes 12");
    assert_eq!((&converted["edits"][1]["place"], &converted["reasons"]), (&"node 0 (ReduceSum)".into(), &json!([])));
    assert_eq!((&converted["verification"]["verified"], &converted["written"]), (&true.into(), &text(&out).into()));
    assert!(out.exists());
    let unverified = json(0, &["--opset", "12", "--verify", "0"]);
    assert_eq!((&unverified["verification"]["verified"], &unverified["written"]), (&false.into(), &Value::Null));
    let refused = json(1, &["--opset", "12", "--relabel-only"]);
    assert_eq!(
        (&refused["status"], &refused["reasons"][0]["place"]),
        (&"refused".into(), &"node 0 (ReduceSum)".into())
    );
    fs::write(&model, "no model").unwrap();
    let unreadable = json(4, &["--opset", "12"]);
    assert_eq!(unreadable["status"], "unreadable");
    assert!(unreadable["summary"].as_str().unwrap().contains("is not a model"), "{unreadable:#}");
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

const DOCUMENTED: &str = r#"<ir_version: 8, opset_import: ["" : 13], doc_string: "about">
    g (float[N, 2] x) => (float[N, 2] y) { y = Neg (x) }"#;

#[test]
fn parts_are_stripped_and_dimensions_get_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (written(folder.path(), DOCUMENTED), folder.path().join("out.onnx"));
    let call = |more: &[&str]| call(&[&["convert", text(&model)], more].concat());
    let told = call(&["--strip", "docs,metadata", "--dim", "N=3", "-o", text(&out)]).expect(0, "wrote");
    let edits =
        "no node changes\n  model: 1 doc_string removed\n  model: dimension N becomes 3 in 2 places\nverified: bit";
    assert!(told.out.starts_with(edits), "{told:?}");
    let plain = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3, 2] x) => (float[3, 2] y) { y = Neg (x) }"#;
    assert_eq!(decode::model(fs::read(&out).unwrap().into()).unwrap(), parse_model(plain).unwrap());
    call(&["--dim", "M=3"]).expect(64, "the model has no dimension named 'M'; it has N");
    call(&["--dim", "N"]).expect(64, "write the name of a dimension and its size, as in N=1");
    call(&["--dim", "N=1", "--dim", "N=2"]).expect(64, "--dim gives two sizes of 'N'; give only one");
    let sum = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[N, 3] x, float[M, 3] w) => (float[N, M] y) { t = Transpose (w) y = MatMul (x, t) }"#;
    let contradiction = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[N, K] x, float[3, M] w) => (float[N, M] y) { y = MatMul (x, w) }"#;
    fs::write(&model, parse_model(sum).unwrap().encode_to_vec()).unwrap();
    call(&["--dim", "M=1"]).expect(0, "dimension M becomes 1 in 2 places");
    fs::write(&model, parse_model(contradiction).unwrap().encode_to_vec()).unwrap();
    let told = call(&["--dim", "K=4"]).expect(1, "  model: dimension K becomes 4 in 1 place");
    assert!(told.out.starts_with("the converted model violates a rule, so it is not written: "), "{told:?}");
}

#[test]
fn a_runtime_chooses_the_opset_and_the_ir_version() {
    let folder = tempfile::tempdir().unwrap();
    let newer = r#"<ir_version: 11, opset_import: ["" : 23]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    let model = written(folder.path(), newer);
    let call = |runtime: &str| call(&["convert", text(&model), "--runtime", runtime]);
    let told = call("onnxruntime@1.20.1").expect(0, "for onnxruntime 1.20.1 (measured ");
    assert!(
        told.out.contains("opset 23 of ai.onnx becomes 21") && told.out.contains("ir_version 11 becomes 10"),
        "{told:?}"
    );
    assert_eq!(call("ort==1.20.1").expect(0, "").out, told.out);
    call("onnxruntime@0.1").expect(64, "--runtime: onnxruntime 0.1 has not been measured; measured versions: ");
    call("nothing").expect(64, "--runtime: no version of nothing has been measured; measured runtimes: ");
}

#[test]
fn a_proof_can_be_required_and_an_invalid_model_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (written(folder.path(), SUM), folder.path().join("out.onnx"));
    let arguments = ["convert", text(&model), "--opset", "12", "--require-proof", "-o", text(&out)];
    call(&[&arguments[..], &["--verify", "0"]].concat())
        .expect(1, "the outputs were not compared, so with --require-proof nothing is written");
    assert!(!out.exists());
    call(&arguments).expect(0, "wrote");
    let unsorted = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x) => (float[2] y) { y = Neg (z) z = Neg (x) }"#;
    fs::write(&model, parse_model(unsorted).unwrap().encode_to_vec()).unwrap();
    let told = call(&["convert", text(&model), "--opset", "12"]).expect(0, "not verified: ");
    assert!(told.out.contains("the model is not valid before the conversion: error value/unsorted"), "{told:?}");
    assert!(told.out.contains("; check --fix corrects it\n"), "{told:?}");
}

/// A model whose weights are in `w.bin`.
const EXTERNAL: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Add (x, w) }"#;

#[test]
fn external_data_is_copied_linked_or_moved_into_the_file() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let model = written(folder.path(), EXTERNAL);
    let weights = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
    fs::write(folder.path().join("w.bin"), &weights).unwrap();
    let (out, data) = (other.path().join("out.onnx"), other.path().join("w.bin"));
    let convert = |more: &[&str]| call(&[&["convert", text(&model), "--opset", "12", "-o", text(&out)], more].concat());
    convert(&[]).expect(64, "write ");
    convert(&["--external", "copy"]).expect(0, "  model: 1 data file is copied");
    assert_eq!(fs::read(&data).unwrap(), weights);
    convert(&["--external", "copy"]).expect(64, "already exists");
    convert(&["--external", "link", "--force"]).expect(0, "  model: 1 data file is linked");
    assert!(same_file::is_same_file(&data, folder.path().join("w.bin")).unwrap());
    call(&["check", text(&out)]).expect(0, "valid");
    fs::remove_file(&data).unwrap();
    let told = convert(&["--external", "inline", "--force"]).expect(0, "verified: bit-identical");
    assert!(told.out.contains("  model: the data of 1 file moves into the model"), "{told:?}");
    let inlined = decode::model(fs::read(&out).unwrap().into()).unwrap();
    assert_eq!(inlined.graph.unwrap().initializer[0].raw_data.as_deref(), Some(weights.as_slice()));
    assert!(!data.exists());
    fs::remove_file(folder.path().join("w.bin")).unwrap();
    convert(&["--external", "copy", "--force"])
        .expect(4, "external data 'w.bin' is not a file in the folder of the model");
}

#[test]
fn external_data_is_not_created_in_the_place_of_the_model_or_of_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let model = written(folder.path(), EXTERNAL);
    let weights = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
    let original = folder.path().join("w.bin");
    fs::write(&original, &weights).unwrap();
    let to = folder.path().join("to");
    let convert = |out: &Path, more: &[&str]| call(&[&["convert", text(&model), "-o", text(out)], more].concat());
    let place = "w.bin is the place of the model's external data 'w.bin'; choose another file";
    convert(&to.join("w.bin"), &["--external", "copy"]).expect(64, place);
    assert!(!to.exists());

    // A hard link is no copy.
    fs::create_dir(&to).unwrap();
    let (out, copy) = (to.join("out.onnx"), to.join("w.bin"));
    fs::hard_link(&original, &copy).unwrap();
    convert(&out, &["--external", "copy"]).expect(64, "already exists");
    let told = convert(&out, &["--external", "copy", "--force"]).expect(0, "wrote");
    assert!(told.out.starts_with("no node changes\n  model: 1 data file is copied\n"), "{told:?}");
    assert_eq!(fs::read(&copy).unwrap(), weights);
    assert!(!same_file::is_same_file(&copy, &original).unwrap());

    // If the model cannot be written, the data of the old one stays.
    fs::write(&copy, [0; 8]).unwrap();
    let mut permissions = fs::metadata(&out).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&out, permissions).unwrap();
    convert(&out, &["--external", "copy", "--force"]).expect(4, "the file is read-only");
    assert_eq!(fs::read(&copy).unwrap(), [0; 8]);

    // If a file cannot be created, those before it and their folders are removed.
    let nested = r#"<ir_version: 8, opset_import: ["" : 13]>
        g () => (float[2] y) <float[2] v = ["location": "a/b/w.bin"], float[2] w = ["location": "c/w.bin"]> { y = Add (v, w) }"#;
    for part in ["a/b", "c"] {
        fs::create_dir_all(folder.path().join(part)).unwrap();
        fs::write(folder.path().join(part).join("w.bin"), &weights).unwrap();
    }
    written(folder.path(), nested);
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("c"), "").unwrap();
    convert(&other.join("out.onnx"), &["--external", "copy"]).expect(4, "cannot create the folder ");
    assert!(!other.join("a").exists() && !other.join("out.onnx").exists());
}

#[cfg(unix)]
#[test]
fn a_link_to_external_data_is_a_link_to_the_file_behind_a_symbolic_link() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let model = written(&home, EXTERNAL);
    fs::write(home.join("blob"), [1.0_f32, 2.0].map(f32::to_le_bytes).concat()).unwrap();
    std::os::unix::fs::symlink("blob", home.join("w.bin")).unwrap();
    call(&["check", text(&model)]).expect(1, "file 'w.bin' is a symbolic link, which onnx does not follow");
    let out = folder.path().join("to/out.onnx");
    call(&["convert", text(&model), "--external", "link", "-o", text(&out)]).expect(0, "wrote");
    assert!(!fs::symlink_metadata(out.with_file_name("w.bin")).unwrap().is_symlink());
    assert!(same_file::is_same_file(out.with_file_name("w.bin"), home.join("blob")).unwrap());
    call(&["check", text(&out)]).expect(0, "valid");
}
