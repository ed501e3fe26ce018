//! Folders of failed cases, each of which is judged like the case in the suite, and the printed command of a first run.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::linux::Tests;
use crate::linux::program::{Scene, adapter};

pub(crate) const TESTS: Tests = &[
    ("a_folder_of_what_failed_is_judged_as_in_the_suite", a_folder_of_what_failed_is_judged_as_in_the_suite),
    ("the_printed_command_of_a_first_run_accepts_its_results", the_printed_command_of_a_first_run_accepts_its_results),
];

/// A case with a tolerance of 4 ULP.
const CASE: &str = "ai.onnx/Exp-13/known_values/T=float";

/// Calls the program, and returns its exit code and output.
fn call(arguments: &[&str]) -> (Option<i32>, String) {
    call_in(Path::new(env!("CARGO_MANIFEST_DIR")), arguments)
}

/// Calls the program in a folder, and returns its exit code and output.
fn call_in(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_onnx-conformance"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
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

fn the_printed_command_of_a_first_run_accepts_its_results() {
    let (scene, runtime) = (Scene::new(0), adapter("always-fails"));
    let run = |what: &[&str]| call_in(&scene.path(""), &[&["run", "--runtime", &runtime], what].concat());
    let others = "ai.onnx/Exp-13/known_values/*";
    let (code, said) = run(&["--strict", CASE, others]);
    let expected = format!(" --strict --init {CASE} '{others}'");
    let printed =
        said.lines().find(|line| line.starts_with("to accept these results: onnx-conformance run --runtime "));
    assert!(code == Some(1) && printed.is_some_and(|line| line.ends_with(&expected)), "{said}");
    let (code, said) = run(&["--strict", "--init", CASE, others]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&[]);
    assert!(code == Some(0) && !said.contains("to accept"), "{said}");
    // Now there is a file, which only a run of all its cases updates.
    let (code, said) = run(&["ai.onnx/Abs-13/known_values"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("to accept the results of all cases: ") && said.contains(" --update-expectations"), "{said}");
}
