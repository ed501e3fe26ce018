//! `--text`: levels by the texts of a release.

use std::fs;

use onnx_conformance_reference::spec::Specs;
use serde_json::Value;

use crate::models::Folder;
use crate::program::call;

/// A case that is open by the texts before 1.24.0.
const ZEROS: &str = "ai.onnx/DynamicQuantizeLinear-11/zeros";

/// A release whose texts leave the case open.
const BEFORE: &str = "1.22.0";

/// The release whose text decides the case.
const DECIDING: &str = "1.24.0";

fn json(arguments: &[&str]) -> Value {
    let called = call(&[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&called.out).unwrap_or_else(|error| panic!("{error}: {called:?}"))
}

#[test]
fn a_case_has_the_level_of_the_selected_text() {
    for (text, level) in [(BEFORE, "open"), (DECIDING, "required"), ("99.0", "required")] {
        assert_eq!(json(&["show", ZEROS, "--text", text])["level"], level, "{text}");
        assert_eq!(json(&["list", ZEROS, "--text", text])[0]["level"], level, "{text}");
    }
    let sentence = "text: required from the text of 1.24.0 on; open before";
    call(&["show", ZEROS, "--text", BEFORE]).expect(0, sentence);
    call(&["show", "DynamicQuantizeLinear", "--definition"])
        .expect(0, "required from the text of 1.24.0 on; open before: zeros");
}

#[test]
fn results_name_the_text_and_are_not_combined_with_those_of_another() {
    let folder = Folder::new();
    let [before, deciding, merged] = ["before.jsonl", "deciding.jsonl", "merged.jsonl"].map(|name| folder.file(name));
    let run = |text: &str, file: &str| call(&["run", ZEROS, "--text", text, "--results", file]);
    run(BEFORE, &before).expect(0, "1 open");
    run(DECIDING, &deciding).expect(0, "1 pass");
    let lines = |file: &str| -> Vec<Value> {
        fs::read_to_string(file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!((&lines(&before)[0]["text"], &lines(&before)[1]["level"]), (&BEFORE.into(), &"open".into()));
    assert_eq!((&lines(&deciding)[0]["text"], &lines(&deciding)[1]["level"]), (&DECIDING.into(), &"required".into()));
    assert_eq!(json(&["run", ZEROS, "--text", DECIDING])["text"], DECIDING);

    let other = format!("before.jsonl: was judged by the texts of ONNX {BEFORE}, not {DECIDING}; use --text {BEFORE}");
    call(&["run", ZEROS, "--text", DECIDING, "--resume", &before]).expect(4, &other);
    let merge = ["merge", &deciding, &before, "--output", &merged];
    call(&merge).expect(4, &format!("before.jsonl: was judged by the texts of ONNX {BEFORE}, not {DECIDING}"));
    let compared = call(&["compare", &before, &deciding]);
    let note = format!("judged by the texts of ONNX {BEFORE} and {DECIDING}, so the levels of cases may differ");
    assert!(compared.err.contains(&note), "{compared:?}");
}

#[test]
fn the_text_of_the_suite_is_the_default() {
    let folder = Folder::new();
    let file = folder.file("results.jsonl");
    let newest = Specs::embedded().newest_release();
    call(&["run", ZEROS, "--results", &file]).expect(0, "1 cases");
    assert!(fs::read_to_string(&file).unwrap().contains(&format!("\"text\":\"{newest}\"")));
    call(&["run", ZEROS, "--text", newest, "--resume", &file]).expect(0, "1 cases passed before");
}

#[test]
fn a_later_text_is_noted_and_an_unknown_one_is_refused() {
    let later = call(&["show", ZEROS, "--text", "99.0"]);
    let newest = Specs::embedded().newest_release();
    assert!(
        later.err.contains(&format!("ONNX 99.0.0 is later than {newest}, which the suite is made for")),
        "{later:?}"
    );
    call(&["list", "--text", "0.9"]).expect(64, "there is no ONNX release 0.9.0; known releases: 1.0, 1.1, ");
    call(&["run", "--text", "newest"]).expect(64, "'newest' is not a version of ONNX");
    call(&["run", "--text", BEFORE, "--stale"]).expect(64, "omit --stale or --text");
    let folder = Folder::with_identity("a");
    call(&["run", "--text", BEFORE, "--suite", &folder.argument()]).expect(64, "--suite");
    let measurement = folder.write("1.yaml", "runtime: builtin\nversion: '1'\nexact: true\nexpect: []\n");
    let update = ["run", "--text", BEFORE, "--expectations", &measurement, "--update-expectations"];
    call(&update).expect(4, "1.yaml: a measurement is judged by the texts of ONNX");
}
