//! A test binary over a runtime that dies: this same program, running as the tests of a crate.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use onnx_conformance::reference::proto::{Message as _, ModelProto};
use onnx_conformance_harness::Harness;
use onnx_conformance_subject::{Builtin, Declaration, Ended, Host as _, Request, Response, Runtime};
use tempfile::TempDir;

use crate::linux::Tests;

pub(crate) const TESTS: Tests = &[
    ("the_printed_command_runs_the_case", the_printed_command_runs_the_case),
    ("deaths_can_be_expected", deaths_can_be_expected),
    ("a_panic_in_process_can_be_expected", a_panic_in_process_can_be_expected),
    ("what_was_not_run_keeps_its_entries", what_was_not_run_keeps_its_entries),
];

/// Environment variable that turns this program into such a test binary, with its expectation file.
const FILE: &str = "FAULTS_EXPECTATIONS";

/// Mode of the runtime: `in-process`, or a maximum number of deaths.
const HOW: &str = "FAULTS_HOW";

/// Prefix that `cargo test` prints before the name of a case to re-run.
const COMMAND: &str = "    cargo test -- --exact ";

/// Runs as a test binary, if requested by the environment.
pub(crate) fn main() -> Option<ExitCode> {
    let file = std::env::var_os(FILE)?;
    let harness = Harness::new(Mortal, file)
        .cases(&["ai.onnx/{Abs,Acos,Acosh,Asin}-*/known_values/T=float"])
        .timeout(Duration::from_secs(20));
    let how = std::env::var(HOW).unwrap_or_default();
    let harness = match how.parse() {
        Ok(restarts) => harness.restarts(restarts),
        Err(_) if how == "in-process" => harness.in_process(),
        Err(_) => harness,
    };
    Some(harness.run())
}

/// The built-in executor, which dies on some operators.
struct Mortal;

impl Runtime for Mortal {
    fn declaration(&self) -> Declaration {
        Declaration::named("mortal", "1")
    }

    fn run(&self, request: &Request<'_>) -> Response {
        let model = ModelProto::decode(request.model.clone()).unwrap_or_default();
        let nodes = model.graph.unwrap_or_default().node;
        // Output of a runtime does not disturb the protocol.
        let _ = writeln!(std::io::stdout(), "{{\"seq\":1,\"ok\":true}}");
        let is_here = std::env::var(HOW).is_ok_and(|how| how == "in-process");
        match nodes.first().map_or("", |node| node.op_type()) {
            "Acos" => panic!("there is no Acos"),
            "Acosh" if !is_here => std::process::abort(),
            "Asin" if !is_here => std::process::exit(0),
            _ => match Builtin::new(Duration::from_mins(1)).run(request).ended {
                Ended::Answered(response) => response,
                other => Response::run_error(format!("{other:?}")),
            },
        }
    }
}

/// Returns the exit code and all output.
fn run(file: &Path, how: &str, is_update: bool, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env(FILE, file).env(HOW, how);
    command.env("UPDATE_EXPECTATIONS", if is_update { "1" } else { "0" });
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn the_printed_command_runs_the_case() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let (code, text) = run(&file, "", false, &[]);
    assert_eq!(code, Some(101), "{text}");
    let cases: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(COMMAND)).collect();
    assert!(cases.len() >= 4, "{text}");
    for case in cases {
        for arguments in [&["--exact", case][..], &[case]] {
            let (code, text) = run(&file, "", false, arguments);
            assert_eq!(code, Some(101), "{text}");
            assert!(text.contains("running 1 test") && text.contains(&format!("unexpected: crash {case}\n")), "{text}");
        }
    }
    let (code, text) = run(&file, "", false, &["--exact", "ai.onnx/Abs-13/known_values/T=float"]);
    assert!(code == Some(0) && text.contains("1 passed"), "{text}");
    let (code, text) = run(&file, "", false, &["--exact", "ai.onnx/Abs-13/no_such_case"]);
    assert!(code == Some(101) && text.contains("no selected case of ai.onnx/Abs-13 has this id"), "{text}");
}

/// Checks that an update explains every failure, that the next run passes, and that a removed line is reported.
fn check_round(how: &str, message: &str) {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let (code, text) = run(&file, how, true, &[]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(&file, how, false, &[]);
    assert!(code == Some(0) && text.contains(message), "no '{message}' in {text}");
    let all = fs::read_to_string(&file).unwrap();
    let entry = all.lines().find(|line| line.contains("Acos-")).unwrap_or_else(|| panic!("{all}"));
    fs::write(&file, all.replace(&format!("{entry}\n"), "")).unwrap();
    let (code, text) = run(&file, how, false, &[]);
    assert!(code == Some(101) && text.contains(&format!("{COMMAND}ai.onnx/Acos-")), "{text}");
}

fn deaths_can_be_expected() {
    check_round("", "panicked at tests/faults/linux/harness.rs");
}

fn a_panic_in_process_can_be_expected() {
    check_round("in-process", "expected: panicked: there is no Acos");
}

fn what_was_not_run_keeps_its_entries() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let old = "runtime: mortal\nexpect:\n  - {cases: 'ai.onnx/Asin-*/**', outcome: crash}\n";
    fs::write(&file, old).unwrap();
    let (code, text) = run(&file, "2", true, &["--test-threads", "1"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("2 processes in a row ended without an answer"), "{text}");
    assert!(text.contains("not run: ai.onnx/Acos-"), "{text}");
    assert_eq!(fs::read_to_string(&file).unwrap(), old);
}
