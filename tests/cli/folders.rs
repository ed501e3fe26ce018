//! Runs of ordinary test folders, and the files they write.

use std::fs;
use std::path::Path;

use onnx_conformance_harness::run::{Outcome, Read, read_results};
use onnx_conformance_reference::spec::Specs;

use crate::models::Folder;
use crate::program::call;

/// Copies a folder recursively.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            fs::copy(entry.path(), place).unwrap();
        }
    }
}

#[test]
fn a_vendored_case_passes_as_a_folder_of_ones_own() {
    let folder = Folder::new();
    let id = &format!("onnx-{}/node/test_sum_example", Specs::embedded().newest_release());
    call(&["export", &folder.file("exported"), id]).expect(0, "1 cases");
    copy(&folder.path().join("exported").join(id), &folder.path().join("mine/test_sum_example"));
    let called = call(&["list", "--suite", &folder.file("mine")]).expect(0, "");
    assert_eq!(called.out, "test_sum_example\n");
    call(&["run", "--suite", &folder.file("mine")]).expect(0, "1 cases, 1 pass in ");
}

#[test]
fn an_archive_has_the_outcomes_of_its_cases() {
    let folder = Folder::new();
    let (archive, filter) = (folder.file("cases.onnxcases"), "ai.onnx/{Abs,SequenceAt}-{11,13}/**");
    call(&["export", "--archive", &archive, filter]).expect(0, "cases");
    let listed = call(&["list", filter]).expect(0, "").out;
    assert_eq!(call(&["list", "--suite", &archive]).expect(0, "").out, listed);
    let results = |name: &str, arguments: &[&str]| {
        let file = folder.file(name);
        call(&[&["run", "--results", &file][..], arguments].concat()).expect(0, " pass");
        let text = fs::read_to_string(file).unwrap();
        let mut results = read_results(&mut text.as_bytes()).unwrap().results;
        results.sort_by(|a, b| a.id.cmp(&b.id));
        results.into_iter().map(|result| (result.id, result.outcome)).collect::<Vec<_>>()
    };
    let own = results("own.jsonl", &[filter]);
    assert_eq!(own.len(), listed.lines().count());
    assert_eq!(results("archived.jsonl", &["--suite", &archive]), own);
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
    call(&["run", "--suite", &archive]).expect(4, "so the file was cut off or extended; copy the archive again");
    fs::write(&archive, "id,model\n").unwrap();
    call(&["list", "--suite", &archive]).expect(4, "is not an archive");
}

#[test]
fn ids_of_folders_are_sorted() {
    let folder = Folder::with_identity("b");
    for name in ["c/2", "a", "c/1"] {
        copy(&folder.path().join("b"), &folder.path().join(name));
    }
    assert_eq!(call(&["list", "--suite", &folder.argument()]).out, "a\nb\nc/1\nc/2\n");
}

#[test]
fn a_folder_without_models_is_an_error() {
    let folder = Folder::new();
    call(&["run", "--suite", &folder.argument()]).expect(4, "no folder here contains a model.onnx");
    call(&["run", "--suite", &folder.file("missing")]).expect(4, "missing");
}

#[test]
fn results_have_a_header_and_a_line_a_case() {
    let folder = Folder::with_identity("good");
    folder.add("bad", b"no model");
    let file = folder.file("results.jsonl");
    call(&["run", "--suite", &folder.argument(), "--results", &file]).expect(1, "2 cases");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    let Read { header, mut results, .. } = read_results(&mut text.as_bytes()).unwrap();
    results.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!((header.runtime.name.as_str(), header.selected.cases), ("builtin", 2));
    let outcomes: Vec<(&str, Outcome)> = results.iter().map(|result| (result.id.as_str(), result.outcome)).collect();
    assert_eq!(outcomes, [("bad", Outcome::Error), ("good", Outcome::Pass)]);
}

#[test]
fn results_in_a_missing_folder_are_a_plain_error() {
    let folder = Folder::with_identity("case");
    let file = folder.file("missing/results.jsonl");
    let called = call(&["run", "--suite", &folder.argument(), "--results", &file]).expect(4, "missing/results.jsonl");
    assert_eq!(called.err.lines().count(), 1, "{}", called.err);
    assert!(called.err.starts_with("error: "), "{}", called.err);
}

#[cfg(unix)]
#[test]
fn a_folder_whose_model_cannot_be_read_is_never_another_models_case() {
    use std::os::unix::fs::symlink;
    let folder = Folder::with_identity("root");
    let root = folder.path().join("root");
    for name in ["dangling", "folder", "pipe", "device"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    symlink("nowhere", root.join("dangling/model.onnx")).unwrap();
    symlink("/dev/zero", root.join("device/model.onnx")).unwrap();
    fs::create_dir(root.join("folder/model.onnx")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe/model.onnx")).status().unwrap().success());
    let suite = root.display().to_string();
    call(&["run", "--suite", &suite, "root"]).expect(0, "1 cases, 1 pass");
    for (name, message) in [
        ("dangling", "dangling/model.onnx: No such file"),
        ("folder", "folder/model.onnx: is not a regular file"),
        ("pipe", "pipe/model.onnx: is not a regular file"),
        ("device", "device/model.onnx: is not a regular file"),
    ] {
        let called = call(&["run", "--suite", &suite, name]).expect(4, message);
        assert!(!called.out.contains("pass"), "{called:?}");
    }
}

#[test]
fn two_folders_of_one_id_are_an_error() {
    let folder = Folder::with_identity("root");
    copy(&folder.path().join("root"), &folder.path().join("copy"));
    copy(&folder.path().join("copy"), &folder.path().join("root/root"));
    call(&["list", "--suite", &folder.path().join("root").display().to_string()]).expect(4, "has the same id as");
}
