//! Submissions: sealed, verified and refused.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs};
use serde_json::{Value, json};

use crate::models::Folder;
use crate::program::{Called, call};

/// The address of the runtime's version.
const PACKAGE: &str = "https://example.org/mine-1.2.0";

/// A case that fails in the results.
const FAILING: &str = "ai.onnx/Abs-13/known_values/T=double";

/// Results of a run of the whole suite on a runtime that passes all cases but one.
static RESULTS: LazyLock<String> = LazyLock::new(|| {
    let folder = Folder::new();
    let small = folder.file("small.jsonl");
    call(&["run", FAILING, "--results", &small]).expect(0, "1 pass");
    let text = fs::read_to_string(&small).unwrap();
    let mut header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let listed: Vec<Value> = serde_json::from_str(&call(&["list", "--format", "json"]).expect(0, FAILING).out).unwrap();
    header["runtime"] = json!({"name": "mine", "version": "1.2.0"});
    header["selected"] = json!({"cases": listed.len(), "variant": "runtime"});
    let mut results = format!("{header}\n");
    for case in &listed {
        let id = case["id"].as_str().unwrap();
        let level = case.get("level").and_then(Value::as_str).unwrap_or("required");
        let outcome = if id == FAILING { "mismatch" } else { "pass" };
        let line = json!({ "id": id, "outcome": outcome, "level": level, "ms": 1.0 });
        results.push_str(&line.to_string());
        results.push('\n');
    }
    results
});

/// Returns the first line of the results after a change, with the line of one case.
fn short(change: impl FnOnce(&mut Value)) -> String {
    let mut header: Value = serde_json::from_str(RESULTS.lines().next().unwrap()).unwrap();
    change(&mut header);
    format!("{header}\n{}\n", RESULTS.lines().find(|line| line.contains(FAILING)).unwrap())
}

/// Writes an unsealed submission into a folder: these results, or those of a whole run, and an adapter.
pub(crate) fn write_submission(folder: &Path, results: Option<&str>) {
    fs::create_dir_all(folder.join("adapter")).unwrap();
    fs::write(folder.join("results.jsonl"), results.unwrap_or(&RESULTS)).unwrap();
    fs::write(folder.join("adapter/adapter.yaml"), "command: [\"{python}\", adapter.py]\n").unwrap();
    fs::write(folder.join("adapter/adapter.py"), "pass\n").unwrap();
}

/// Seals the submission in a folder.
pub(crate) fn seal(folder: &Path) -> Called {
    call(&["submit-check", folder.to_str().unwrap(), "--seal", "--package", PACKAGE])
}

/// Expects that a submission with these results is refused with one sentence, and is not sealed.
fn expect_refused(results: &str, said: &str) {
    let folder = Folder::new();
    write_submission(folder.path(), Some(results));
    let called = seal(folder.path()).expect(4, said);
    assert_eq!(called.err.lines().count(), 1, "{}", called.err);
    assert!(!folder.path().join("submission.yaml").exists());
}

#[test]
fn a_whole_run_is_sealed_and_verified() {
    let folder = Folder::new();
    write_submission(folder.path(), None);
    let newest = Specs::embedded().newest_opset(DEFAULT_DOMAIN).unwrap();
    let sealed = seal(folder.path()).expect(0, &format!("mine 1.2.0 ({PACKAGE})")).expect(0, "required cases pass;");
    assert!(sealed.out.contains(&format!("conformant with opset {newest}, profile full: no; 1 of ")), "{}", sealed.out);
    assert!(sealed.out.contains("\n  Abs-13: 1 of ") && sealed.out.contains(" (T=double)\n"), "{}", sealed.out);
    let check = ["submit-check", &folder.argument()];
    let verified = call(&[&check[..], &["--opset", "12", "--opset", "13"]].concat());
    let verified = verified.expect(0, "conformant with opset 12, profile full: yes; every required case of ");
    assert!(verified.out.contains("conformant with opset 13, profile full: no; 1 of "), "{}", verified.out);
    call(&[&check[..], &["--opset", "13", "--type", "float"]].concat())
        .expect(0, "conformant with opset 13, profile full in float: yes; every required case of ");
    let manifest = folder.file("submission.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    for fact in
        ["runtime: \"mine\"\n", "profile: \"full\"\n", "  \"adapter/adapter.py\": \"", "  \"results.jsonl\": \""]
    {
        assert!(text.contains(fact), "no {fact} in\n{text}");
    }
    fs::write(&manifest, text.replacen("version: \"1.2.0\"", "version: \"1.3.0\"", 1)).unwrap();
    call(&check).expect(4, "submission.yaml: says `version: 1.3.0`, but the results and the adapter show '1.2.0'");
    fs::write(&manifest, text.replacen("profile: \"full\"", "profile: \"pr\"", 1)).unwrap();
    call(&check).expect(4, "which this program does not know");
    fs::write(&manifest, &text).unwrap();
    let edited = RESULTS.replacen("\"outcome\":\"mismatch\"", "\"outcome\":\"pass\"", 1);
    folder.write("results.jsonl", edited);
    call(&check).expect(4, "results.jsonl: has changed since the folder was sealed");
}

#[test]
fn a_badge_says_what_the_statement_says() {
    let (folder, other) = (Folder::new(), Folder::new());
    write_submission(folder.path(), None);
    seal(folder.path()).expect(0, "wrote ");
    let (submission, file) = (folder.argument(), other.file("badge.svg"));
    let call_with = |badge: &str, options: &[&str]| {
        call(&[&["submit-check", submission.as_str(), "--badge", badge], options].concat())
    };
    call_with(&file, &["--opset", "13", "--type", "float"]).expect(0, "in float: yes;").expect(0, "wrote ");
    let float = fs::read_to_string(&file).unwrap();
    assert!(float.starts_with("<svg ") && float.contains(">ONNX opset 13, float<"), "{float}");
    assert!(
        float.contains(">conformant, suite ") && float.contains("<title>mine 1.2.0 is conformant with "),
        "{float}"
    );
    let said = call_with(&file, &["--opset", "13"]).expect(0, "conformant with opset 13, profile full: no; 1 of ");
    let operators = said.out.split("no; 1 of ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
    let all = fs::read_to_string(&file).unwrap();
    assert!(all.contains(&format!(">{} of {operators} operators, suite ", operators - 1)), "{all}");
    assert!(!all.contains("conformant"), "{all}");
    call_with(&file, &["--opset", "12", "--opset", "13"]).expect(64, "a badge is about one opset, not 2");
    call_with(&folder.file("badge.svg"), &[]).expect(64, "is in the submission, which has sealed files only");
    call_with(&folder.file("results.jsonl"), &[]).expect(64, "is in the submission");
    let foreign = other.write("notes.md", "mine");
    call_with(&foreign, &[]).expect(64, "exists and is not a badge in SVG");
    call_with(&other.file("gone/badge.svg"), &[]).expect(4, "badge.svg");
    assert_eq!(fs::read_to_string(&file).unwrap(), all);
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 2, "no temporary file stays");
    call(&["submit-check", &submission]).expect(0, "mine 1.2.0");
}

#[test]
fn files_that_the_seal_does_not_list_are_refused() {
    let folder = Folder::new();
    write_submission(folder.path(), Some("{}\n"));
    let check = ["submit-check", &folder.argument()];
    call(&check).expect(4, "has no submission.yaml; seal the folder with --seal --package URL");
    call(&["submit-check", &folder.argument(), "--seal"]).expect(4, "results.jsonl: ");
    call(&["submit-check", &folder.argument(), "--package", PACKAGE]).expect(64, "--seal");
    call(&["submit-check", &folder.file("gone")]).expect(4, "gone");
    call(&["submit-check", &folder.argument(), "--opset", "0"]).expect(64, "ai.onnx has no opset 0");
    fs::remove_file(folder.path().join("results.jsonl")).unwrap();
    call(&check).expect(4, "results.jsonl: is missing");
}

#[test]
fn results_of_another_run_are_refused() {
    let change = |key: &'static str, value: Value| short(move |header| header[key] = value);
    let select = |key: &'static str, value: Value| short(move |header| header["selected"][key] = value);
    expect_refused(&select("filters", json!(["ai.onnx/**"])), "covers only 'ai.onnx/**'; run the whole suite");
    expect_refused(&select("within", json!(["onnx-1.7.0"])), "covers only 'onnx-1.7.0'");
    expect_refused(&select("shard", json!("1/4")), "is only shard 1/4; combine all shards with `merge`");
    expect_refused(&select("variant", json!("constants")), "is about the variant constants");
    expect_refused(&change("suite", json!("99.0.0")), "is of suite 99.0.0, but this program has suite ");
    expect_refused(&change("digest", json!("0a")), " with other cases (0a, not ");
    expect_refused(&change("text", json!("1.18.0")), "was judged by the texts of ONNX 1.18.0");
    expect_refused(&change("date", Value::Null), "does not name the day of the run");
    expect_refused(
        &change("runtime", json!({"name": "mine", "version": "1.2.0.dev20261130"})),
        "is about version 1.2.0.dev20261130 of mine, a build that is not published",
    );
    let no_features = short(|header| drop(header["machine"].as_object_mut().unwrap().remove("features")));
    expect_refused(&no_features, "does not name the features of the processor");
    expect_refused(&short(|_| {}), " cases have no result, such as ");
    let doubled = short(|_| {});
    let line = doubled.lines().last().unwrap();
    expect_refused(&format!("{doubled}{line}\n"), "lines 2 and 3 are both results of ");
}

#[test]
fn a_case_or_a_level_that_the_suite_does_not_have_is_refused() {
    let extra = "{\"id\":\"ai.onnx/Abs-13/made_up\",\"outcome\":\"pass\",\"level\":\"required\",\"ms\":1.0}\n";
    let cases = RESULTS.lines().count() - 1;
    let announced = RESULTS.replacen(&format!("\"cases\":{cases}"), &format!("\"cases\":{}", cases + 1), 1);
    expect_refused(
        &format!("{announced}{extra}"),
        "has a result of ai.onnx/Abs-13/made_up, which is no case of the suite",
    );
    expect_refused(&announced, &format!("names {} cases, but the suite has {cases}", cases + 1));
    let line = RESULTS.lines().find(|line| line.contains(FAILING)).unwrap();
    let open = line.replace("\"level\":\"required\"", "\"level\":\"open\"");
    expect_refused(&RESULTS.replacen(line, &open, 1), "with the level open, but it is required");
}

#[test]
fn an_adapter_without_its_source_is_refused() {
    let folder = Folder::new();
    write_submission(folder.path(), None);
    fs::remove_file(folder.path().join("adapter/adapter.py")).unwrap();
    seal(folder.path()).expect(4, "adapter: has no source of the adapter");
    fs::remove_file(folder.path().join("adapter/adapter.yaml")).unwrap();
    seal(folder.path()).expect(4, "adapter.yaml: is missing; copy the folder of the adapter to ");
}
