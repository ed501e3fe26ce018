//! Parts of a run, and their merged results.

use std::collections::BTreeSet;
use std::fs::read_to_string;

use crate::models::Folder;
use crate::program::call;

const CASES: &str = "ai.onnx/{Abs,Sign}-13/**";

/// Runs the parts, and returns their results files.
fn parts(folder: &Folder, of: usize) -> Vec<String> {
    let run = |number: usize| {
        let file = folder.file(&format!("{number}.jsonl"));
        let shard = format!("{number}/{of}");
        call(&["run", CASES, "--shard", &shard, "--results", &file]).expect(0, " pass");
        file
    };
    (1..=of).map(run).collect()
}

fn ids(file: &str) -> BTreeSet<String> {
    let text = read_to_string(file).unwrap();
    text.lines().skip(1).map(|line| line.split('"').nth(3).unwrap().to_owned()).collect()
}

#[test]
fn the_parts_are_the_whole_and_merge_to_it() {
    let folder = Folder::new();
    let (whole, merged) = (folder.file("whole.jsonl"), folder.file("merged.jsonl"));
    let files = parts(&folder, 3);
    call(&["run", CASES, "--results", &whole]).expect(0, " pass");
    let all: Vec<BTreeSet<String>> = files.iter().map(|file| ids(file)).collect();
    assert_eq!(all.iter().map(BTreeSet::len).sum::<usize>(), ids(&whole).len());
    assert_eq!(all.into_iter().flatten().collect::<BTreeSet<_>>(), ids(&whole));
    call(&["merge", &files[0], &files[1], &files[2], "-o", &merged]).expect(0, " pass");
    assert_eq!(ids(&merged), ids(&whole));
    call(&["compare", &whole, &merged])
        .expect(0, "0 broken, 0 fixed, 0 changed, 0 taken by one alone, 0 added, 0 removed");
}

#[test]
fn a_part_that_is_missing_is_told_and_one_that_is_there_twice_is_refused() {
    let folder = Folder::new();
    let (merged, files) = (folder.file("merged.jsonl"), parts(&folder, 2));
    let called = call(&["merge", &files[0], "-o", &merged]).expect(4, "cases have no result");
    assert!(called.err.contains("    ai.onnx/"), "{}", called.err);
    call(&["merge", &files[0], &files[1], &files[0], "-o", &merged]).expect(4, "give each part once");
    call(&["merge", &files[0], "-o", &files[0]]).expect(64, "choose another file");
    let other = folder.file("other.jsonl");
    call(&["run", "ai.onnx/Neg-13", "--results", &other]).expect(0, " pass");
    call(&["merge", &files[0], &other, "-o", &merged]).expect(4, "the filters differ");
}

#[test]
fn what_is_no_part_is_bad_usage() {
    for part in ["0/3", "4/3", "x"] {
        call(&["run", CASES, "--shard", part]).expect(64, "K/N");
    }
}
