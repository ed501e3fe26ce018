//! `check --runtime` on single-node models, compared with the actual behaviour of onnxruntime 1.22.1 on the same models.

use std::fs;

use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::Message;
use serde_json::Value;

use crate::check::validate;
use crate::models::Folder;
use crate::program::call;
use crate::snapshot;

/// Returns the verdict on a single-node model, and the answer for the node.
fn answer(opset: u32, inputs: &str, outputs: &str, node: &str) -> (String, Value) {
    answer_on("onnxruntime@1.22.1", opset, inputs, outputs, node)
}

/// Returns the same for a version of a runtime.
fn answer_on(runtime: &str, opset: u32, inputs: &str, outputs: &str, node: &str) -> (String, Value) {
    let text = format!("<ir_version: 8, opset_import: [\"\": {opset}]> g ({inputs}) => ({outputs}) {{ {node} }}");
    let folder = Folder::new();
    let path = folder.file("m.onnx");
    fs::write(&path, parse_model(&text).unwrap().encode_to_vec()).unwrap();
    let called = call(&["check", "--format", "json", "--runtime", runtime, &path]).expect_verdict("kinds");
    let report: Value = serde_json::from_str(&called.out).unwrap();
    validate(&report);
    let runtime = &report["models"][0]["runtimes"][0];
    (runtime["verdict"].as_str().unwrap().to_owned(), runtime["kinds"][0].clone())
}

/// The runtime runs a scale and a bias along the last axis, and the diagonal of a matrix. Only scales of other ranks and other
/// equations fail. No case has the traits of the last equation, and cases with each of them pass.
#[test]
fn failing_cases_of_other_ranks_and_equations_do_not_count() {
    let (verdict, node) = answer(
        17,
        "float[2, 5, 16] x, float[16] s, float[16] b",
        "float[2, 5, 16] y",
        "y = LayerNormalization (x, s, b)",
    );
    // The measurement has four errors of float in `broadcast`: B is a scalar, a matrix twice, and of rank 3.
    let differences = "4 failing cases differ: rank(B)=0, rank(B)=2, rank(B)=3";
    assert_eq!((verdict.as_str(), node["reason"].as_str()), ("runs", Some(differences)), "{node:#}");
    let (verdict, node) = answer(12, "float[3, 3] x", "float[3] y", "y = Einsum <equation = \"ii->i\"> (x)");
    assert_eq!(verdict, "runs", "{node:#}");
    let implicit = "y = Einsum <equation = \"aB,Bc\"> (x, z)";
    let (verdict, node) = answer(12, "float[2, 3] x, float[3, 4] z", "float[2, 4] y", implicit);
    assert_eq!(verdict, "likely-runs", "{node:#}");
}

/// The runtime runs float16 at this opset. At opset 1 it inserts a Cast of another version.
#[test]
fn a_refusal_at_an_older_opset_does_not_count() {
    let (inputs, outputs) = ("float16[1, 2, 3, 3] x", "float16[1, 2, 1, 1] y");
    let (verdict, node) = answer(13, inputs, outputs, "y = GlobalAveragePool (x)");
    assert_eq!(verdict, "runs", "{node:#}");
}

/// The runtime takes one zero point, and refuses one for each row. A finding is about other values.
#[test]
fn a_scalar_is_not_judged_by_vectors() {
    let inputs = "uint8[2, 3, 4] x, int8[4, 5] w, uint8 a, int8 b";
    let (_, node) = answer(17, inputs, "int32[2, 3, 5] y", "y = MatMulInteger (x, w, a, b)");
    assert_eq!(node["finding"]["id"], "onnxruntime/u8-by-i8-saturates", "{node:#}");
}

/// `to` selects T2: a finding about strings does not apply to float16.
#[test]
fn the_type_that_an_attribute_chooses_is_compared() {
    let (verdict, node) = answer(13, "double[3] x", "float16[3] y", "y = Cast <to = 10> (x)");
    assert!(verdict == "runs" && node["finding"].is_null(), "{verdict}: {node:#}");
    let (_, node) = answer(19, "float8e4m3fn[3] x", "bool[3] y", "y = Cast <to = 9> (x)");
    assert_eq!(node["verdict"], "runs-but-for-special-values", "{node:#}");
    assert_eq!(node["finding"]["id"], "onnxruntime/cast-negative-zero-is-false", "{node:#}");
}

/// A case with a transform and its inverse does not cover a single transform.
#[test]
fn a_case_of_two_nodes_has_the_settings_of_both() {
    let (verdict, node) = answer(20, "double[1, 5, 1] x", "double[1, 5, 2] y", "y = DFT (x)");
    assert!(verdict == "runs" && node["finding"].is_null(), "{verdict}: {node:#}");
    let (verdict, node) = answer(20, "double[1, 5, 2] x", "double[1, 5, 2] y", "y = DFT <inverse = 1> (x)");
    assert!(verdict == "wrong-somewhere", "{verdict}: {node:#}");
    assert_eq!(node["finding"]["id"], "onnxruntime/dft-inverse-scaled-in-float", "{node:#}");
}

/// The runtime gives `["e", "", "a", ""]`. No string case has this rank, and those with int32 indices count, too.
#[test]
fn a_neighbouring_type_of_positions_counts() {
    let (verdict, node) = answer(13, "string[3, 2] x, int64[2] i", "string[2, 2] y", "y = Gather <axis = 0> (x, i)");
    assert_eq!((verdict.as_str(), &node["other_ranks"]), ("wrong-somewhere", &true.into()), "{node:#}");
    assert_eq!(node["finding"]["id"], "onnxruntime/gather-strings", "{node:#}");
}

/// The runtime does not clip the input of the cell gate. Only a recommended case covers this.
#[test]
fn a_failure_with_the_setting_of_the_node_is_no_likely_run() {
    let (verdict, node) = answer(
        14,
        "float[3, 2, 2] x, float[2, 12, 2] w, float[2, 12, 3] r",
        "float[3, 2, 2, 3] y",
        "y = LSTM <direction = \"bidirectional\", hidden_size = 3, clip = 0.3> (x, w, r)",
    );
    assert!(verdict == "unknown" || verdict == "wrong-somewhere", "{verdict}: {node:#}");
    assert_eq!(node["finding"]["id"], "onnxruntime/lstm-clip", "{node:#}");
}

/// The runtime dies of SIGSEGV.
#[test]
fn an_input_with_an_empty_name_is_a_setting() {
    let (verdict, node) = answer(
        17,
        "float[2, 5, 16] x, float[16] s",
        "float[2, 5, 16] y, float[2, 5, 1] m",
        "y, m = LayerNormalization (x, s, \"\")",
    );
    assert_eq!((verdict.as_str(), &node["verdict"]), ("wrong-somewhere", &"crashes".into()), "{node:#}");
}

/// The runtime gives the shape (1, 1), not (0, 1).
#[test]
fn what_every_case_fails_does_not_run() {
    let (verdict, node) = answer(13, "float x", "int64[a, b] y", "y = NonZero (x)");
    assert!(verdict == "wrong-somewhere" && node["finding"]["id"] == "onnxruntime/nonzero-scalar", "{node:#}");
}

/// The runtime loads both, and fails at run time.
#[test]
fn what_fails_when_it_runs_is_not_what_does_not_load() {
    let (verdict, node) = answer(
        14,
        "double[3, 2, 2] x, double[1, 9, 2] w, double[1, 9, 3] r",
        "double[3, 1, 2, 3] y",
        "y = GRU <hidden_size = 3> (x, w, r)",
    );
    assert_eq!(verdict, "fails-when-run", "{node:#}");
    let (verdict, node) = answer(
        11,
        "float[1, 1, 8, 8] x, float[1, 1, 3, 3] w",
        "float[1, 1, 8, 8] y",
        "y = Conv <auto_pad = \"SAME_UPPER\", dilations = [2, 2]> (x, w)",
    );
    assert_eq!(verdict, "fails-when-run", "{node:#}");
}

/// The runtime's square root of float is off by 1 ULP for some elements, for example of 1.0. The model is not wrong.
#[test]
fn an_inexact_operator_is_neither_right_nor_wrong() {
    let node = "y = Sqrt (x)";
    let (verdict, found) = answer_on("onnxruntime@1.20.1", 13, "float[2, 3] x", "float[2, 3] y", node);
    assert_eq!((verdict.as_str(), &found["verdict"]), ("inexact", &"inexact".into()), "{found:#}");
    assert!(found["ulp"].as_u64().is_some_and(|ulp| (1..=64).contains(&ulp)), "{found:#}");
    let folder = Folder::new();
    let path = folder.file("m.onnx");
    let text = format!("<ir_version: 8, opset_import: [\"\": 13]> g (float[2, 3] x) => (float[2, 3] y) {{ {node} }}");
    fs::write(&path, parse_model(&text).unwrap().encode_to_vec()).unwrap();
    let called = call(&["check", "--runtime", "onnxruntime@1.20.1", &path]).expect(0, "differs by ");
    let about_runtimes: Vec<&str> = called.out.lines().take(4).collect();
    snapshot::check("check-inexact", &snapshot::redacted(&about_runtimes.join("\n"), &folder));
}
