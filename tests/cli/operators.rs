//! Descriptions of operators, outcomes and rules, completion scripts, and JSON output.

use std::fs;

use crate::models::Folder;
use crate::program::call;
use crate::snapshot::{check, without_paragraphs};

#[test]
fn a_version_of_an_operator_is_shown() {
    // Results of runtimes change with every measurement.
    let measured = ["measured results, ", "types by version\n", "findings, "];
    let called = call(&["show", "Selu@6"]).expect(0, "onnxruntime 1.32.0  ");
    for head in measured {
        assert!(called.out.contains(&format!("\n\n{head}")), "no '{head}' in\n{}", called.out);
    }
    check("op", &without_paragraphs(&called.out, &measured));
    let one = call(&["show", "Sum", "--runtime", "onnxruntime@1.20.1"]).expect(0, "onnxruntime 1.20.1");
    assert!(!one.out.contains("onnx-reference 1.23.2"), "{}", one.out);
    call(&["show", "Sum", "--runtime", "nothing"])
        .expect(64, "--runtime: no version of nothing has been measured; measured runtimes: ");
}

#[test]
fn what_an_operator_is_fits_on_a_page() {
    check("spec", &call(&["show", "CumSum@11", "--definition"]).expect(0, "\n  axis\n").out);
    // Rules of the past are those of a version of the past.
    assert!(
        call(&["show", "Softmax@11", "--definition"]).expect(0, "counted as one row").out.contains("below version 13")
    );
    assert!(!call(&["show", "Softmax", "--definition"]).expect(0, "formula").out.contains("below version 13"));
}

#[test]
fn outcomes_and_rules_are_explained() {
    call(&["show", "wrong-type"]).expect(0, "wrong-type: an output has the wrong type");
    let page = call(&["show", "node/type"]).expect(0, "node/type, error: ").out;
    for part in [
        "\nfrom Operators.md\n",
        "\nwhy: ",
        "\nfix (may change",
        "\nbreaks the rule:\n    <ir",
        "\nfollows the rule:\n    <ir",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = call(&["show", "function/twice"]).expect(0, "function/twice, error: ").out;
    assert!(page.contains("except that function l.f is defined twice"), "{page}");
    call(&["show", "Sum/C1"]).expect(0, "ai.onnx/Sum C1: ");
    call(&["show", "Sum/C99"]).expect(64, "Sum has no rule 'C99'; its rules are formula, C1");
    call(&["explain", "mismach"]).expect(64, "did you mean 'mismatch'?");
    call(&["explain", "Sum/C99"]).expect(64, "Sum has no rule 'C99'; its rules are formula, C1");
    let all = call(&["explain"]).expect(0, "outcomes\n").out;
    assert!(all.contains("  crash ") && all.contains("  node/type "), "{all}");
}

/// Returns the first line that `show` prints.
fn first_line(thing: &str) -> String {
    call(&["show", thing]).expect(0, "").out.lines().next().unwrap().to_owned()
}

#[test]
fn a_name_of_anything_is_shown() {
    for (thing, first) in [
        ("ai.onnx/Abs-13/known_values/T=float", "case ai.onnx/Abs-13/known_values/T=float"),
        ("Softmax@11", "ai.onnx/Softmax-11: "),
        ("Softmax@12", "ai.onnx/Softmax-11: "),
        ("ai.onnx/Softmax-11", "ai.onnx/Softmax-11: "),
        ("Scaler", "ai.onnx.ml/Scaler-1: "),
        ("Sum/C2", "ai.onnx/Sum C2: "),
        ("sum/c2", "ai.onnx/Sum C2: "),
        ("Sum@13/C2", "ai.onnx/Sum C2: "),
        ("node/type", "node/type, error: "),
        ("mismatch", "mismatch: "),
        ("gather-strings", "onnxruntime/gather-strings"),
        ("onnxruntime/gather-strings", "onnxruntime/gather-strings"),
        ("onnxslim/dropout-in-training", "onnxslim/dropout-in-training"),
        ("graph/casts", "case graph/casts/"),
        ("ai.onnx/Sum-13/broadcast", "case ai.onnx/Sum-13/broadcast/"),
        ("ai.onnx/Sum-*", "case ai.onnx/Sum-1/"),
    ] {
        let shown = first_line(thing);
        assert!(shown.starts_with(first), "{thing}: {shown}");
    }
    call(&["show", "graph/casts"]).expect(0, "'graph/casts' selects ");
    let noted = call(&["show", "softmax@11"]).expect(0, "ai.onnx/Softmax-11: ");
    assert!(noted.err.starts_with("'softmax' is read as Softmax; "), "{}", noted.err);
    assert_eq!(call(&["show", "Softmax@11"]).err, "");
}

#[test]
fn a_mistyped_name_is_read_as_the_only_one_that_is_near() {
    for (thing, name, first) in [
        ("Rely-13", "Relu-13", "ai.onnx/Relu-13: "),
        ("Sofmax@11", "Softmax@11", "ai.onnx/Softmax-11: "),
        ("ai.onnx/Softmx", "ai.onnx/Softmax", "ai.onnx/Softmax-13: "),
        ("mismach", "mismatch", "mismatch: "),
        ("node/typ", "node/type", "node/type, error: "),
        ("gather-string", "gather-strings", "onnxruntime/gather-strings"),
    ] {
        let shown = call(&["show", thing]).expect(0, first);
        assert_eq!(shown.err, format!("'{thing}' is read as {name}; no other name is that similar\n"), "{thing}");
    }
    call(&["show", "Rely", "--issue"]).expect(64, "--issue is about a finding, but 'Rely' is an operator");
}

#[test]
fn a_name_of_nothing_is_bad_usage_with_the_nearest_names() {
    for (thing, hint) in [
        ("Sftmx", "operator 'Sftmx'; did you mean 'Softmax'?"),
        ("Telu", "did you mean"),
        ("mimach", "did you mean 'mismatch'?"),
        ("ai.onnx/Abs-13/nan_and_infinites/T=float", "did you mean 'ai.onnx/Abs-13/nan_and_infinities/T=float'?"),
        ("ai.onnx/Sftmx", "did you mean 'ai.onnx/Softmax-*'?"),
        ("C9", "write a rule with its operator, as in Sum/C9"),
        ("Sum@x", "'x' is not an opset; write for example Sum@13"),
        ("Sum@999", "opset 999 of ai.onnx is unknown"),
        ("", "there is no case"),
        ("a[b", "there is no case"),
        ("@pr", "there is no case"),
    ] {
        call(&["show", thing]).expect(64, hint);
    }
    let folder = Folder::with_identity("case");
    call(&["trace", "Selu@6"]).expect(0, "case ai.onnx/Selu-6/");
    call(&["trace", "ai.onnx/Selu-6"]).expect(0, "case ai.onnx/Selu-6/");
    call(&["show", "Sum", "--suite", &folder.argument()]).expect(64, "there is no case 'Sum'");
}

#[test]
fn options_are_about_one_kind_of_thing() {
    let misplaced: [(&[&str], &str); 6] = [
        (&["Sum", "--issue"], "--issue is about a finding, but 'Sum' is an operator; omit --issue"),
        (&["Sum", "--format", "json"], "--format json is about a case, but 'Sum' is an operator"),
        (&["mismatch", "--runtime", "onnxruntime"], "--runtime is about an operator, but 'mismatch' is an outcome"),
        (&["Sum/C2", "--definition"], "--definition is about an operator, but 'Sum/C2' is a rule"),
        (&["gather-strings", "--definition"], "--definition is about an operator, but 'gather-strings' is a finding"),
        (&["Sum", "--definition", "--runtime", "onnxruntime"], "cannot be used with"),
    ];
    for (arguments, message) in misplaced {
        call(&[&["show"], arguments].concat()).expect(64, message);
    }
    call(&["show", "gather-strings", "--issue"]).expect(0, "# Gather of strings");
}

#[test]
fn shells_and_manuals_are_told_of_every_subcommand() {
    let bash = call(&["completions", "bash"]).expect(0, "onnx-conformance").out;
    assert!(bash.contains("bench") || bash.contains("coverage"), "{bash}");
    call(&["completions", "--man", "-"]).expect(0, ".TH onnx-conformance 1");
    let folder = Folder::new();
    call(&["completions", "--man", &folder.argument()]).expect(0, "wrote the manual pages");
    let page = fs::read_to_string(folder.path().join("onnx-conformance-run.1")).unwrap();
    assert!(page.contains("update\\-expectations"), "{page}");
    let page = fs::read_to_string(folder.path().join("onnx-conformance-list-findings.1")).unwrap();
    assert!(page.contains("unexplained"), "{page}");
    for old in ["finding", "init", "smoke", "changes", "man"] {
        assert!(!folder.path().join(format!("onnx-conformance-{old}.1")).exists(), "{old}");
    }
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
    assert_eq!(call(&["coverage", "ai.onnx/Abs-13/**", "--check"]).code, 0);
    let one = ["coverage", "ai.onnx/Abs-13/refuse/surplus-input", "--check"];
    call(&one).expect(1, "ai.onnx/Abs-13 types: ");
    let differs = json(&["diff", "Softmax", "11", "13", "--format", "json"]);
    let changed = json(&["diff", "suite@0.1.0", "--format", "json"]);
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
