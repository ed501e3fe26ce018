//! Versions of the suite that this program does not have.

use std::fs;

use onnx_conformance_cases::suite::SUITE_VERSION;
use onnx_conformance_harness::promises::FrozenList;
use regex::Regex;

use crate::models::Folder;
use crate::program::{Called, call};
use crate::snapshot::check;

const CASE: &str = "ai.onnx/Abs-13/ranks/X=2x3x4/T=float";

/// Removes the parts of standard error that depend on the folder and on the suite.
fn redacted(called: &Called, folder: &Folder) -> String {
    let known = Regex::new(r"(knows|such as) [0-9.]+(, [0-9.]+)*").unwrap();
    let text = called.err.replace(&folder.argument(), "FOLDER");
    known.replace_all(&text, "$1 FROZEN").replace(SUITE_VERSION, "SUITE")
}

fn expectations(folder: &Folder, suite: &str) -> String {
    folder.write("mine.yaml", format!("runtime: builtin\nsuite: \"{suite}\"\nexpect: []\n"))
}

#[test]
fn an_expectation_file_of_a_later_suite_is_noted_though_every_case_passes() {
    let folder = Folder::new();
    let file = expectations(&folder, "99.0.0 08fcdb34d27a364b");
    let called = call(&["run", CASE, "--expectations", &file]).expect(0, "1 cases, 1 pass");
    check("run-later-suite", &redacted(&called, &folder));
    let file = expectations(&folder, &format!("{SUITE_VERSION} 08fcdb34d27a364b"));
    let called = call(&["run", CASE, "--expectations", &file]).expect(0, "1 cases, 1 pass");
    assert_eq!(called.err, "");
}

#[test]
fn failures_against_a_file_of_an_unknown_suite_name_the_way_out() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("ai.onnx/Abs")).unwrap();
    let case = "{name: wrong, inputs: {X: {values: [-1, 2]}}, outputs: {Y: {values: [-1, 2]}}}";
    folder.write("ai.onnx/Abs/op.yaml", format!("op: Abs\nsummary: x\ncases:\n  - {case}\n"));
    let file = expectations(&folder, "0.0.1 08fcdb34d27a364b");
    let (specs, failures) = (folder.argument(), folder.file("failures"));
    let run = ["run", "ai.onnx/Abs-13/wrong/T=float", "--specs", &specs, "--expectations", &file];
    let called = call(&[&run[..], &["--failures", &failures]].concat()).expect(1, "1 mismatch");
    let note: Vec<String> =
        redacted(&called, &folder).lines().filter(|line| line.contains("0.0.1")).map(str::to_owned).collect();
    check("run-unknown-suite", &note.join("\n"));
}

#[test]
fn changes_between_unknown_versions_are_refused_with_the_way_out() {
    let folder = Folder::new();
    let refused = ["99.0.0", "0.0.1", "1"].map(|version| {
        let called = call(&["diff", &format!("suite@{version}")]).expect(64, version);
        redacted(&called, &folder)
    });
    check("changes-unknown", &refused.concat());
}

#[test]
fn versions_of_the_suite_are_compared_like_versions_of_an_operator() {
    let frozen = FrozenList::versions().next().unwrap();
    let named = format!("suite@{frozen}");
    let from = named.as_str();
    let diff = |arguments: &[&str]| call(&[&["diff"], arguments].concat());
    for arguments in [&[from, from][..], &[from, frozen], &[from, from, "--all"]] {
        diff(arguments).expect(0, &format!("suite {frozen} -> {frozen}\nno case differs\n"));
    }
    diff(&[from, from, "--format", "markdown"]).expect(0, &format!("## suite {frozen} → {frozen}\n\nno case differs"));
    let refused: [(&[&str], &str); 5] = [
        (&["suite"], "'suite' has no version; write for example suite@"),
        (&[from, "Sum@13"], "'Sum@13' is no version of the suite, as suite@"),
        (&[from, from, "13"], "the third argument is about operators"),
        (&[from, "--text"], "--text is about operators, and suite@"),
        (&["Sum@8", from], "Sum is an operator, and suite@"),
    ];
    for (arguments, said) in refused {
        diff(arguments).expect(64, said);
    }
}

#[test]
fn an_update_of_a_part_names_the_way_to_run_only_changed_cases() {
    let folder = Folder::new();
    let file = expectations(&folder, "0.0.1 08fcdb34d27a364b");
    let called = call(&["run", CASE, "--expectations", &file, "--update-expectations"]).expect(64, "the filters");
    check("update-of-a-part", &redacted(&called, &folder));
}
