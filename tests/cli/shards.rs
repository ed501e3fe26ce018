//! Parts of a run, and their merged results.

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::Path;

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
fn a_merged_failure_is_run_again_on_its_runtime() {
    let folder = Folder::new();
    let files = parts(&folder, 2).into_iter().enumerate().map(|(number, file)| {
        let text = read_to_string(file).unwrap().replace("\"name\":\"builtin\"", "\"name\":\"other\"");
        folder.write(&format!("other-{number}.jsonl"), text.replace("\"outcome\":\"pass\"", "\"outcome\":\"error\""))
    });
    let arguments = [vec!["merge".to_owned()], files.collect(), vec!["-o".to_owned(), folder.file("merged.jsonl")]];
    call(&arguments.concat()).expect(1, "onnx-conformance run --runtime other ai.onnx/");
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

/// Expects that files are not merged, and that nothing is written.
fn expect_refused(files: &[&str], text: &str) {
    let folder = Folder::new();
    let merged = folder.file("merged.jsonl");
    let called = call(&[&["merge"], files, &["-o", &merged]].concat()).expect(4, text);
    assert!(!Path::new(&merged).exists(), "{merged} is written");
    assert_eq!(called.err.lines().count(), 1, "{}", called.err);
}

#[test]
fn a_missing_part_is_refused_unless_that_is_allowed() {
    let folder = Folder::new();
    let (merged, files) = (folder.file("merged.jsonl"), parts(&folder, 3));
    expect_refused(&[&files[0]], "add shards 2/3, 3/3, or merge what there is with --allow-incomplete");
    expect_refused(&[&files[0], &files[2]], "cases have no result, such as ai.onnx/");
    let incomplete = ["merge", &files[0], &files[2], "-o", &merged, "--allow-incomplete"];
    let called = call(&incomplete).expect(4, "cases have no result:\n    ai.onnx/");
    assert!(called.err.contains("    ai.onnx/"), "{}", called.err);
    call(&["compare", &merged, &merged]).expect(4, "merged.jsonl");
    call(&["run", CASES, "--resume", &merged]).expect(0, " pass");
    assert_eq!(ids(&merged), files.iter().flat_map(|file| ids(file)).collect());
}

#[test]
fn a_part_that_ended_early_is_refused() {
    let folder = Folder::new();
    let files = parts(&folder, 2);
    let text = read_to_string(&files[1]).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap();
    let torn = folder.write("torn.jsonl", &text[..=cut]);
    expect_refused(&[&files[0], &torn], "1 cases have no result, such as ai.onnx/");
    expect_refused(&[&files[0], &torn], "torn.jsonl with --resume, or merge");
}

#[test]
fn a_part_that_is_given_twice_is_refused() {
    let folder = Folder::new();
    let files = parts(&folder, 2);
    expect_refused(&[&files[0], &files[1], &files[0]], "is shard 1/2, which");
    let whole = folder.file("whole.jsonl");
    call(&["run", CASES, "--results", &whole]).expect(0, " pass");
    expect_refused(&[&whole, &whole], "give each part once");
    call(&["merge", &files[0], "-o", &files[0]]).expect(64, "choose another file");
}

#[test]
fn parts_of_different_runs_are_refused() {
    let folder = Folder::new();
    let files = parts(&folder, 2);
    let run = |name: &str, arguments: &[&str]| {
        let file = folder.file(name);
        call(&[&["run", "--results", &file], arguments].concat()).expect(0, " pass");
        file
    };
    let other = run("other.jsonl", &["ai.onnx/Neg-13", "--shard", "2/2"]);
    expect_refused(&[&files[0], &other], "other.jsonl: covers 'ai.onnx/Neg-13', but ");
    let quarter = run("quarter.jsonl", &[CASES, "--shard", "2/4"]);
    expect_refused(&[&files[0], &quarter], "quarter.jsonl: is shard 2/4, but ");
    let whole = run("whole.jsonl", &[CASES]);
    expect_refused(&[&files[0], &whole], "whole.jsonl: is no shard, but ");
    let edited = |name: &str, from: &str, to: &str| {
        let text = read_to_string(&files[1]).unwrap();
        let (header, results) = text.split_once('\n').unwrap();
        assert!(header.contains(from), "no {from} in {header}");
        folder.write(name, format!("{}\n{results}", header.replacen(from, to, 1)))
    };
    let suite = edited("suite.jsonl", "\"digest\":\"", "\"digest\":\"0");
    expect_refused(&[&files[0], &suite], "suite.jsonl: is about another suite");
    let runtime = edited("runtime.jsonl", "\"name\":\"builtin\"", "\"name\":\"other\"");
    expect_refused(&[&files[0], &runtime], "runtime.jsonl: is about other");
    let platform = edited("platform.jsonl", "\"os\":\"", "\"os\":\"other");
    expect_refused(&[&files[0], &platform], "run all parts on one platform");
}

#[test]
fn parts_that_take_a_similar_time_are_the_whole() {
    let folder = Folder::new();
    let [whole, merged] = ["whole.jsonl", "merged.jsonl"].map(|name| folder.file(name));
    call(&["run", CASES, "--results", &whole]).expect(0, " pass");
    let run = |number: usize| {
        let (file, shard) = (folder.file(&format!("{number}.jsonl")), format!("{number}/3"));
        let run = ["run", CASES, "--shard", &shard, "--times", &whole, "--results", &file];
        call(&run).expect(0, "and the slowest shard");
        file
    };
    let files: Vec<String> = (1..=3).map(run).collect();
    let header = read_to_string(&files[0]).unwrap().lines().next().unwrap().to_owned();
    assert!(header.contains("\"shard\":\"1/3\",\"times\":\""), "{header}");
    call(&["merge", &files[0], &files[1], &files[2], "-o", &merged]).expect(0, " pass");
    assert_eq!(ids(&merged), ids(&whole));
    let plain = folder.file("plain.jsonl");
    call(&["run", CASES, "--shard", "3/3", "--results", &plain]).expect(0, " pass");
    expect_refused(&[&files[0], &files[1], &plain], "plain.jsonl: its shard is not balanced by times, but ");
    let other = folder.file("other.jsonl");
    call(&["run", CASES, "--shard", "3/3", "--times", &merged, "--results", &other]).expect(0, " pass");
    // The merged results have the times of the parts, not those of the whole.
    expect_refused(&[&files[0], &files[1], &other], "run all shards with the same --times");
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
