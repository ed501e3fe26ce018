//! Endless files, deeply nested patterns, and machines with few resources.

#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use onnx_conformance::reference::proto::Message as _;

use crate::models::{Folder, identity};
use crate::program::{Called, call, command, finish};

#[test]
fn a_results_file_is_a_regular_file_of_a_bounded_size() {
    let folder = Folder::with_identity("good");
    let (suite, good, pipe) = (folder.argument(), folder.file("good.jsonl"), folder.file("pipe"));
    call(&["run", "--suite", &suite, "--results", &good]).expect(0, "1 cases");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (huge, long) = (folder.file("huge"), folder.write("long", "x".repeat((2 << 20) + 1)));
    fs::File::create(&huge).unwrap().set_len(3 << 30).unwrap();
    let rows = [
        (pipe.as_str(), "is not a regular file"),
        ("/dev/zero", "is not a regular file"),
        (&huge, "is larger than the limit of 536870912 bytes"),
        (&long, "line 1 exceeds the limit of 2097152 bytes"),
    ];
    for (file, text) in rows {
        call(&["compare", &good, file]).expect(4, text);
        call(&["merge", file, "-o", &folder.file("merged"), "--suite", &suite]).expect(4, text);
        call(&["report", file, "-o", &folder.file("report")]).expect(4, text);
        let new = folder.file("e.yaml");
        call(&["run", "--init", "--suite", &suite, "--from-results", file, "--expectations", &new]).expect(4, text);
        call(&["run", "--suite", &suite, "--resume", file, "--results", &folder.file("new")]).expect(4, text);
    }
    for file in [pipe.as_str(), "/dev/zero"] {
        call(&["list", "--from", file]).expect(4, "is not a regular file");
    }
    call(&["list", "--from", &folder.write("line", "x".repeat(5 << 20))]).expect(4, "line:1: has a line longer than");
}

#[test]
fn a_pattern_that_nests_without_end_is_named_with_its_place() {
    let folder = Folder::with_identity("good");
    let nested = format!("{}b{}", "{a,".repeat(300), "}".repeat(300));
    let list = folder.write("list", format!("ai.onnx/Abs-13\n{nested}\n"));
    for subcommand in ["list", "coverage"] {
        call(&[subcommand, "--from", &list]).expect(64, "list:2: '{a,{a,");
        call(&[subcommand, &nested]).expect(64, "it has more than 64 braces");
    }
    let text = format!("runtime: builtin\nexpect:\n  - {{cases: \"{nested}\", outcome: error}}\n");
    let file = folder.write("e.yaml", text);
    let run = ["run", "--suite", &folder.argument(), "--expectations", &file];
    let called = call(&run).expect(4, "e.yaml");
    assert!(called.err.contains("it has more than 64 braces"), "{called:?}");
}

/// Calls the program under a limit of the shell.
fn call_within(limit: &str, arguments: &[&str]) -> Called {
    let program = command(arguments);
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "bash"]);
    shell.arg(program.get_program()).args(program.get_args()).current_dir(env!("CARGO_MANIFEST_DIR"));
    finish(shell)
}

#[test]
fn a_small_stack_is_enough() {
    let folder = Folder::new();
    let model = folder.write("m.onnx", identity().encode_to_vec());
    call_within("-s 64", &["check", &model]).expect(0, "valid");
    call_within("-s 64", &["run", "ai.onnx/Abs-13/known_values"]).expect(0, " pass");
}

#[test]
fn a_number_of_threads_is_bounded_where_threads_are_needed() {
    let folder = Folder::new();
    let model = folder.write("m.onnx", identity().encode_to_vec());
    let other = folder.write("n.onnx", identity().encode_to_vec());
    let call = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("RAYON_NUM_THREADS", "99999999");
        finish(command)
    };
    let text = "RAYON_NUM_THREADS=99999999: expected a whole number from 0 to 1024";
    call(&["check", &model]).expect(0, "valid");
    call(&["check", &model, &other]).expect(64, text);
    call(&["run", "ai.onnx/Abs-13/known_values"]).expect(64, text);
}
