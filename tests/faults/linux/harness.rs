//! A test binary over a runtime that dies: this same program, running as the tests of a crate.

use std::fs;
use std::io::{BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use onnx_conformance::reference::proto::{Message as _, ModelProto};
use onnx_conformance_harness::Harness;
use onnx_conformance_harness::run::read_results;
use onnx_conformance_subject::{Builtin, Declaration, Ended, Host as _, Request, Response, Runtime};
use tempfile::TempDir;

use crate::linux::Tests;

pub(crate) const TESTS: Tests = &[
    ("the_printed_command_runs_the_case", the_printed_command_runs_the_case),
    ("deaths_can_be_expected", deaths_can_be_expected),
    ("a_panic_in_process_can_be_expected", a_panic_in_process_can_be_expected),
    ("what_was_not_run_keeps_its_entries", what_was_not_run_keeps_its_entries),
    ("each_runtime_has_its_own_tests_and_file", each_runtime_has_its_own_tests_and_file),
    ("an_interrupted_update_keeps_what_has_run", an_interrupted_update_keeps_what_has_run),
    ("a_selection_of_nothing_fails", a_selection_of_nothing_fails),
    ("failures_end_with_their_causes", failures_end_with_their_causes),
    ("results_are_those_of_all_tests", results_are_those_of_all_tests),
    ("an_interrupted_run_is_resumed", an_interrupted_run_is_resumed),
    ("a_process_for_one_test_sends_only_its_cases", a_process_for_one_test_sends_only_its_cases),
];

/// Environment variable that turns this program into such a test binary, with its expectation file.
const FILE: &str = "FAULTS_EXPECTATIONS";

/// Mode of the runtime: `in-process`, `two` for a second runtime in the test binary, `interrupt` for one that stops the tests as Ctrl-C
/// does, or a maximum number of deaths.
const HOW: &str = "FAULTS_HOW";

/// Environment variable with a file that gets a line for each request.
const LOG: &str = "FAULTS_REQUESTS";

/// Prefix that `cargo test` prints before the name of a case to re-run.
const COMMAND: &str = "    cargo test --test faults -- --exact ";

/// Runs as a test binary, if requested by the environment.
pub(crate) fn main() -> Option<ExitCode> {
    let file = std::env::var_os(FILE)?;
    let second = Path::new(&file).with_extension("second.yaml");
    let harness = Harness::new(Mortal, file)
        .cases(&["ai.onnx/{Abs,Acos,Acosh,Asin}-*/known_values/T=float"])
        .timeout(Duration::from_secs(20));
    let how = std::env::var(HOW).unwrap_or_default();
    let harness = match how.parse() {
        Ok(restarts) => harness.restarts(restarts),
        Err(_) if how == "in-process" => harness.in_process(),
        Err(_) if how == "two" => {
            let second = Harness::new(Mortal, second).cases(&["ai.onnx/Acos-*/known_values/T=float"]);
            harness.named("first").and(second.named("second"))
        }
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
        if let Some(log) = std::env::var_os(LOG) {
            let mut log = fs::File::options().append(true).create(true).open(log).unwrap();
            writeln!(log, "{}", request.model.len()).unwrap();
        }
        let model = ModelProto::decode(request.model.clone()).unwrap_or_default();
        let nodes = model.graph.unwrap_or_default().node;
        // Output of a runtime does not disturb the protocol.
        let _ = writeln!(std::io::stdout(), "{{\"seq\":1,\"ok\":true}}");
        let is_here = std::env::var(HOW).is_ok_and(|how| how == "in-process");
        match nodes.first().map_or("", |node| node.op_type()) {
            "Acos" => panic!("there is no Acos"),
            "Acosh" if !is_here => std::process::abort(),
            "Asin" if std::env::var(HOW).is_ok_and(|how| how == "interrupt") => {
                let tests = std::os::unix::process::parent_id().to_string();
                Command::new("kill").args(["-INT", &tests]).status().unwrap();
                std::thread::sleep(Duration::from_secs(20));
                Response::run_error("the tests go on")
            }
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
    run_with(file, how, arguments, &[("UPDATE_EXPECTATIONS", if is_update { "1" } else { "0" })])
}

/// Runs a test binary with these environment variables.
fn run_with(file: &Path, how: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env(FILE, file).env(HOW, how).envs(variables.iter().copied());
    command.env("ONNX_CONFORMANCE_FAILURES", file.with_file_name("failures"));
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

fn each_runtime_has_its_own_tests_and_file() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let (_, text) = run(&file, "two", false, &["--list", "--format=terse"]);
    for name in [
        "first::smoke: test",
        "first::ai.onnx/Abs-13: test",
        "second::ai.onnx/Acos-7: test",
        "second::expectations: test",
    ] {
        assert!(text.lines().any(|line| line == name), "no '{name}' in {text}");
    }
    assert!(!text.contains("second::ai.onnx/Abs"), "{text}");
    let (code, text) = run(&file, "two", true, &["second::"]);
    assert!(code == Some(0) && text.contains("second::ai.onnx/Acos-7 ... ok") && !text.contains("first::"), "{text}");
    assert!(!file.exists() && home.path().join("expectations.second.yaml").exists());
    let (code, text) = run(&file, "two", false, &["second::"]);
    assert!(code == Some(0) && text.contains("expected: "), "{text}");
    let (code, text) = run(&file, "two", false, &[]);
    let cases: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(COMMAND)).collect();
    assert!(code == Some(101) && cases.len() >= 4, "{text}");
    for case in cases {
        assert!(case.starts_with("first::ai.onnx/A"), "{case}");
        let (code, text) = run(&file, "two", false, &["--exact", case]);
        assert!(code == Some(101) && text.contains(&format!("test {case} ... FAILED")), "{text}");
    }
}

fn an_interrupted_update_keeps_what_has_run() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let old = "  - {cases: 'ai.onnx/Asin-*/**', outcome: crash}\n";
    fs::write(&file, format!("runtime: mortal\nexpect:\n{old}")).unwrap();
    let (code, text) = run(&file, "interrupt", true, &["--test-threads", "1"]);
    assert!(code == Some(1) && text.contains("stopped; not run: ai.onnx/Asin-"), "{text}");
    assert!(text.contains("entries of groups that did not finish are unchanged: ai.onnx/Asin-"), "{text}");
    let new = fs::read_to_string(&file).unwrap();
    assert!(new.contains(old) && new.contains("ai.onnx/{Acos-*,Acosh-*}/**"), "{new}");
}

fn a_selection_of_nothing_fails() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    for arguments in
        [&["ai.onnx/Sin-*/**"][..], &["Abs-13/no_such_case"], &["Abs-99"], &["--exact", "ai.onnx/A*-99/**"]]
    {
        let (code, text) = run(&file, "", false, arguments);
        assert!(code == Some(101) && text.contains("no test or case matches"), "{arguments:?}: {text}");
    }
    // The tests of an operator that the crate does not run.
    let (code, text) = run(&file, "", false, &["--exact", "ai.onnx/Sin-7"]);
    assert!(code == Some(101) && text.contains("this test binary selects no case of ai.onnx/Sin-7"), "{text}");
    // `cargo test` passes the name of a function to every test binary.
    let (code, text) = run(&file, "", false, &["tests::no_such_function"]);
    assert!(code == Some(0) && text.contains("running 0 tests"), "{text}");
    let (code, text) = run(&file, "", false, &["ai.onnx/A*s-13/**"]);
    assert!(code == Some(0) && text.contains("test ai.onnx/Abs-13 ... ok") && text.contains("1 passed"), "{text}");
    let (code, text) = run(&file, "", true, &["Abs-13"]);
    assert!(code == Some(4) && text.contains("rewrites the expectation file after a run of all tests"), "{text}");
    assert!(!file.exists());
}

fn failures_end_with_their_causes() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let case = "ai.onnx/Acos-7/known_values/T=float";
    let folder = home.path().join("failures").join(case);
    let (code, text) = run(&file, "", false, &[]);
    assert_eq!(code, Some(101), "{text}");
    let (_, end) = text.split_once("test result: FAILED").unwrap();
    assert!(end.contains(" failures with ") && end.contains(" of them explain 100 %"), "{text}");
    assert!(end.contains("panicked at tests/faults/linux/harness.rs") && end.contains(COMMAND), "{text}");
    assert!(fs::read_to_string(folder.join("README.md")).unwrap().contains("**crash**"));
    assert!(folder.join("model.onnx").is_file() && folder.join("reproduce.py").is_file());
    fs::remove_dir_all(&folder).unwrap();
    // As with cargo-nextest, a process has the failures of its own test.
    let (code, text) = run(&file, "", false, &["--exact", case]);
    assert!(code == Some(101) && text.contains(&format!("outputs of the failures: {}\n", folder.display())), "{text}");
    assert!(!text.contains(" failures with ") && folder.join("model.onnx").is_file(), "{text}");
    let (code, text) = run_with(&file, "", &["--exact", case], &[("ONNX_CONFORMANCE_SHOW", "some")]);
    assert!(code == Some(4) && text.contains("ONNX_CONFORMANCE_SHOW=some: expected a number of results"), "{text}");
}

fn results_are_those_of_all_tests() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let path = home.path().join("results.jsonl");
    let variables = [("ONNX_CONFORMANCE_RESULTS", path.to_str().unwrap())];
    let (code, text) = run_with(&file, "", &["Abs-13"], &variables);
    assert!(code == Some(4) && text.contains("needs a run of all tests of a runtime") && !path.exists(), "{text}");
    let (code, text) = run_with(&file, "", &[], &variables);
    assert_eq!(code, Some(101), "{text}");
    let read = read_results(&mut BufReader::new(fs::File::open(&path).unwrap())).unwrap();
    assert!(read.is_complete() && read.header.runtime.name == "mortal" && read.header.selected.filters.len() == 1);
    assert!(read.results.iter().any(|result| result.id == "ai.onnx/Acos-7/known_values/T=float"), "{text}");
}

fn an_interrupted_run_is_resumed() {
    let home = TempDir::new().unwrap();
    let (file, log) = (home.path().join("expectations.yaml"), home.path().join("requests"));
    let path = home.path().join("results.jsonl");
    let results = || read_results(&mut BufReader::new(fs::File::open(&path).unwrap())).unwrap();
    let threads = ["--test-threads", "1"];
    let variable = |name: &'static str| [(name, path.to_str().unwrap()), (LOG, log.to_str().unwrap())];
    let requests = || fs::read_to_string(&log).unwrap().lines().count();
    let (code, text) = run_with(&file, "interrupt", &threads, &variable("ONNX_CONFORMANCE_RESULTS"));
    assert!(code == Some(1) && text.contains("stopped; not run: ai.onnx/Asin-"), "{text}");
    let first = results();
    let passed = first.results.iter().filter(|result| result.id.starts_with("ai.onnx/Abs-")).count();
    assert!(!first.is_complete() && passed >= 2, "{text}");
    fs::remove_file(&log).unwrap();
    let (code, text) = run_with(&file, "", &threads, &variable("ONNX_CONFORMANCE_RESUME"));
    assert!(
        code == Some(101) && text.contains(&format!("{passed} cases passed before and are not run again")),
        "{text}"
    );
    assert!(text.contains("test ai.onnx/Abs-13 ... ok") && text.contains("test ai.onnx/Asin-7 ... FAILED"), "{text}");
    let (second, resumed) = (results(), requests());
    assert!(second.is_complete() && second.results.len() > first.results.len(), "{text}");
    fs::remove_file(&log).unwrap();
    run_with(&file, "", &threads, &variable("ONNX_CONFORMANCE_RESULTS"));
    assert_eq!((results().results.len(), requests()), (second.results.len(), resumed + passed));
    let resume = &variable("ONNX_CONFORMANCE_RESUME");
    let (code, text) = run_with(&file, "", &["Abs-13"], resume);
    assert!(code == Some(4) && text.contains("ONNX_CONFORMANCE_RESUME needs a run of all tests"), "{text}");
    let (code, text) = run_with(&file, "", &[], &[&resume[..], &[("UPDATE_EXPECTATIONS", "1")]].concat());
    assert!(code == Some(4) && text.contains("omit ONNX_CONFORMANCE_RESUME") && !file.exists(), "{text}");
    let other = fs::read_to_string(&path).unwrap().replacen("\"mortal\"", "\"other\"", 1);
    fs::write(&path, &other).unwrap();
    let (code, text) = run_with(&file, "", &[], resume);
    assert!(code == Some(4) && text.contains("results.jsonl: is about other 1, not mortal 1"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), other);
}

fn a_process_for_one_test_sends_only_its_cases() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("expectations.yaml");
    let log = home.path().join("requests");
    // The tests of a run of cargo-nextest share the variable.
    let run_id = home.path().display().to_string();
    let requests = |test: &str| {
        fs::write(&log, "").unwrap();
        let variables = [(LOG, log.to_str().unwrap()), ("NEXTEST_RUN_ID", run_id.as_str())];
        let (_, text) = run_with(&file, "", &["--exact", test, "--nocapture"], &variables);
        assert!(text.contains("running 1 test"), "{text}");
        fs::read_to_string(&log).unwrap().lines().count()
    };
    let test = "ai.onnx/Abs-13/known_values/T=float";
    let first = requests(test);
    assert!(first > 20, "the opsets and IR versions are probed: {first}");
    assert_eq!(requests(test), 1);
    let (code, text) = run(&file, "", true, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(requests("expectations"), first - 1);
    assert_eq!(requests(test), 1);
}
