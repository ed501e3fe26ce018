//! Descriptions of operators, outcomes and rules, completion scripts, and JSON output.

use std::fs;

use crate::models::Folder;
use crate::program::call;
use crate::snapshot::{check, without_paragraphs};

#[test]
fn a_version_of_an_operator_is_shown() {
    // Results of runtimes change with every measurement.
    let measured = ["measured results, ", "types by version\n", "findings, "];
    let called = call(&["op", "Selu@6"]).expect(0, "onnxruntime 1.32.0  ");
    for head in measured {
        assert!(called.out.contains(&format!("\n\n{head}")), "no '{head}' in\n{}", called.out);
    }
    check("op", &without_paragraphs(&called.out, &measured));
    let one = call(&["op", "Sum", "--runtime", "onnxruntime@1.20.1"]).expect(0, "onnxruntime 1.20.1");
    assert!(!one.out.contains("onnx-reference 1.23.2"), "{}", one.out);
    call(&["op", "Softmx"]).expect(4, "there is no operator 'Softmx'; did you mean 'Softmax'?");
    call(&["op", "Sum", "--runtime", "nothing"]).expect(64, "no such runtime has been measured");
}

#[test]
fn what_an_operator_is_fits_on_a_page() {
    check("spec", &call(&["spec", "CumSum@11"]).expect(0, "\n  axis\n").out);
    // Rules of the past are those of a version of the past.
    assert!(call(&["spec", "Softmax@11"]).expect(0, "counted as one row").out.contains("below version 13"));
    assert!(!call(&["spec", "Softmax"]).expect(0, "formula").out.contains("below version 13"));
    call(&["spec", "Softmx"]).expect(4, "there is no operator 'Softmx'; did you mean 'Softmax'?");
}

#[test]
fn outcomes_and_rules_are_explained() {
    call(&["explain", "wrong-type"]).expect(0, "wrong-type: an output has the wrong type");
    let page = call(&["explain", "node/type"]).expect(0, "node/type, error: ").out;
    for part in [
        "\nfrom Operators.md\n",
        "\nwhy: ",
        "\nfix (may change",
        "\nbreaks the rule:\n    <ir",
        "\nfollows the rule:\n    <ir",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = call(&["explain", "function/twice"]).expect(0, "function/twice, error: ").out;
    assert!(page.contains("except that function l.f is defined twice"), "{page}");
    call(&["explain", "Sum/C1"]).expect(0, "ai.onnx/Sum C1: ");
    call(&["explain", "Sum/C99"]).expect(64, "Sum has no rule 'C99'; its rules are formula, C1");
    call(&["explain", "mismach"]).expect(64, "did you mean 'mismatch'?");
    let all = call(&["explain"]).expect(0, "outcomes\n").out;
    assert!(all.contains("  crash ") && all.contains("  node/type "), "{all}");
}

#[test]
fn shells_and_manuals_are_told_of_every_subcommand() {
    let bash = call(&["completions", "bash"]).expect(0, "onnx-conformance").out;
    assert!(bash.contains("bench") || bash.contains("coverage"), "{bash}");
    call(&["man"]).expect(0, ".TH onnx-conformance 1");
    let folder = Folder::new();
    call(&["man", "-o", &folder.argument()]).expect(0, "wrote the manual pages");
    let page = fs::read_to_string(folder.path().join("onnx-conformance-run.1")).unwrap();
    assert!(page.contains("update\\-expectations"), "{page}");
}

#[test]
fn programs_get_json() {
    let json =
        |arguments: &[&str]| serde_json::from_str::<serde_json::Value>(&call(arguments).expect(0, "").out).unwrap();
    let listed = json(&["list", "ai.onnx/Abs-13/ranks/**", "--format", "json"]);
    assert_eq!(
        (listed[0]["level"].as_str(), listed[0]["refusal"].as_bool()),
        (Some("required"), Some(false)),
        "{listed}"
    );
    let id = listed[0]["id"].as_str().unwrap();
    let shown = json(&["show", id, "--format", "json"]);
    assert!(
        shown["model"].as_str().unwrap().contains("Abs") && shown["data"][0]["inputs"][0]["value"].is_string(),
        "{shown}"
    );
    let ran = json(&["run", id, "--format", "json"]);
    assert_eq!((ran["conclusion"].as_str(), ran["outcomes"]["pass"].as_u64()), (Some("as-expected"), Some(1)), "{ran}");
    let covered = json(&["coverage", "ai.onnx/Abs-13/**", "--format", "json"]);
    assert!(covered["totals"].is_object() && covered["missing"].is_array(), "{covered}");
    let differs = json(&["diff", "Softmax", "11", "13", "--format", "json"]);
    let changed = json(&["changes", "0.1.0", "--format", "json"]);
    for object in [shown, ran, covered, differs, changed] {
        assert_eq!(object.as_object().unwrap().iter().next(), Some((&"format".to_owned(), &1.into())), "{object}");
    }
}

#[test]
fn reports_of_wrong_rewrites_are_listed_with_the_versions_that_fail() {
    let threads = ["coverage", "--threads", "graph/matmuls/transpose_before_gemm/**"];
    let called = call(&threads).expect(0, " threads in ");
    // Fixed since onnxruntime 1.31.
    let line = called.out.lines().find(|line| line.starts_with("microsoft/onnxruntime#32418: ")).unwrap();
    assert!(line.contains(" cases in graph/matmuls/transpose_before_gemm; fails in "), "{line}");
    assert!(line.contains("onnxruntime 1.15.1, ") && !line.contains("1.32.0"), "{line}");
    let called = call(&[&threads[..], &["--format", "json"]].concat()).expect(0, "");
    let listed: serde_json::Value = serde_json::from_str(&called.out).unwrap();
    let first = &listed["threads"][0];
    assert!(first["cases"].as_u64() > Some(10) && first["fails_in"]["onnxruntime"].is_array(), "{listed}");
    call(&["coverage", "--threads", "ai.onnx/Abs-13/**"]).expect(3, "none of the selected graphs is about a report");
}
