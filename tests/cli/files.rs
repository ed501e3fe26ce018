//! Files owned by users: replaced as a whole or not at all.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use onnx_conformance::reference::proto::Message as _;

use crate::models::Folder;
use crate::program::{Called, call, command, finish};

/// First line of an older results file.
const OLD: &str = "{\"format\":1}\n";

/// Calls the program where no file can grow, as on a full disk.
fn call_on_full_disk(arguments: &[&str]) -> Called {
    let program = command(arguments);
    let mut shell = Command::new("bash");
    shell.args(["-c", "ulimit -f 0; exec \"$@\"", "bash"]);
    shell.arg(program.get_program()).args(program.get_args()).current_dir(env!("CARGO_MANIFEST_DIR"));
    finish(shell)
}

/// Creates a folder with a passing and a failing case.
fn with_failure() -> Folder {
    let folder = Folder::with_identity("good");
    folder.add("bad", b"no model");
    folder
}

fn count(folder: &Folder) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

#[test]
fn a_full_disk_leaves_the_old_files() {
    let folder = with_failure();
    let files = [
        ("junit.xml", "<testsuites/>"),
        ("summary.md", "## ONNX conformance of a: b\n"),
        ("badge.json", "{\"schemaVersion\":1}"),
        ("results.jsonl", "{\"format\":1}\n"),
        ("expectations.yaml", "# ours\nruntime: builtin\nexpect: []\n"),
    ];
    let [junit, markdown, badge, results, expectations] = files.map(|(name, old)| folder.write(name, old));
    let (suite, before) = (folder.argument(), count(&folder));
    for (format, file) in [("junit", &junit), ("markdown", &markdown), ("badge", &badge)] {
        let report = format!("{format}={file}");
        let called = call_on_full_disk(&["run", "--suite", &suite, "--report", &report]).expect(4, "File too large");
        assert!(called.err.contains(file) && called.out.contains("2 cases"), "{called:?}");
    }
    call_on_full_disk(&["run", "--suite", &suite, "--results", &results]).expect(4, "the results cannot be written");
    let update = ["run", "--suite", &suite, "--expectations", &expectations, "--update-expectations"];
    call_on_full_disk(&update).expect(4, "expectations.yaml: File too large");
    for (file, old) in files {
        assert_eq!(fs::read_to_string(folder.path().join(file)).unwrap(), old, "{file}");
    }
    assert_eq!(count(&folder), before, "something half-written stays");
    call(&update).expect(0, "wrote");
}

#[test]
fn a_merge_on_a_full_disk_leaves_the_old_file() {
    let folder = with_failure();
    let (suite, part, whole) = (folder.argument(), folder.file("part.jsonl"), folder.write("whole.jsonl", OLD));
    call(&["run", "--suite", &suite, "--results", &part]).expect(1, "2 cases");
    let before = count(&folder);
    call_on_full_disk(&["merge", &part, "-o", &whole, "--suite", &suite]).expect(4, "File too large");
    assert_eq!((fs::read_to_string(&whole).unwrap().as_str(), count(&folder)), (OLD, before));
}

#[test]
fn a_run_that_is_taken_up_on_a_full_disk_keeps_its_file() {
    let folder = with_failure();
    let (suite, results) = (folder.argument(), folder.file("results.jsonl"));
    call(&["run", "--suite", &suite, "--results", &results]).expect(1, "2 cases");
    let before = fs::read(&results).unwrap();
    call_on_full_disk(&["run", "--suite", &suite, "--resume", &results]).expect(4, "the results cannot be written");
    assert_eq!(fs::read(&results).unwrap(), before);
}

#[test]
fn a_run_that_does_not_begin_leaves_no_results_file() {
    let folder = with_failure();
    let (suite, results, before) = (folder.argument(), folder.file("results.jsonl"), count(&folder));
    call(&["run", "--suite", &suite, "--results", &results, "--runtime", "no-such-program"]).expect(4, "cannot start");
    call(&["run", "--suite", &suite, "--resume", &results]).expect(4, "results.jsonl: No such file");
    call_on_full_disk(&["run", "--suite", &suite, "--results", &results]).expect(4, "cannot be written");
    assert_eq!(count(&folder), before);
}

#[test]
fn two_updates_lose_nothing_of_each_other() {
    let folder = with_failure();
    let (suite, file) =
        (folder.argument(), folder.write("e.yaml", "runtime: builtin\nexpect:\n  - {unsupported: a}\n"));
    let held = File::open(folder.path()).unwrap();
    held.lock().unwrap();
    let update = ["run", "--suite", &suite, "--expectations", &file, "--update-expectations"];
    let mut command = command(&[&update[..], &["--results", "/dev/stdout"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // The first line is printed after the expectations were read.
    out.read_line(&mut String::new()).unwrap();
    let entry = "  - {cases: x@constants, outcome: error}\n";
    fs::write(&file, format!("runtime: builtin\nexpect:\n{entry}")).unwrap();
    drop(held);
    out.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let expected = format!("runtime: builtin\nexpect:\n{entry}  - {{cases: bad, outcome: error}}\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
}

#[test]
fn a_full_disk_leaves_no_part_of_a_model() {
    let folder = Folder::new();
    let model = folder.write("model.onnx", crate::models::identity().encode_to_vec());
    let (out, nodes, report) = (folder.file("out.onnx"), folder.file("nodes"), folder.file("report.json"));
    call_on_full_disk(&["convert", &model, "--opset", "14", "-o", &out]).expect(4, "out.onnx");
    call_on_full_disk(&["check", &model, "--save-node", &nodes, "--node", "all"])
        .expect(4, "model.0-Identity-13.onnx: ");
    call_on_full_disk(&["check", &model, "--format", "json", "-o", &report]).expect(4, "report.json");
    assert_eq!((count(&folder), fs::read_dir(nodes).unwrap().count()), (2, 0));
}
