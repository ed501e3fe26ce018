//! Files that tell others of a run, and what changed between two.

use std::fs;

use crate::models::{Folder, identity};
use crate::program::call;
use crate::snapshot::{check, redacted};
use onnx_conformance::reference::proto::Message;

#[test]
fn a_run_is_reported_in_every_form() {
    let folder = Folder::with_identity("good");
    folder.add("bad", b"no model");
    let [junit, markdown, badge] = ["junit.xml", "summary.md", "badge.json"].map(|name| folder.file(name));
    let failures = folder.file("failures");
    let reports = [format!("junit={junit}"), format!("markdown={markdown}"), format!("badge={badge}")];
    let suite = folder.argument();
    let mut arguments = vec!["run", "--suite", &suite, "--failures", &failures];
    arguments.extend(reports.iter().flat_map(|report| ["--report", report]));
    call(&arguments).expect(1, "unexpected: error bad");
    for (name, path) in [("report-junit", &junit), ("report-markdown", &markdown), ("report-badge", &badge)] {
        check(name, &redacted(&fs::read_to_string(path).unwrap(), &folder));
    }
    assert!(!folder.path().join("failures/good").exists());
    call(&["run", "--suite", &suite, "--failures", &failures, "--failed"]).expect(1, "1 cases, 1 error");
    fs::remove_dir_all(&failures).unwrap();
    call(&["run", "--suite", &suite, "--failures", &failures, "--failed"]).expect(64, "--failed: there is no ");
    call(&["run", "--suite", &suite, "--failures", &failures]).expect(1, "unexpected: error bad");
    let written = folder.file("failures/bad");
    call(&["run", "--suite", &written, "--failures", &failures]).expect(1, "1 cases, 1 error");
}

#[test]
fn a_failure_shows_the_rule_the_place_and_the_inputs() {
    let folder = Folder::with_identity("case");
    let zero = onnx_conformance::reference::proto::encode::value(&crate::models::four(), "y");
    fs::write(folder.path().join("case/test_data_set_0/output_0.pb"), zero).unwrap();
    let failures = folder.file("failures");
    let called = call(&["run", "--suite", &folder.argument(), "--failures", &failures]).expect(1, "mismatch case");
    check("run-mismatch", &redacted(&called.out, &folder));
    for name in ["model.onnx", "manifest.jsonl", "reproduce.py"] {
        assert!(folder.path().join("failures/case").join(name).is_file(), "{name}");
    }
    let readme = fs::read_to_string(folder.path().join("failures/case/README.md")).unwrap();
    assert!(readme.starts_with("# case\n\nbuiltin ") && readme.contains("**mismatch**"), "{readme}");
    let actual = fs::read(folder.path().join("failures/case/actual/test_data_set_0/output_0.pb")).unwrap();
    let given = fs::read(folder.path().join("case/test_data_set_0/input_0.pb")).unwrap();
    assert_eq!(actual.len(), given.len(), "the identity gives its input");
    let again = folder.file("failures/case");
    call(&["run", "--suite", &again, "--failures", &folder.file("again")]).expect(1, "mismatch case");
    fs::remove_dir_all(&failures).unwrap();
    fs::write(&failures, "no folder").unwrap();
    let called = call(&["run", "--suite", &folder.argument(), "--failures", &failures]).expect(1, "mismatch case");
    assert!(called.err.contains("the failures cannot be written: ") && called.err.contains("failures"), "{called:?}");
}

#[test]
fn two_runs_are_compared_by_id() {
    let folder = Folder::with_identity("a");
    folder.add("b", b"no model");
    let (old, new) = (folder.file("old.jsonl"), folder.file("new.jsonl"));
    let run = |file: &str| call(&["run", "--suite", &folder.argument(), "--results", file]);
    run(&old).expect(1, "2 cases");
    folder.add("b", &identity().encode_to_vec());
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    folder.add("c", &identity().encode_to_vec());
    run(&new).expect(0, "2 cases");
    let called = call(&["compare", &old, &new]).expect(0, "fixed: b (error -> pass)");
    assert!(called.out.contains("added: c (pass)") && called.out.contains("removed: a (pass)"), "{}", called.out);
    assert!(called.err.contains("different suites"), "{}", called.err);
    call(&["compare", &new, &old]).expect(1, "broken: b (pass -> error)");
    call(&["compare", &old, &new, "--format", "markdown"]).expect(0, "| `b` | error -> pass |");
    let json = call(&["compare", &old, &new, "--format", "json"]).expect(0, "\"fixed\"").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["fixed"][0]["id"], "b");
    call(&["compare", &old, &folder.file("none")]).expect(4, "none");
}

/// The data of a page: what the file hands over.
fn data(folder: &Folder, name: &str) -> serde_json::Value {
    let text = fs::read_to_string(folder.path().join("report/data").join(format!("{name}.js"))).unwrap();
    let start = text.find(", ").unwrap() + 2;
    serde_json::from_str(text[start..].trim_end().strip_suffix(");").unwrap()).unwrap()
}

#[test]
fn a_site_shows_results_beside_what_is_measured() {
    let folder = Folder::new();
    let (results, report) = (folder.file("results.jsonl"), folder.file("report"));
    call(&["run", "ai.onnx/Abs-13/**", "--results", &results]).expect(0, "cases");
    call(&["report", &results, "-o", &report]).expect(0, "index.html");
    let front = data(&folder, "front");
    let columns = front["columns"].as_array().unwrap();
    let own = columns.iter().position(|column| column["file"].as_str().is_some()).unwrap();
    assert_eq!(columns[own]["runtime"], "builtin");
    assert!(columns.iter().any(|column| column["runtime"] == "onnxruntime"));
    let abs = front["operators"].as_array().unwrap().iter().find(|operator| operator["n"] == "Abs").unwrap().clone();
    let newest = abs["v"].as_array().unwrap().last().unwrap().clone();
    let row = front["rows"][usize::try_from(newest["all"][0].as_u64().unwrap()).unwrap()].as_str().unwrap();
    assert!(row.split(' ').nth(own).unwrap().starts_with('r'), "{row}");
    call(&["report", &folder.file("none"), "-o", &report]).expect(4, "none");
}

#[test]
fn results_that_do_not_fit_are_warned_of_and_not_mixed_in() {
    let folder = Folder::with_identity("good");
    let (other, torn, report) = (folder.file("other.jsonl"), folder.file("torn.jsonl"), folder.file("report"));
    call(&["run", "--suite", &folder.argument(), "--results", &other]).expect(0, "1 cases");
    call(&["run", "ai.onnx/Abs-13/**", "--results", &torn]).expect(0, "cases");
    let text = fs::read_to_string(&torn).unwrap();
    let hostile = text.replacen("\"builtin\"", "\"a-<script>alert(1)</script>\"", 1);
    fs::write(folder.path().join("hostile.jsonl"), hostile).unwrap();
    fs::write(&torn, text[..text.len() - 20].replacen("/extremes/", "/gone/", 1)).unwrap();
    let called = call(&["report", &other, &torn, &torn, "-o", &report]).expect(0, "index.html");
    for part in
        ["another suite", "last line is cut off", "1 of", "not in the suite: ai.onnx/Abs-13/gone/", "more than once"]
    {
        assert!(called.err.contains(part), "no {part} in {}", called.err);
    }
    let front = data(&folder, "front");
    assert_eq!(front["elsewhere"].as_array().unwrap().len(), 1);
    let keys = |key: &str| front["columns"].as_array().unwrap().iter().filter(|column| column["key"] == key).count();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((keys(&format!("builtin-{version}")), keys(&format!("builtin-{version}~2"))), (1, 1));
    call(&["report", &folder.file("hostile.jsonl"), "-o", &report]).expect(4, "hostile.jsonl");
}

#[test]
fn no_message_ends_the_script_that_holds_it() {
    let folder = Folder::new();
    let (results, report) = (folder.file("results.jsonl"), folder.file("report"));
    call(&["run", "ai.onnx/Abs-13/**", "--results", &results]).expect(0, "cases");
    let hostile = "</script><script>alert(1)</script><!-- \u{2028}";
    let mut text = String::new();
    for line in fs::read_to_string(&results).unwrap().lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if line.get("outcome").is_some() {
            line["outcome"] = "crash".into();
            line["message"] = hostile.into();
        }
        text.push_str(&line.to_string());
        text.push('\n');
    }
    fs::write(&results, text).unwrap();
    call(&["report", &results, "-o", &report]).expect(0, "index.html");
    let abs = fs::read_to_string(folder.path().join("report/data/op/ai.onnx/Abs.js")).unwrap();
    assert!(!abs.contains("<script") && !abs.contains("</script") && !abs.contains('\u{2028}'));
    let details = data(&folder, "op/ai.onnx/Abs")["details"].clone();
    let (_, first) = details.as_object().unwrap().iter().next().unwrap();
    assert_eq!(first.as_object().unwrap().values().next().unwrap()["m"], hostile);
}

#[test]
fn the_site_asks_nothing_of_the_network_and_no_file_is_large() {
    let folder = Folder::new();
    let report = folder.file("report");
    call(&["report", "-o", &report]).expect(0, "index.html");
    for entry in walkdir::WalkDir::new(&report) {
        let entry = entry.unwrap();
        if !entry.file_type().is_file() {
            continue;
        }
        let name = entry.path().display().to_string();
        assert!(entry.metadata().unwrap().len() < 2_000_000, "{name}");
        let text = fs::read_to_string(entry.path()).unwrap();
        for loads in [
            "src=\"http",
            "<link rel=\"stylesheet\" href=\"http",
            "@import",
            "url(http",
            "fetch(",
            "XMLHttpRequest",
            "innerHTML",
        ] {
            assert!(!text.contains(loads), "{loads} in {name}");
        }
    }
    let front = data(&folder, "front");
    let operators = front["operators"].as_array().unwrap();
    assert_eq!(operators.len(), 227);
    assert_eq!(operators.iter().map(|operator| operator["v"].as_array().unwrap().len()).sum::<usize>(), 659);
    for operator in operators {
        let domain = &front["domains"][usize::try_from(operator["d"].as_u64().unwrap()).unwrap()]["name"];
        let name = format!("report/data/op/{}/{}.js", domain.as_str().unwrap(), operator["n"].as_str().unwrap());
        assert!(folder.path().join(&name).is_file(), "{name}");
    }
}

#[test]
fn a_case_of_a_rule_says_it_everywhere() {
    let folder = Folder::new();
    let (results, says) = (folder.file("results.jsonl"), "C9: nearest_mode rounds down");
    let place = "specs/ai.onnx/Resize/op.yaml:";
    let id = "ai.onnx/Resize-19/round_prefer_floor/T1=float,T2=float";
    let shown = call(&["show", id]).expect(0, &format!("shows {says}"));
    assert!(shown.out.contains(place), "{shown:?}");
    call(&["run", id, "--results", &results]).expect(0, "1 cases");
    let text = fs::read_to_string(&results).unwrap();
    assert!(text.contains("\"rule\":{\"id\":\"C9\",\"says\":\"nearest_mode") && text.contains(place), "{text}");
    let page = folder.file("report");
    call(&["report", &results, "-o", &page]).expect(0, "wrote");
    let rules = data(&folder, "op/ai.onnx/Resize")["rules"].clone();
    assert!(
        rules.as_array().unwrap().iter().any(|rule| rule["id"] == "C9"
            && says.ends_with(&rule["says"].as_str().unwrap()[.."nearest_mode rounds down".len()])),
        "{rules}"
    );
}

#[test]
fn a_trace_shows_every_value() {
    let called = call(&["trace", "onnx-1.23.2/node/test_celu"]).expect(0, "Y = Celu(X)");
    assert!(called.out.contains("input X = tensor(float)") && called.out.contains("\nexpected\n"), "{called:?}");
    let body = call(&["trace", "onnx-1.23.2/node/test_celu", "--body"])
        .expect(0, "function body from onnx-1.23.2/node/test_celu_expanded");
    assert!(body.out.contains(" = Elu(") && !body.out.contains("= Celu("), "{body:?}");
    call(&["trace", "ai.onnx/Sum-13/broadcast_known_values/T=float", "--body"])
        .expect(4, "ai.onnx/Sum-13 has no function body");
    call(&["trace", "ai.onnx/Sum-13/refuse/shapes_do_not_broadcast"]).expect(0, "refused, as it must be: ");
    call(&["trace", "ai.onnx/Sum-13/broadcast_known_value/T=float"])
        .expect(4, "did you mean 'ai.onnx/Sum-13/broadcast_known_values/T=float'?");
}

#[test]
fn a_name_that_selects_nothing_is_corrected() {
    call(&["list", "ai.onnx/Sofmax-13/**"]).expect(3, "did you mean 'ai.onnx/Softmax-13'?");
    call(&["diff", "Sofmax", "1", "13"]).expect(4, "did you mean 'Softmax'?");
    call(&["run", "--report", "html=a"]).expect(64, "write junit=FILE, markdown=FILE or badge=FILE");
}
