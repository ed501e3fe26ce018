//! Questions to tools about the models of cases: `run --variant optimize` and others.

use std::path::Path;

use onnx_conformance_harness::questions::BuiltinTools;
use onnx_conformance_harness::run::{Outcome, read_results_file};
use onnx_conformance_subject::{Question, Variant};

use crate::models::Folder;
use crate::program::call;

/// Creates a tool that answers these questions with this shell code, which has `$model`, `$result` and `$seq`.
#[cfg(unix)]
fn tool(folder: &Folder, does: &str, code: &str) -> String {
    let script = format!(
        r#"read -r line
echo '{{"runtime":{{"name":"shell","version":"1","does":[{does}]}}}}'
while read -r line; do
  seq=${{line#*\"seq\":}}; seq=${{seq%%,*}}
  model=${{line#*\"model\":\"}}; model=${{model%%\"*}}
  result=${{line#*\"result\":\"}}; result=${{result%%\"*}}
  case "$line" in
    *'"ask"'*) {code} ;;
    *) exit ;;
  esac
done
"#
    );
    format!("sh {}", folder.write("tool.sh", script))
}

const CASE: &str = "ai.onnx/Relu-13/ranks/**";

#[cfg(unix)]
#[test]
fn a_tool_is_asked_about_the_model_of_each_case() {
    let folder = Folder::new();
    let ok = r#"echo "{\"seq\":$seq,\"ok\":true}""#;
    let run = |does: &str, code: &str, variant: &str| {
        let runtime = tool(&folder, does, code);
        call(&["run", CASE, "--runtime", &runtime, "--variant", variant, "--validate"])
    };
    let copy = format!(r#"cp "$model" "$result"; {ok}"#);
    run(r#""optimize""#, &copy, "optimize").expect(0, " pass in ");
    run(r#""convert""#, &copy, "upgrade").expect(1, "imports opset 13 of ai.onnx, not 14");
    run(r#""optimize""#, &format!(r#"echo x > "$result"; {ok}"#), "optimize").expect(1, "not an ONNX model");
    run(r#""optimize""#, ok, "optimize").expect(1, "the resulting model was not written");
    let more = format!(r#"cp "$model" "$result"; cp "$model" "$result.2"; {ok}"#);
    run(r#""optimize""#, &more, "optimize").expect(1, "model.onnx.2 was written but not requested");
    let noisy = format!(r#"echo noise; cp "$model" "$result"; {ok}"#);
    run(r#""optimize""#, &noisy, "optimize").expect(1, "protocol-error");
    run(r#""optimize""#, "exit 3", "optimize").expect(1, "crash");
    run(r#""check""#, ok, "check").expect(0, " pass in ");
    let large = format!(r#"truncate -s 2G "$result"; {ok}"#);
    run(r#""optimize""#, &large, "optimize").expect(1, "over the limit of");
}

#[cfg(unix)]
#[test]
fn a_tool_runs_no_models_and_answers_only_its_questions() {
    let folder = Folder::new();
    let runtime = tool(&folder, r#""convert""#, "exit");
    let plain = call(&["run", CASE, "--runtime", &runtime]);
    plain.expect(64, "shell does not run models; ask it with --variant upgrade or --variant downgrade");
    let other = call(&["run", CASE, "--runtime", &runtime, "--variant", "infer"]);
    other.expect(3, "not-declared");
}

/// Cases about which every tool of this project has answers: an operator with many types, and a deprecated one.
const ANSWERED: &str = "ai.onnx/{Relu,Upsample}-*/**";

#[test]
fn the_answers_of_this_project_are_right() {
    let folder = Folder::new();
    for variant in Variant::ALL.into_iter().filter(|variant| variant.question() != Question::Run) {
        if !BuiltinTools::answers(variant.question()) {
            call(&["run", CASE, "--variant", variant.name()]).expect(3, "not-declared");
            continue;
        }
        let file = folder.file(&format!("{variant}.jsonl"));
        // A conversion may decline a case, which a run counts as a failure.
        call(&["run", ANSWERED, "--variant", variant.name(), "--results", &file]).expect_verdict(" pass");
        let results = read_results_file(Path::new(&file)).unwrap().results;
        let count = |outcome: Outcome| results.iter().filter(|result| result.outcome == outcome).count();
        let (right, declined) = (count(Outcome::Pass), count(Outcome::Unsupported));
        assert_eq!(right + declined + count(Outcome::NotApplicable), results.len(), "{variant}");
        assert!(right > declined, "{variant}: {right} right, {declined} declined");
    }
    for variant in ["check", "infer", "upgrade"] {
        call(&["run", ANSWERED, "--variant", variant]).expect(0, " pass");
    }
}
