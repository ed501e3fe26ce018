//! Folders of failed cases: each is judged like the case in the suite.

use std::fs;
use std::process::Command;

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter};

pub(crate) const TESTS: Tests =
    &[("a_folder_of_what_failed_is_judged_as_in_the_suite", a_folder_of_what_failed_is_judged_as_in_the_suite)];

/// A case with a tolerance of 4 ULP.
const CASE: &str = "ai.onnx/Exp-13/known_values/T=float";

/// Calls the program, and returns its exit code and output.
fn call(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
    let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn a_folder_of_what_failed_is_judged_as_in_the_suite() {
    let scene = Scene::new(0);
    let at = |name: &str| scene.path(name).display().to_string();
    assert_eq!(call(&["export", &at("exported"), CASE]).0, Some(0));
    let right = at(&format!("exported/{CASE}/test_data_set_0/output_0.pb"));
    let run = |what: &[&str], distance: u32| {
        let runtime = adapter(&format!("off '{right}' {distance}"));
        call(&[&["run", "--runtime", &runtime, "--failures", &at("failures")], what].concat())
    };
    // Within upstream's tolerance, but far outside of the case's.
    let (code, said) = run(&[CASE], 1_000);
    assert!(code == Some(1) && said.contains(&format!("unexpected: mismatch {CASE}")), "{said}");
    let folder = at(&format!("failures/{CASE}"));
    fs::rename(&folder, at("kept")).unwrap();
    for suite in ["exported", "kept"] {
        for (distance, code) in [(0, 0), (3, 0), (5, 1), (1_000, 1)] {
            let (is, said) = run(&["--suite", &at(suite)], distance);
            assert!(is == Some(code) && !said.contains("tolerance"), "{suite}, {distance} off: {said}");
        }
    }
    assert_eq!(run(&["--suite", &at("failures")], 1_000).0, Some(1), "the folder of the last run is not there");
    assert_eq!(run(&["--suite", &at("failures")], 3).0, Some(0));
    fs::remove_file(scene.path("kept/manifest.jsonl")).unwrap();
    let (code, said) = run(&["--suite", &at("kept")], 1_000);
    let remark = "without a manifest, floating outputs are judged by the tolerance of upstream's runner: 1e-3 relative";
    assert!(code == Some(0) && said.contains(remark), "{said}");
}
