//! Graphs that a runtime rewrites: `run --rewrites`, and `coverage --graphs`.

use serde_json::Value;

use crate::models::Folder;
use crate::program::call;
use crate::snapshot;

/// Creates an adapter that fails to run every model, and gives these operators after optimization. It dies on a model with Dropout.
#[cfg(unix)]
fn adapter(folder: &Folder, declared: &str, operators: &str) -> String {
    let script = format!(
        r#"read -r line
echo '{{"runtime":{{"name":"shell","version":"1"{declared}}}}}'
while read -r line; do
  seq=${{line#*\"seq\":}}; seq=${{seq%%,*}}
  model=${{line#*\"model\":\"}}; model=${{model%%\"*}}
  case "$line" in
    *'"run"'*) echo "{{\"seq\":$seq,\"error\":{{\"phase\":\"run\",\"message\":\"no\"}}}}" ;;
    *'"optimize"'*) if grep -q Dropout "$model"; then exit 3; fi; echo "{{\"seq\":$seq,{operators}}}" ;;
    *) exit ;;
  esac
done
"#
    );
    format!("sh {}", folder.write("adapter.sh", script))
}

/// Returns the lines of a results file after the first, by id.
fn results(folder: &Folder) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.file("r.jsonl")).unwrap();
    assert!(!text.lines().next().unwrap().contains("optimize"), "the header is that of any run: {text}");
    let mut all: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    all.sort_by_key(|result| result["id"].to_string());
    all
}

#[cfg(unix)]
#[test]
fn a_run_asks_for_rewrites_only_if_told_so() {
    let folder = Folder::new();
    let answer = r#"\"operators\":{\"after\":{\"ai.onnx/Identity\":1}}"#;
    let runtime = adapter(&folder, r#","optimize":true"#, answer);
    let out = folder.file("r.jsonl");
    let run = |runtime: &str, more: &[&str]| {
        let plain =
            ["run", "graph/transposes/pair_that_cancels/**", "--runtime", runtime, "--results", &out, "--validate"];
        call(&[plain.as_slice(), more].concat())
    };
    let plain = run(&runtime, &[]).expect(1, "error");
    assert!(!plain.err.contains("rewrites"), "{}", plain.err);
    assert!(results(&folder).iter().all(|result| result.get("rewritten").is_none()));
    run(&runtime, &["--rewrites"]).expect(1, "shell 1 rewrites 1 of 1 patterns (");
    let asked = results(&folder);
    assert!(asked.iter().all(|result| result["rewritten"] == true && result["optimized"]["ai.onnx/Identity"] == 1));
    let resumed = call(&[
        "run",
        "graph/transposes/pair_that_cancels/**",
        "--runtime",
        &runtime,
        "--rewrites",
        "--resume",
        &out,
        "--keep-failures",
    ]);
    resumed.expect(1, "shell 1 rewrites 1 of 1 patterns (");
    let same = adapter(&folder, r#","optimize":true"#, r#"\"operators\":{\"after\":{\"ai.onnx/Transpose\":2}}"#);
    run(&same, &["--rewrites", "graph/transposes/pair_that_cancels/good/*"])
        .expect(1, "shell 1 rewrites 0 of 1 patterns");
    let silent = adapter(&folder, "", answer);
    run(&silent, &["--rewrites"]).expect(1, "shell does not report which graphs it rewrites");
}

#[cfg(unix)]
#[test]
fn a_runtime_that_dies_while_it_optimizes_changes_no_outcome() {
    let folder = Folder::new();
    let runtime = adapter(&folder, r#","optimize":true"#, r#"\"unknown\":\"no\""#);
    let out = folder.file("r.jsonl");
    let run = |more: &[&str]| {
        let plain = [
            "run",
            "graph/dropouts/inference/in/*",
            "graph/casts/truncation/**",
            "--runtime",
            &runtime,
            "--results",
            &out,
        ];
        call(&[plain.as_slice(), more].concat()).expect(1, "error");
        results(&folder)
            .iter()
            .map(|result| (result["id"].to_string(), result["outcome"].to_string()))
            .collect::<Vec<_>>()
    };
    let plain = run(&[]);
    assert!(plain.len() > 10 && plain.iter().all(|(_, outcome)| outcome == "\"error\""));
    assert_eq!(run(&["--rewrites"]), plain);
}

#[cfg(unix)]
#[test]
fn a_wrong_answer_about_operators_breaks_the_protocol() {
    let folder = Folder::new();
    let runtime = adapter(&folder, r#","optimize":true"#, r#"\"ok\":true"#);
    let filter = "graph/transposes/pair_that_cancels/good/T=float";
    let called = call(&["run", filter, "--runtime", &runtime, "--rewrites", "--validate"]);
    called.expect(1, "protocol: unknown field `ok`, expected one of `seq`, `operators`, `unknown`");
}

#[test]
fn a_measurement_lists_rewritten_patterns() {
    let folder = Folder::new();
    let (results, measured) = (folder.file("r.jsonl"), folder.file("m.yaml"));
    let scope = "graph/casts/**";
    call(&["run", scope, "--results", &results]).expect(0, "pass");
    let init = |update: &[&str]| {
        let init = ["run", "--init", "--exact", "--from-results", &results, scope, "--expectations", &measured];
        call(&[init.as_slice(), update].concat()).expect(0, "entries");
        std::fs::read_to_string(&measured).unwrap()
    };
    assert!(!init(&[]).contains("rewrites"), "the built-in executor does not say it");
    let text = std::fs::read_to_string(&results).unwrap();
    folder.write("r.jsonl", text.replace("\"ms\":", "\"rewritten\":false,\"ms\":"));
    assert!(init(&["--update-expectations"]).contains("rewrites: {}\n"));
    folder.write("r.jsonl", text.replace("\"ms\":", "\"rewritten\":true,\"ms\":"));
    let named = init(&["--update-expectations"]);
    assert!(named.contains("rewrites:\n  casts: ["), "{named}");
    std::fs::remove_file(&measured).unwrap();
    assert!(init(&[]).contains("rewrites:\n  casts: ["));
}

#[test]
fn patterns_that_no_runtime_rewrites_are_listed() {
    let told = call(&["coverage", "--graphs", "graph/transposes/**"]).expect(0, "transposes: ");
    // The measurements change; the patterns and their counts are those of the specs.
    let by = regex::Regex::new("rewritten by [^:]*:|; [0-9]+ patterns are rewritten.*|measured: .*").unwrap();
    snapshot::check("coverage_of_graphs", &by.replace_all(&told.out, "RUNTIMES"));
    let json = call(&["coverage", "--graphs", "graph/transposes/**", "--format", "json"]).expect(0, "");
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let patterns = json["patterns"].as_array().unwrap();
    let by = |id: &str| patterns.iter().find(|pattern| pattern["id"] == id).unwrap()["rewritten_by"].to_string();
    assert!(by("graph/transposes/pair_that_cancels").contains("onnxruntime"), "{json}");
    assert!(json["asked"].to_string().contains("onnxruntime"), "{json}");
    let totals = call(&["coverage", "--graphs", "--totals"]).expect(0, " by no measured runtime");
    assert!(!totals.out.contains("graph/"), "{}", totals.out);
    call(&["coverage", "--graphs", "ai.onnx/**"]).expect(3, "no pattern of a graph matches ai.onnx/**");
    call(&["coverage", "--graphs", "--sizes"]).expect(64, "cannot be used with");
}
