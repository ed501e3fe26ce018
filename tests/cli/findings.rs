//! Findings: listed, joined with cases, and since when cases pass.

use crate::program::call;

#[test]
fn findings_are_listed_and_explain_the_failures_of_cases() {
    call(&["finding", "--runtime", "onnxruntime"]).expect(0, "onnxruntime/gather-strings");
    let sample = "ai.onnx/Gather-13/every_axis/indices=2x2,axis=0/T=string,Tind=int32";
    call(&["show", sample]).expect(0, ": mismatch, finding onnxruntime/gather-strings: Of each slice");
    call(&["show", "ai.onnx/Abs-13/known_values/T=float"]).expect(0, "case ai.onnx/Abs-13/known_values/T=float");
    call(&["finding", "--unexplained"]).expect(64, "--runtime");
    call(&["finding", "--runtime", "none", "--unexplained"]).expect(64, "no version of none is measured");
}

#[test]
fn a_history_says_since_which_version_cases_pass() {
    let history = |patterns: &[&str]| call(&[&["finding", "--runtime", "onnxruntime", "--history"], patterns].concat());
    history(&["ai.onnx/Gemm-13/nothing_to_add/T=float"]).expect(0, "onnxruntime: right ");
    history(&["ai.onnx/Gather-13/every_axis/**/T=string,*"]).expect(0, "onnxruntime: not right; ");
    history(&["ai.onnx/NoSuchOperator-1/**"]).expect(3, "no required case that was measured is chosen");
    history(&["ai.onnx/{"]).expect(64, "ai.onnx/{");
}
