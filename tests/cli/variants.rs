//! Variants of cases.

use crate::program::call;

#[test]
fn cases_are_put_in_the_form_that_is_asked_for() {
    for variant in ["constants", "initializers", "all-constants", "dynamic-shapes", "wrapped"] {
        let called = call(&["run", "ai.onnx/{Reshape,Sum,Tile}-13/**", "--variant", variant]).expect(0, " pass");
        assert!(!called.out.contains("unexpected"), "{}", called.out);
    }
    call(&["run", "ai.onnx/Sum-13", "--variant", "other"]).expect(64, "expected one of runtime, constants");
}

#[test]
fn an_id_says_the_form() {
    let called = call(&["list", "ai.onnx/Reshape-13/**"]).expect(0, "ai.onnx/Reshape-13/");
    let id = called.out.lines().find(|id| !id.contains("/refuse/")).unwrap();
    let id = format!("{id}@constants");
    call(&["run", &id]).expect(0, "1 cases, 1 pass");
    call(&["show", &id]).expect(0, "Constant");
    call(&["run", &id, "--variant", "initializers"]).expect(64, "one variant at a time");
}
