//! Closed or full standard output and standard error.

use std::fs;
use std::io::pipe;
use std::process::{Command, Stdio};

use crate::models::Folder;
use crate::program::{call, command};

/// Creates a folder with a passing and a failing case, and the results of a run.
fn with_results() -> (Folder, String) {
    let folder = Folder::with_identity("good");
    folder.add("bad", b"no model");
    let results = folder.file("results.jsonl");
    call(&["run", "--suite", &folder.argument(), "--results", &results]).expect(1, "2 cases");
    (folder, results)
}

/// Returns the exit code when the reader of standard output has closed it.
fn code_unread(mut command: Command) -> Option<i32> {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked") && !err.contains("error"), "{err}");
    output.status.code()
}

#[test]
fn a_gate_does_its_work_whoever_reads() {
    let (folder, results) = with_results();
    let (suite, junit, other) = (folder.argument(), folder.file("junit.xml"), folder.file("other.jsonl"));
    let run = ["run", "--suite", &suite, "--report", &format!("junit={junit}"), "--failures", &folder.file("failures")];
    assert_eq!(code_unread(command(&run)), Some(1));
    assert!(fs::read_to_string(&junit).unwrap().contains("tests=\"2\""));
    assert!(folder.path().join("failures/bad/model.onnx").is_file());
    fs::remove_file(&junit).unwrap();
    let suite = Folder::with_identity("good");
    suite.add("bad", b"no model");
    let merge = ["merge", &results, "-o", &other, "--suite", &folder.argument(), "--report", &format!("junit={junit}")];
    fs::remove_dir_all(folder.path().join("failures")).unwrap();
    assert_eq!(code_unread(command(&merge)), Some(1));
    assert!(fs::read_to_string(&junit).unwrap().contains("tests=\"2\""));
    let text = fs::read_to_string(&results).unwrap().replace("error", "pass");
    let better = folder.write("better.jsonl", text);
    assert_eq!(code_unread(command(&["compare", &better, &results])), Some(1));
    assert_eq!(code_unread(command(&["coverage", "ai.onnx/Abs-13"])), Some(0));
}

#[test]
fn what_is_only_printed_ends_quietly() {
    for arguments in
        [&["list"][..], &["show", "ai.onnx/Abs-13/known_values/T=float"], &["diff", "Sum", "8", "13"], &["--help"]]
    {
        assert_eq!(code_unread(command(arguments)), Some(0), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_is_no_reason_to_fail() {
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let (folder, _) = with_results();
    let code = |arguments: &[&str]| {
        let status = command(arguments).stderr(full()).stdout(Stdio::null()).status().unwrap();
        status.code()
    };
    let suite = folder.argument();
    let failures = folder.file("failures");
    assert_eq!(code(&["run", "--suite", &suite, "--failures", &failures]), Some(1));
    assert_eq!(code(&["run", "--suite", &suite, "good"]), Some(0));
    assert_eq!(code(&["run", "--suite", &folder.file("none")]), Some(4));
    assert_eq!(code(&["run", "--nonsense"]), Some(64));
    assert_eq!(code(&["list", "none"]), Some(3));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_told_after_the_files_are_written() {
    let (folder, _) = with_results();
    let (junit, failures) = (folder.file("junit.xml"), folder.file("failures"));
    let mut command = command(&[
        "run",
        "--suite",
        &folder.argument(),
        "--report",
        &format!("junit={junit}"),
        "--failures",
        &failures,
    ]);
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let called = crate::program::finish(command).expect(4, "error: cannot write to standard output: ");
    assert!(fs::read_to_string(&junit).unwrap().contains("tests=\"2\""), "{called:?}");
}
