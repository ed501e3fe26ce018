//! Holding a run against what is expected.

use crate::models::{Folder, identity, model, node};
use crate::program::{Called, call};
use onnx_conformance::reference::proto::Message;

/// Runs a folder with an expectation file.
fn run(folder: &Folder, expectations: &str) -> Called {
    let file = folder.write("expectations.yaml", format!("runtime: builtin\nexpect:\n{expectations}"));
    call(&["run", "--suite", &folder.argument(), "--expectations", &file])
}

fn with_failure() -> Folder {
    let folder = Folder::with_identity("good");
    folder.add("bad", &model(29, vec![node("Identity", &["x"], &["y"])]).encode_to_vec());
    folder
}

#[test]
fn an_expected_failure_is_as_expected() {
    run(&with_failure(), "  - {cases: bad, outcome: error}\n").expect(0, "1 failures expected");
}

#[test]
fn a_worse_outcome_than_expected_is_a_regression() {
    run(&with_failure(), "  - {cases: bad, outcome: unsupported}\n").expect(1, "unexpected: error bad");
}

#[test]
fn a_pass_that_is_not_expected_is_stale() {
    let expectations = "  - {cases: bad, outcome: error}\n  - {cases: good, outcome: error}\n";
    run(&with_failure(), expectations).expect(2, "better than expected: pass good");
}

#[test]
fn an_expectation_that_matches_nothing_is_stale() {
    let expectations = "  - {cases: bad, outcome: error}\n  - {cases: gone, outcome: error}\n";
    run(&with_failure(), expectations).expect(2, "expectation that matches nothing").expect(2, "gone");
}

#[test]
fn an_unknown_key_is_shown_with_its_line() {
    let called = run(&with_failure(), "  - {cases: bad, outcom: error}\n").expect(4, "unknown key `outcom`");
    assert!(called.err.contains("expectations.yaml:3"), "{}", called.err);
    assert!(called.err.contains("─┬─") && !called.err.contains('\u{1b}'), "{}", called.err);
}

#[test]
fn an_entry_that_contradicts_itself_is_named() {
    run(&with_failure(), "  - {cases: bad}\n").expect(4, "expectations.yaml: entry 1: has no outcome");
    run(&with_failure(), "  - {cases: bad, outcome: pass}\n").expect(4, "entry 1: expects a pass");
    run(&with_failure(), "  - {cases: bad, outcome: fine}\n").expect(4, "expectations.yaml:3");
}

#[test]
fn the_file_of_another_runtime_is_refused() {
    let folder = with_failure();
    let file = folder.write("expectations.yaml", "runtime: other\n");
    let called = call(&["run", "--suite", &folder.argument(), "--expectations", &file]);
    called.expect(4, "expectations.yaml: is about 'other', not 'builtin'");
    let missing = folder.file("missing.yaml");
    call(&["run", "--suite", &folder.argument(), "--expectations", &missing]).expect(4, "there is no such file");
}

#[test]
fn an_updated_file_holds() {
    let folder = with_failure();
    let file = folder.file("expectations.yaml");
    let arguments = ["run", "--suite", &folder.argument(), "--expectations", &file];
    call(&[&arguments[..], &["--update-expectations"]].concat()).expect(0, "wrote");
    call(&arguments).expect(0, "1 failures expected");
    folder.add("bad", &identity().encode_to_vec());
    call(&arguments).expect(2, "better than expected: pass bad");
}
