//! Models that no runtime can run: each is an outcome, never a pass, and never ends the run.

use std::fs;

use onnx_conformance::reference::proto::{Message, ModelProto};
use onnx_conformance::reference::spec::Specs;
use onnx_conformance_cases::case::Random;

use crate::models::{Folder, external, identity, model, node, raw, with_initializer};
use crate::program::call;

/// Runs a folder with a single case and checks its message.
fn fails(model: &[u8], message: &str) {
    let folder = Folder::new();
    folder.add("case", model);
    call(&["run", "--suite", &folder.argument()]).expect(1, message).expect(1, "unexpected: error case");
}

fn refuses(model: &ModelProto, message: &str) {
    fails(&model.encode_to_vec(), message);
}

#[test]
fn a_truncated_model_is_an_error() {
    let whole = with_initializer(raw(&[3], 12)).encode_to_vec();
    let folder = Folder::new();
    for length in 0..whole.len() {
        folder.add(&format!("{length:03}"), &whole[..length]);
    }
    let called = call(&["run", "--by", "operator", "--suite", &folder.argument()]).expect(1, "unexpected: error");
    assert!(!called.out.contains(" pass"), "{}", called.out);
}

#[test]
fn random_bytes_are_an_error() {
    let mut random = Random::new("random bytes");
    let folder = Folder::new();
    for number in 0..64 {
        let bytes: Vec<u8> = (0..200).map(|_| u8::try_from(random.between(0, 255)).unwrap()).collect();
        folder.add(&format!("{number:03}"), &bytes);
    }
    let called = call(&["run", "--suite", &folder.argument()]).expect(1, "not an ONNX message");
    assert!(called.out.contains("64 cases, 64 error"), "{}", called.out);
}

#[test]
fn a_tensor_whose_bytes_and_shape_disagree_is_refused() {
    refuses(&with_initializer(raw(&[3], 11)), "tensor 'c'");
    refuses(&with_initializer(raw(&[3], 16)), "tensor 'c'");
    refuses(&with_initializer(raw(&[-3], 12)), "dimension -3 of [-3] is negative");
}

#[test]
fn dims_that_overflow_are_refused() {
    refuses(&with_initializer(raw(&[i64::MAX, i64::MAX, 2], 12)), "tensor 'c'");
    refuses(&with_initializer(raw(&[1 << 62], 12)), "tensor 'c'");
}

#[test]
fn a_graph_with_a_cycle_is_refused() {
    let nodes =
        vec![node("Sum", &["x", "b"], &["a"]), node("Identity", &["a"], &["b"]), node("Identity", &["b"], &["y"])];
    refuses(&model(13, nodes), "the graph has a cycle");
}

#[test]
fn a_missing_input_is_refused() {
    refuses(&model(13, vec![node("Identity", &["z"], &["y"])]), "input 'z' is not a graph input");
    refuses(&model(13, vec![node("Identity", &[], &["y"])]), "input");
}

#[test]
fn an_input_without_its_file_is_an_error() {
    let folder = Folder::with_identity("case");
    fs::remove_file(folder.path().join("case/test_data_set_0/input_0.pb")).unwrap();
    call(&["run", "--suite", &folder.argument()]).expect(1, "'x'");
}

#[test]
fn an_unknown_operator_is_refused() {
    let folder = Folder::new();
    folder.add("case", &model(13, vec![node("Identitty", &["x"], &["y"])]).encode_to_vec());
    call(&["run", "--suite", &folder.argument()]).expect(1, "ai.onnx has no operator 'Identitty'");
}

#[test]
fn an_opset_newer_than_any_is_refused() {
    let newest = Specs::embedded().newest_opset("").unwrap();
    let (next, nodes) = (newest + 1, vec![node("Identity", &["x"], &["y"])]);
    let message = format!("opset {next} of ai.onnx is unknown; 1 to {newest} are known");
    refuses(&model(next.into(), nodes), &message);
}

#[test]
fn external_data_stays_in_the_models_folder() {
    let outside = Folder::new();
    let secret = outside.write("secret", [0; 12]);
    refuses(&with_initializer(external(&secret)), "must be in the model's folder");
    refuses(&with_initializer(external("../secret")), "leaves the model's folder with '..'");
    refuses(&with_initializer(external("a/../../secret")), "leaves the model's folder with '..'");
    refuses(&with_initializer(external("none")), "none");
}

#[cfg(unix)]
#[test]
fn a_link_that_leaves_the_folder_is_refused() {
    let outside = Folder::new();
    let secret = outside.write("secret", [0; 12]);
    let folder = Folder::new();
    let case = folder.add("case", &with_initializer(external("link")).encode_to_vec());
    std::os::unix::fs::symlink(&secret, case.join("link")).unwrap();
    call(&["run", "--suite", &folder.argument()]).expect(1, "is a link out of the model's folder");
    let case = folder.add("case", &with_initializer(external("folder/secret")).encode_to_vec());
    std::os::unix::fs::symlink(outside.path(), case.join("folder")).unwrap();
    call(&["run", "--suite", &folder.argument()]).expect(1, "is a link out of the model's folder");
}

#[test]
fn external_data_in_the_folder_is_read() {
    let folder = Folder::new();
    let case = folder.add("case", &with_initializer(external("data")).encode_to_vec());
    fs::write(case.join("data"), [0; 12]).unwrap();
    call(&["run", "--suite", &folder.argument()]).expect(0, "1 cases, 1 pass");
    fs::write(case.join("data"), [64; 12]).unwrap();
    fs::write(case.join("other"), "not the model's").unwrap();
    let failures = folder.file("failures");
    call(&["run", "--suite", &folder.argument(), "--failures", &failures]).expect(1, "mismatch case");
    let written = folder.file("failures/case");
    call(&["run", "--suite", &written, "--failures", &folder.file("again")]).expect(1, "mismatch case");
    let names =
        ["data", "manifest.jsonl", "model.onnx", "other"].map(|name| folder.path().join("failures/case").join(name));
    assert_eq!(names.map(|name| name.exists()), [true, true, true, false]);
}

#[cfg(unix)]
#[test]
fn external_data_is_a_regular_file_and_read_as_far_as_it_is_declared() {
    let folder = Folder::new();
    let case = folder.add("case", &with_initializer(external("data")).encode_to_vec());
    let data = case.join("data");
    // A sparse file. Only 12 of its bytes are elements.
    fs::File::create(&data).unwrap().set_len(1 << 40).unwrap();
    let message = "provides 1099511627776 bytes, but the elements take 12";
    let told = call(&["run", "--suite", &folder.argument()]).expect(1, message);
    assert!(told.err.contains("data: is larger than the limit of 2147483648 bytes"), "{told:?}");
    fs::remove_file(&data).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&data).status().unwrap().success());
    call(&["run", "--suite", &folder.argument()]).expect(1, "external data 'data': is not a regular file");
}

#[cfg(unix)]
#[test]
fn an_input_is_a_regular_file() {
    let folder = Folder::with_identity("case");
    let input = folder.path().join("case/test_data_set_0/input_0.pb");
    fs::remove_file(&input).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&input).status().unwrap().success());
    call(&["run", "--suite", &folder.argument()]).expect(4, "input_0.pb: is not a regular file");
}

#[test]
fn an_input_file_that_holds_no_tensor_is_named() {
    let folder = Folder::with_identity("case");
    fs::write(folder.path().join("case/test_data_set_0/input_0.pb"), [0xff; 7]).unwrap();
    call(&["run", "--suite", &folder.argument()]).expect(4, "input_0.pb: not an ONNX message");
}

#[test]
fn one_broken_model_does_not_hide_the_others() {
    let folder = Folder::with_identity("good");
    folder.add("bad", &identity().encode_to_vec()[1..]);
    call(&["run", "--suite", &folder.argument()]).expect(1, "2 cases, 1 pass, 1 error");
}
