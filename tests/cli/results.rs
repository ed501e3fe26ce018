//! Results files: resumed, truncated, locked, full.

use std::fs::{self, File};

use onnx_conformance::reference::proto::Message;

use crate::models::{Folder, identity};
use crate::program::call;

fn with_results() -> (Folder, String) {
    let folder = Folder::with_identity("a");
    folder.add("b", b"no model");
    let file = folder.file("results.jsonl");
    call(&["run", "--suite", &folder.argument(), "--results", &file]).expect(1, "2 cases");
    (folder, file)
}

#[test]
fn a_run_is_taken_up_where_it_failed() {
    let (folder, file) = with_results();
    let other = folder.file("other.jsonl");
    let resume = ["run", "--suite", &folder.argument(), "--resume", &file];
    call(&[&resume[..], &["--results", &other]].concat()).expect(1, "1 cases passed before");
    assert_eq!(fs::read_to_string(&other).unwrap().lines().count(), 3);
    call(&resume).expect(1, "1 cases passed before");
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3);
}

#[test]
fn a_run_that_was_cut_off_is_taken_up_too() {
    let (folder, file) = with_results();
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() - 10]).unwrap();
    let called = call(&["run", "--suite", &folder.argument(), "--resume", &file]).expect(1, "2 cases");
    assert!(called.err.contains("results.jsonl: the last line is incomplete"), "{}", called.err);
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3);
}

#[test]
fn nothing_is_lost_by_taking_up_less() {
    let (folder, file) = with_results();
    let before = fs::read_to_string(&file).unwrap();
    let arguments = ["run", "b", "--suite", &folder.argument(), "--resume", &file];
    call(&arguments).expect(4, "1 results of cases that are not selected now would be lost");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_run_of_another_suite_is_not_taken_up() {
    let (folder, file) = with_results();
    folder.add("c", &identity().encode_to_vec());
    call(&["run", "--suite", &folder.argument(), "--resume", &file]).expect(4, "another suite");
    let text = fs::read_to_string(&file).unwrap().replace("builtin", "other");
    fs::write(&file, text).unwrap();
    call(&["run", "--suite", &folder.argument(), "--resume", &file]).expect(4, "results of two runtimes");
    fs::write(&file, "a,b\n").unwrap();
    call(&["run", "--suite", &folder.argument(), "--resume", &file]).expect(4, "this is not a results file");
}

#[test]
fn two_runs_do_not_write_one_file() {
    let (folder, file) = with_results();
    let before = fs::read_to_string(&file).unwrap();
    let other = File::options().write(true).open(&file).unwrap();
    other.lock().unwrap();
    let arguments = ["run", "--suite", &folder.argument(), "--results", &file];
    call(&arguments).expect(4, "results.jsonl: another run is writing this file");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn a_file_that_is_incomplete_is_no_success_to_compare_with() {
    let (folder, file) = with_results();
    let whole = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let torn = folder.write("torn.jsonl", &whole[..whole.len() - 10]);
    let short = folder.write("short.jsonl", lines[..2].concat());
    for part in [&torn, &short] {
        for files in [[&file, part], [part, &file]] {
            let called = call(&["compare", files[0], files[1]]).expect(4, "1 of 2 cases have no result");
            assert!(called.err.contains("--allow-incomplete") && called.out.contains("builtin"), "{called:?}");
            let arguments = ["compare", files[0], files[1], "--allow-incomplete"];
            call(&arguments).expect(0, "1 of 2 cases have no result");
        }
    }
    call(&["compare", &file, &file]).expect(0, "2 as before");
}

#[test]
fn a_case_with_two_results_is_refused() {
    let (folder, file) = with_results();
    let whole = fs::read_to_string(&file).unwrap();
    let line = whole.lines().find(|line| line.contains("\"error\"")).unwrap();
    let doubled = format!("{whole}{}\n", line.replace("\"error\"", "\"pass\""));
    let other = folder.write("other.jsonl", &doubled);
    for arguments in [
        &["compare", &file, &other][..],
        &["merge", &other, "-o", &folder.file("merged.jsonl"), "--suite", &folder.argument()],
        &["run", "--suite", &folder.argument(), "--resume", &other],
    ] {
        let called = call(arguments).expect(4, "other.jsonl: lines ");
        assert!(called.err.contains(" and 4 are both results of \"b\""), "{called:?}");
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), doubled);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_plain_error() {
    let folder = Folder::with_identity("a");
    let called = call(&["run", "--suite", &folder.argument(), "--results", "/dev/full"]).expect(4, "/dev/full");
    assert_eq!(called.err.lines().count(), 1, "{}", called.err);
}
