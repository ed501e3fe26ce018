//! Files that tell others of a run, and what changed between two.

use std::fs;

use crate::models::{Folder, identity};
use crate::program::call;
use onnx_conformance::reference::proto::Message;

#[test]
fn a_run_is_told_in_every_form() {
    let folder = Folder::with_identity("good");
    folder.add("bad", b"no model");
    let [junit, markdown, shields] = ["junit.xml", "summary.md", "badge.json"].map(|name| folder.file(name));
    let failures = folder.file("failures");
    let arguments = ["run", "--suite", &folder.argument(), "--junit", &junit, "--markdown", &markdown];
    call(&[&arguments[..], &["--shields", &shields, "--failures", &failures]].concat())
        .expect(1, "unexpected: error bad");
    let read = |path: &str| fs::read_to_string(path).unwrap();
    assert!(read(&junit).contains("tests=\"2\"") && read(&junit).contains("type=\"error\""), "{}", read(&junit));
    assert!(read(&markdown).contains("| `bad` | error |"), "{}", read(&markdown));
    assert!(read(&shields).contains("50.0 % of 2 cases"), "{}", read(&shields));
    assert!(!folder.path().join("failures/good").exists());
    let written = folder.file("failures/bad");
    call(&["run", "--suite", &written, "--failures", &failures]).expect(1, "1 cases, 1 error");
}

#[test]
fn a_failure_shows_the_rule_the_place_and_the_inputs() {
    let folder = Folder::with_identity("case");
    let zero = onnx_conformance::reference::proto::encode::value(&crate::models::four(), "y");
    fs::write(folder.path().join("case/test_data_set_0/output_0.pb"), zero).unwrap();
    let failures = folder.file("failures");
    let called = call(&["run", "--suite", &folder.argument(), "--failures", &failures]).expect(1, "mismatch case");
    for part in ["output 'y'", "at [2]", "ULP", "allowed", "x = tensor(float)[3] [1.0, 2.0, 3.0]", "run --suite"] {
        assert!(called.out.contains(part), "no {part} in {}", called.out);
    }
    assert!(folder.path().join("failures/case/model.onnx").is_file());
    fs::remove_dir_all(&failures).unwrap();
    fs::write(&failures, "no folder").unwrap();
    let called = call(&["run", "--suite", &folder.argument(), "--failures", &failures]).expect(1, "mismatch case");
    assert!(called.err.contains("what failed cannot be written: ") && called.err.contains("failures"), "{called:?}");
}

#[test]
fn two_runs_are_compared_by_id() {
    let folder = Folder::with_identity("a");
    folder.add("b", b"no model");
    let (old, new) = (folder.file("old.jsonl"), folder.file("new.jsonl"));
    let run = |file: &str| call(&["run", "--suite", &folder.argument(), "--results", file]);
    run(&old).expect(1, "2 cases");
    folder.add("b", &identity().encode_to_vec());
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    folder.add("c", &identity().encode_to_vec());
    run(&new).expect(0, "2 cases");
    let called = call(&["compare", &old, &new]).expect(0, "fixed: b (error -> pass)");
    assert!(called.out.contains("added: c (pass)") && called.out.contains("removed: a (pass)"), "{}", called.out);
    assert!(called.err.contains("different suites"), "{}", called.err);
    call(&["compare", &new, &old]).expect(1, "broken: b (pass -> error)");
    call(&["compare", &old, &new, "--format", "markdown"]).expect(0, "| `b` | error -> pass |");
    let json = call(&["compare", &old, &new, "--format", "json"]).expect(0, "\"fixed\"").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["fixed"][0]["id"], "b");
    call(&["compare", &old, &folder.file("none")]).expect(4, "none");
}
