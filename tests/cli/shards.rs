//! Parts of a run, and their merged results.

use std::collections::BTreeSet;
use std::fs::read_to_string;

use crate::models::Folder;
use crate::program::{Called, call, command, finish};

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

/// Variables of schedulers that a test machine may set.
const SCHEDULERS: [&str; 4] =
    ["ONNX_CONFORMANCE_SHARD", "SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "CI_NODE_INDEX"];

/// Calls the program with only these variables of schedulers.
fn call_with_variables(arguments: &[&str], variables: &[(&str, &str)]) -> Called {
    let mut command = command(arguments);
    for name in SCHEDULERS {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    finish(command)
}

#[test]
fn times_need_a_shard_and_some_of_its_cases() {
    let folder = Folder::new();
    let (file, own) = (folder.file("neg.jsonl"), folder.file("own.jsonl"));
    call(&["run", "ai.onnx/Neg-13", "--results", &file]).expect(0, " pass");
    call(&["run", CASES, "--times", &file]).expect(64, "--shard");
    let said = "neg.jsonl: has the time of none of the";
    call(&["run", CASES, "--shard", "1/2", "--times", &file, "--results", &own]).expect(4, said);
    call(&["run", CASES, "--shard", "1/2", "--times", &file, "--results", &file]).expect(64, "the file of --times");
    call(&["run", CASES, "--shard", "1/2", "--times", &folder.file("no.jsonl")]).expect(4, "no.jsonl");
}

#[test]
fn a_scheduler_assigns_the_part() {
    let folder = Folder::new();
    let (files, own) = (parts(&folder, 3), folder.file("own.jsonl"));
    let run = ["run", CASES, "--shard", "auto", "--results", &own];
    for variables in [
        &[("ONNX_CONFORMANCE_SHARD", "2/3")][..],
        &[("JOB_COMPLETION_INDEX", "1"), ("JOB_COMPLETIONS", "3")],
        &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "3")],
        &[
            ("SLURM_ARRAY_TASK_ID", "5"),
            ("SLURM_ARRAY_TASK_MIN", "4"),
            ("SLURM_ARRAY_TASK_MAX", "6"),
            ("SLURM_ARRAY_TASK_STEP", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "3"),
        ],
    ] {
        let (name, value) = variables[0];
        call_with_variables(&run, variables).expect(0, &format!("running shard 2/3, by {name}={value}\n"));
        assert_eq!(ids(&own), ids(&files[1]), "{variables:?}");
    }
    call_with_variables(&run, &[]).expect(64, "error: --shard auto: no scheduler assigns a shard");
    call_with_variables(&run, &[("JOB_COMPLETION_INDEX", "1")]).expect(64, "JOB_COMPLETIONS is not; set it");
    let two = [("JOB_COMPLETION_INDEX", "1"), ("CI_NODE_INDEX", "1")];
    call_with_variables(&run, &two).expect(64, "both JOB_COMPLETION_INDEX and CI_NODE_INDEX are set");
}

#[test]
fn what_is_no_part_is_bad_usage() {
    for part in ["0/3", "4/3", "x"] {
        call(&["run", CASES, "--shard", part]).expect(64, "expected K/N with K from 1 to N, such as 2/8, or auto");
    }
}
