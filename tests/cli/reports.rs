//! Report files of a run, and the comparison of two runs.

use std::fs;

use onnx_conformance::reference::proto::Message;
use onnx_conformance_reference::spec::Specs;

use crate::models::{Folder, identity};
use crate::program::call;
use crate::snapshot::{check, redacted};

#[test]
fn a_run_is_reported_in_every_form() {
    let folder = Folder::with_identity("good");
    folder.add("bad", b"no model");
    let [junit, markdown, badge] = ["junit.xml", "summary.md", "badge.json"].map(|name| folder.file(name));
    let failures = folder.file("failures");
    let reports = [format!("junit={junit}"), format!("markdown={markdown}"), format!("badge={badge}")];
    let suite = folder.argument();
    let mut arguments = vec!["run", "--suite", &suite, "--failures", &failures];
    arguments.extend(reports.iter().flat_map(|report| ["--report", report]));
    call(&arguments).expect(1, "unexpected: error bad");
    for (name, path) in [("report-junit", &junit), ("report-markdown", &markdown), ("report-badge", &badge)] {
        check(name, &redacted(&fs::read_to_string(path).unwrap(), &folder));
    }
    assert!(!folder.path().join("failures/good").exists());
    call(&["run", "--suite", &suite, "--failures", &failures, "--failed"]).expect(1, "1 cases, 1 error");
    fs::remove_dir_all(&failures).unwrap();
    call(&["run", "--suite", &suite, "--failures", &failures, "--failed"])
        .expect(64, "does not exist; a run with unexpected failures writes it");
    call(&["run", "--suite", &suite, "--failures", &failures]).expect(1, "unexpected: error bad");
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
    check("run-mismatch", &redacted(&called.out, &folder));
    for name in ["model.onnx", "manifest.jsonl", "reproduce.py"] {
        assert!(folder.path().join("failures/case").join(name).is_file(), "{name}");
    }
    let readme = fs::read_to_string(folder.path().join("failures/case/README.md")).unwrap();
    assert!(readme.starts_with("# case\n\nbuiltin ") && readme.contains("**mismatch**"), "{readme}");
    let actual = fs::read(folder.path().join("failures/case/actual/test_data_set_0/output_0.pb")).unwrap();
    let given = fs::read(folder.path().join("case/test_data_set_0/input_0.pb")).unwrap();
    assert_eq!(actual.len(), given.len(), "the identity gives its input");
    let again = folder.file("failures/case");
    call(&["run", "--suite", &again, "--failures", &folder.file("again")]).expect(1, "mismatch case");
    fs::remove_dir_all(&failures).unwrap();
    fs::write(&failures, "no folder").unwrap();
    let called = call(&["run", "--suite", &folder.argument(), "--failures", &failures]).expect(1, "mismatch case");
    assert!(called.err.contains("the failures cannot be written: ") && called.err.contains("failures"), "{called:?}");
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

#[test]
fn a_trace_shows_every_value() {
    let celu = &format!("onnx-{}/node/test_celu", Specs::embedded().newest_release());
    let called = call(&["trace", celu]).expect(0, "Y = Celu(X)");
    assert!(called.out.contains("input X = tensor(float)") && called.out.contains("\nexpected\n"), "{called:?}");
    let body = call(&["trace", celu, "--body"]).expect(0, &format!("function body from {celu}_expanded"));
    assert!(body.out.contains(" = Elu(") && !body.out.contains("= Celu("), "{body:?}");
    call(&["trace", "ai.onnx/Sum-13/broadcast_known_values/T=float", "--body"])
        .expect(4, "ai.onnx/Sum-13 has no function body");
    call(&["trace", "ai.onnx/Sum-13/refuse/shapes_do_not_broadcast"]).expect(0, "refused, as required: ");
    call(&["trace", "ai.onnx/Sum-13/broadcast_known_value/T=float"])
        .expect(64, "did you mean 'ai.onnx/Sum-13/broadcast_known_values/T=float'?");
}

#[test]
fn a_name_that_selects_nothing_is_corrected() {
    call(&["list", "ai.onnx/Sofmax-13/**"]).expect(3, "did you mean 'ai.onnx/Softmax-13'?");
    call(&["diff", "Sofmax", "1", "13"]).expect(0, "'Sofmax' is read as Softmax; no other name is that similar");
    call(&["diff", "Sftmx", "1", "13"]).expect(64, "did you mean 'Softmax'?");
    call(&["run", "--report", "html=a"]).expect(64, "expected junit=FILE, markdown=FILE or badge=FILE");
}

#[test]
fn two_measured_versions_are_compared_by_behaviour() {
    let versions = ["compare", "onnxruntime@1.31.1", "onnxruntime@1.32.0"];
    let markdown = call(&[&versions[..], &["--format", "markdown"]].concat()).expect(1, "### fixed: ").out;
    let (head, _) = markdown.split_once("\n### fixed: ").unwrap();
    check("compare-versions", head);
    let text = call(&versions).expect(1, "\nbroken: ").out;
    assert!(text.contains("; --all prints everything"), "{text}");
    let all = call(&[&versions[..], &["--all"]].concat()).expect(1, "\nnewly taken: ").out;
    assert!(all.lines().count() > text.lines().count() && !all.contains("--all"), "{all}");
    let json = call(&[&versions[..], &["--format", "json"]].concat()).expect(1, "\"broken\"").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let cases = |kind: &str| json[kind]["cases"].as_u64().unwrap();
    assert!(text.contains(&format!("{} are broken, {} fixed, ", cases("broken"), cases("fixed"))), "{text}");
    call(&["compare", "expectations/onnxruntime/1.32.0.yaml", "onnxruntime@1.32.0"])
        .expect(0, " 0 are broken, 0 fixed, ");
}

#[test]
fn a_run_is_compared_with_a_measured_version() {
    let folder = Folder::new();
    let results = folder.file("results.jsonl");
    call(&["run", "ai.onnx/Abs-13/**", "--results", &results]).expect(0, " pass");
    let called = call(&["compare", "onnxruntime@1.32.0", &results]).expect(0, "\nfixed: ");
    let head = called.out.lines().next().unwrap();
    assert!(head.starts_with("onnxruntime 1.32.0 (") && head.contains(") -> builtin "), "{head}");
    assert!(!called.err.contains("another suite"), "{}", called.err);
    call(&["run", "ai.onnx/Abs-13/known_values", "--variant", "constants", "--results", &results])
        .expect(3, "8 not-applicable");
    call(&["compare", &results, "onnxruntime@1.32.0"]).expect(64, "is about the variant constants");
}

#[test]
fn what_cannot_be_compared_is_named_with_what_can() {
    for name in ["onnxruntime@9.9.9", "onnxruntime", "nothing@1"] {
        let text =
            format!("{name}: no such file or measurement; write NAME@VERSION of a measured version: onnx-reference (");
        let called = call(&["compare", "onnxruntime@1.32.0", name]).expect(64, &text);
        assert!(called.err.contains("tract (0.23.0, 0.23.9)"), "{}", called.err);
    }
    let folder = Folder::new();
    let plain = folder.write("plain.yaml", "runtime: a\nexpect: []\n");
    call(&["compare", "onnxruntime@1.32.0", &plain]).expect(4, "plain.yaml: has no `version`");
    let inexact = folder.write("inexact.yaml", "runtime: a\nversion: 1.2\nexpect: []\n");
    call(&["compare", "onnxruntime@1.32.0", &inexact]).expect(4, "a measurement needs `exact: true`");
    call(&["compare", "onnxruntime@1.32.0", &folder.file("none.yaml")]).expect(4, "none.yaml");
    call(&["compare", "onnxruntime@1.32.0", "tract@0.23.9", "--all", "--show", "3"]).expect(64, "cannot be used with");
}
