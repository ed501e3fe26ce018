//! `check` from a user's view: on files and folders, in every format, with exit codes for CI jobs.

use std::fs;

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::Message as _;
use onnx_conformance_reference::spec::Specs;
use serde_json::Value;

use crate::models::{Folder, identity};
use crate::program::{call, command, finish};

const EXPORTED: &str = "testdata/exporters";
const DOUBLE: &str = "testdata/exporters/skl2onnx/logistic_double.onnx";
const TWICE: &str = "testdata/exporters/skl2onnx/boosting_opset14.onnx";

/// Returns the JSON report, validated against the schema.
fn report(arguments: &[&str], code: i32) -> Value {
    let called = call(&[&["check", "--format", "json"], arguments].concat()).expect(code, "\"models\"");
    let report: Value = serde_json::from_str(&called.out).unwrap();
    validate(&report);
    report
}

pub(crate) fn validate(report: &Value) {
    validate_as("check", report);
}

/// Validates the JSON of a command against its schema.
pub(crate) fn validate_as(command: &str, report: &Value) {
    let schema = fs::read_to_string(format!("docs/schema/{command}.json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?} in {report:#}");
}

#[test]
fn a_model_says_its_cause_and_its_fix() {
    let called = call(&["check", DOUBLE]).expect(1, "logistic_double.onnx: ");
    for part in ["ZipMap-1", "tensor(double)", "from:", "fix:", "Cast"] {
        assert!(called.out.contains(part), "no {part} in {}", called.out);
    }
    assert!(!called.out.contains('\u{1b}'), "colours where nobody sees them: {}", called.out);
}

#[test]
fn a_folder_is_a_line_a_model_worst_first() {
    let called = call(&["check", EXPORTED, "--format", "table"]).expect(1, "valid");
    let lines: Vec<&str> = called.out.lines().collect();
    // The float16 converter of onnxruntime writes nodes in an order that the standard excludes.
    let count = lines.iter().take_while(|line| line.starts_with("findings")).count();
    let (findings, valid) = lines.split_at(count);
    assert!(lines.len() > 60 && findings.iter().any(|line| line.contains("logistic_double")), "{lines:#?}");
    assert!(findings.iter().all(|line| line.contains("logistic_double") || line.contains("float16/")), "{lines:#?}");
    assert!(valid.iter().all(|line| line.starts_with("valid")), "{lines:#?}");
}

#[test]
fn json_is_json_whatever_a_model_is_called() {
    let folder = Folder::new();
    let mut model = identity();
    model.graph.as_mut().unwrap().node[0].op_type = Some("Re\u{202e}lu\u{1b}".into());
    let path = folder.write("model.onnx", model.encode_to_vec());
    let findings = report(&[&path], 1)["models"][0]["findings"].clone();
    assert!(findings[0]["message"].as_str().unwrap().contains("'Re\u{202e}lu\u{1b}'"), "{findings:#}");
    let sarif = call(&["check", &path, "--format", "sarif"]).expect(1, "2.1.0").out;
    serde_json::from_str::<Value>(&sarif).unwrap();
    assert!(!sarif.contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn a_model_may_come_on_standard_input() {
    let folder = Folder::new();
    let model = folder.write("model.onnx", identity().encode_to_vec());
    let piped = |arguments: &[&str], file: &str| {
        let mut command = command(arguments);
        command.stdin(fs::File::open(file).unwrap());
        finish(command)
    };
    piped(&["check", "-"], &model).expect(0, "<stdin>: valid");
    let both = piped(&["check", "-", &model, "--format", "table"], &model).expect(0, "<stdin>").out;
    assert_eq!(both.lines().filter(|line| line.starts_with("valid")).count(), 2, "{both}");
    let text = folder.write("text.onnx", "no model");
    piped(&["check", "-"], &text).expect(4, "<stdin>: not an ONNX model: the file is a text file");
    let zeros = folder.write("zeros.onnx", vec![0; 2_000_001]);
    let limit = "is larger than the limit of 2000000 bytes; name a file instead";
    piped(&["check", "-", "--memory", "2"], &zeros).expect(4, limit);
    piped(&["convert", "-", "--opset", "13", "--memory", "2"], &zeros).expect(4, limit);
    let out = folder.file("out.onnx");
    piped(&["convert", "-", "--opset", "14", "-o", &out], &model).expect(0, "wrote ");
    call(&["check", &out]).expect(0, "opsets ai.onnx 14");
    piped(&["convert", "-", "--opset", "14"], &text).expect(4, "<stdin> is not a model");
}

#[test]
fn the_forms_for_machines_hold_what_they_promise() {
    let all = report(&[EXPORTED, "--opset", "13"], 1);
    let models = all["models"].as_array().unwrap();
    assert!(models.len() > 20 && all["asked"] == "opset 13", "{all:#}");
    let double = models.iter().find(|model| model["file"] == DOUBLE).unwrap();
    assert_eq!(double["findings"][0]["place"]["node"]["operator"], "ai.onnx.ml/ZipMap-1", "{double:#}");
    let twice = models.iter().find(|model| model["file"] == TWICE).unwrap();
    assert_eq!((&twice["status"], &twice["target"]["answer"]), (&"valid".into(), &"relabel-only".into()), "{twice:#}");

    let called = call(&["check", DOUBLE, "--format", "sarif"]).expect(1, "2.1.0");
    let sarif: Value = serde_json::from_str(&called.out).unwrap();
    let run = &sarif["runs"][0];
    let (rules, results) = (run["tool"]["driver"]["rules"].as_array().unwrap(), run["results"].as_array().unwrap());
    assert!(!results.is_empty(), "{sarif:#}");
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result:#}");
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], DOUBLE);
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }

    call(&["check", EXPORTED, "--format", "markdown"])
        .expect(1, "| `testdata/exporters/torch/cnn_opset13.onnx` | valid |");
    let folder = Folder::new();
    let page = folder.file("page.html");
    call(&["check", EXPORTED, "--format", "html", "-o", &page]).expect(1, "");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("ZipMap-1") && page.ends_with("</html>\n"), "{page}");
    assert!(!page.contains("<script") && !page.contains("http"), "it needs nothing but a browser: {page}");
}

#[test]
fn exit_codes_tell_what_was_found() {
    call(&["check", TWICE]).expect(0, "valid, with a warning");
    call(&["check", TWICE, "--fail-on", "warning"]).expect(1, "imported 2 times");
    call(&["check", "README.md"]).expect(4, "not an ONNX model");
    call(&["check", "docs"]).expect(4, "has no .onnx file");
    call(&["check", "no-such-file.onnx"]).expect(4, "no-such-file.onnx");
    call(&["check"]).expect(64, "MODEL");
    call(&["check", TWICE, "--opset", "99"])
        .expect(64, &format!("ai.onnx has the opsets 1 to {}", Specs::embedded().newest_opset("").unwrap()));
    call(&["check", TWICE, "--opset", "x"]).expect(64, "DOMAIN=NUMBER");
    call(&["check", TWICE, "--opset", "13", "--opset", "12"]).expect(64, "two opsets of ai.onnx");
    call(&["check", TWICE, "--opset", "nobody=1"]).expect(64, "domain 'nobody' is unknown");
    call(&["check", TWICE, "--release", "0.9"]).expect(64, "there is no ONNX release 0.9");
    call(&["check", TWICE, "--ir", "99"]).expect(64, "expected an IR version from 3 to");
    let beyond = call(&["check", "testdata/exporters/torch/transformer_opset17.onnx", "--opset", "9"]);
    assert!(beyond.code == 0 || beyond.out.contains("cannot"), "{beyond:?}");
}

#[test]
fn a_name_in_a_model_is_text() {
    let folder = Folder::new();
    let model = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = NoSuch (x) }"#;
    let mut model = onnx_conformance::reference::model::text::parse_model(model).unwrap();
    let graph = model.graph.as_mut().unwrap();
    graph.node[0].name = Some("<script>alert(1)</script>\u{1b}[31m|`\n".into());
    let path = folder.file("m.onnx");
    fs::write(&path, onnx_conformance::reference::proto::Message::encode_to_vec(&model)).unwrap();
    for format in ["text", "table", "json", "sarif", "markdown", "html"] {
        let called = call(&["check", &path, "--format", format]).expect(1, "NoSuch");
        assert!(!called.out.contains('\u{1b}'), "{format}: {}", called.out);
        assert!(format != "html" || !called.out.contains("<script"), "{}", called.out);
    }
}

#[test]
fn what_runtimes_were_measured_to_do_is_told_in_every_form() {
    let model = "testdata/exporters/skl2onnx/knn_opset18.onnx";
    let text = call(&["check", "--runtime", "onnxruntime,onnx-reference", model]).expect_verdict("");
    assert!(text.out.contains("onnxruntime ") && text.out.contains("onnx-reference "), "{}", text.out);
    let json = call(&["check", "--format", "json", "--runtime", "all", model]).expect_verdict("\"runtimes\"");
    let report: Value = serde_json::from_str(&json.out).unwrap();
    validate(&report);
    let runtimes = report["models"][0]["runtimes"].as_array().unwrap();
    assert!(runtimes.len() >= 4, "{runtimes:#?}");
    for runtime in runtimes {
        let kinds = runtime["kinds"].as_array().unwrap();
        let scan = kinds.iter().find(|kind| kind["kind"].as_str().unwrap().starts_with("Scan-16")).unwrap();
        assert!(scan["cases"].is_u64() && scan["first"].as_str().unwrap().contains("Sc_Scan"), "{scan:#}");
    }
    let sarif: Value =
        serde_json::from_str(&call(&["check", "--format", "sarif", "--runtime", "all", model]).expect_verdict("").out)
            .unwrap();
    assert!(sarif["runs"][0]["results"].is_array());
    for form in ["markdown", "html"] {
        let called = call(&["check", "--format", form, "--runtime", "onnxruntime", model]).expect_verdict("Scan-16");
        assert!(called.out.contains("similar case"), "{}", called.out);
    }
}

/// The finding is about two classes that both have votes. It does not apply to a forest of three classes.
#[test]
fn an_answer_names_the_finding_of_its_case_and_of_no_other() {
    let folder = Folder::new();
    let case = "ai.onnx.ml/TreeEnsembleClassifier-3/two_classes/classlabels_int64s=positions/T1=float";
    call(&["export", &folder.file("exported"), case]).expect(0, "1 cases");
    let kind = |model: &str| {
        let runtime = ["--runtime", "onnxruntime@1.32.0"];
        let called = call(&[&["check", "--format", "json", model], &runtime[..]].concat()).expect_verdict("\"kinds\"");
        let report: Value = serde_json::from_str(&called.out).unwrap();
        validate(&report);
        let kinds = report["models"][0]["runtimes"][0]["kinds"].as_array().unwrap().clone();
        kinds.into_iter().find(|kind| kind["kind"].as_str().unwrap().starts_with("TreeEnsembleClassifier-")).unwrap()
    };
    let two = kind(&folder.file("exported"));
    assert_eq!(two["verdict"], "wrong", "{two:#}");
    // Three similar cases fail. The first one has its own labels, which distinguish the two findings.
    let first = "ai.onnx.ml/TreeEnsembleClassifier-3/two_classes/classlabels_int64s=beyond_32_bits/T1=float";
    assert_eq!(two["case"], first, "{two:#}");
    assert_eq!(two["finding"]["id"], "onnxruntime/treeensembleclassifier-two-integer-labels", "{two:#}");
    let three = kind("testdata/exporters/skl2onnx/forest_opset12.onnx");
    assert!(three["finding"].is_null() && three["verdict"] == "likely-runs", "{three:#}");
}

#[test]
fn a_runtime_that_was_not_measured_is_said_with_those_that_were() {
    for (name, message) in [
        ("nonsense", "--runtime: no version of nonsense has been measured; measured runtimes: "),
        ("onnxruntime@0.1", "--runtime: onnxruntime 0.1 has not been measured; measured versions: "),
        ("ort==0.1", "--runtime: onnxruntime 0.1 has not been measured; measured versions: "),
        ("onxruntime", "the nearest name is onnxruntime; "),
        ("tensorrt", "; --probe tries a runtime that was not measured"),
    ] {
        call(&["check", "--runtime", name, DOUBLE]).expect(64, message);
    }
    let [alias, full] = ["ort==1.20.1", "onnxruntime@1.20.1"].map(|name| call(&["check", "--runtime", name, DOUBLE]));
    assert_eq!((alias.code, alias.out), (full.code, full.out));
}

#[test]
fn shapes_are_listed_with_formulas() {
    let folder = Folder::new();
    let text = r#"<ir_version: 8, opset_import: ["" : 18]>
        g (float[N, 3, 8, 8] x) => (float[] y) {
          s = Shape (x)
          p = Concat <axis = 1> (x, x)
          q = Concat <axis = 0> (p, p)
          y = Neg (q)
        }"#;
    let model = folder.write("shapes.onnx", parse_model(text).unwrap().encode_to_vec());
    let called = call(&["check", "--shapes", &model]).expect(0, "'y' tensor(float)[2*N, 6, 8, 8]");
    assert!(called.out.contains("'s' tensor(int64)[4]"), "{}", called.out);
    let report = report(&["--shapes", &model], 0);
    assert_eq!(report["models"][0]["values"][4]["shape"], serde_json::json!(["2*N", "6", "8", "8"]), "{report:#}");
}

const UNSORTED: &str = r#"<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 3]>
    g (float[N, 3] x) => (float[N, 5] y) <float[3, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}> {
        y = MatMul (z, w)
        z = Neg (x)
    }"#;

#[test]
fn safe_edits_are_applied_to_a_new_file() {
    let folder = Folder::new();
    let bytes = parse_model(UNSORTED).unwrap().encode_to_vec();
    let (model, fixed) = (folder.write("model.onnx", bytes), folder.file("fixed.onnx"));
    let told = call(&["check", &model]).expect(1, "fix: sort the nodes topologically (--fix applies it)");
    assert!(told.out.contains("fix: remove the import (--fix applies it)"), "{told:?}");
    assert_eq!(report(&[&model], 1)["models"][0]["findings"][0]["fixable"], true);
    let told = call(&["check", &model, "--fix", "-o", &fixed]).expect(0, "fixed.onnx: valid");
    let edits = "2 edits\n  graph 'g', node 0 for 'y' (MatMul-13): the nodes are sorted\n  model: the unused imports of ai.onnx.ml are removed\nwrote ";
    assert!(told.out.starts_with(edits), "{told:?}");
    call(&["check", &fixed, "--fail-on", "note"]).expect(0, "valid");
    call(&["check", &model, "--fix", "-o", &fixed]).expect(64, "already exists; choose another file");
    let again = folder.file("again.onnx");
    call(&["check", &fixed, "--fix", "-o", &again]).expect(0, "there is nothing to edit, so nothing is written");
    call(&["check", &fixed, "--write-shapes", "-o", &again])
        .expect(0, "1 value is declared with inferred type and shape");
    let graph = onnx_conformance_reference::proto::decode::model(fs::read(&again).unwrap().into()).unwrap().graph;
    assert_eq!(graph.unwrap().value_info[0].name(), "z");
    call(&["check", &model, "--fix"]).expect(64, "--output");
    call(&["check", EXPORTED, "--fix", "-o", &folder.file("all.onnx")]).expect(64, "name one");
    let json = report(&[&model, "--fix", "-o", &folder.file("json.onnx")], 0);
    assert!(json["models"][0]["findings"].as_array().unwrap().is_empty(), "{json:#}");
}

#[test]
fn an_ir_version_that_a_runtime_may_not_know_is_left_to_the_user() {
    let folder = Folder::new();
    let text = r#"<ir_version: 10, opset_import: ["" : 23]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    let model = folder.write("model.onnx", parse_model(text).unwrap().encode_to_vec());
    let told = call(&["check", &model, "--fix", "-o", &folder.file("fixed.onnx")]).expect(0, "nothing is written");
    let left = "not applied: ir_version 10 could become 11, but a runtime that loads the model now may not load it then; \
                convert --ir 11 does it\n";
    assert!(told.out.contains(left), "{told:?}");
    assert!(told.out.contains("fix: set ir_version to 11 if every runtime in use knows it\n"), "{told:?}");
}

#[test]
fn a_summary_counts_parameters_operations_and_opsets() {
    let folder = Folder::new();
    let bytes = parse_model(&UNSORTED.replace("[N,", "[2,")).unwrap().encode_to_vec();
    let model = folder.write("model.onnx", bytes);
    let told = call(&["check", &model, "--summary"]).expect(1, "15 parameters, 60 bytes");
    assert!(told.out.contains("MatMul: 1 node, 30 MACs") && !told.out.contains("models by opset"), "{told:?}");
    let all = report(&[&model, EXPORTED, "--summary"], 1);
    assert_eq!(all["models"][0]["summary"]["macs"], 30, "{all:#}");
    assert!(all["opsets"]["ai.onnx"].as_object().unwrap().len() > 1, "{all:#}");
    call(&["check", EXPORTED, "--summary"]).expect(1, "models by opset:\n  ai.onnx: ");
}

#[test]
fn an_import_that_no_node_uses_does_not_keep_a_runtime_from_loading() {
    let folder = Folder::new();
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "ai.onnx.preview" : 1]>
        g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    // onnxruntime 1.20.1 does not know the domain.
    let unknown = folder.write("unknown.onnx", parse_model(text).unwrap().encode_to_vec());
    call(&["check", &unknown, "--runtime", "onnxruntime@1.20.1"]).expect(0, "onnxruntime 1.20.1: runs");
    call(&["check", &unknown, "--fail-on", "note"]).expect(1, "no node uses the imported domain 'ai.onnx.preview'");
}

#[test]
fn an_obstacle_of_the_model_is_not_said_of_a_node() {
    let folder = Folder::new();
    let text = r#"<ir_version: 10, opset_import: ["" : 21]> g (int4[2] x) => (int4[2] y) { y = Identity (x) }"#;
    let model = folder.write("model.onnx", parse_model(text).unwrap().encode_to_vec());
    let expected = "opset 21, IR 8: not possible: ir_version cannot be 8: needs IR 10 or newer: int4, the type of 'x'";
    call(&["check", &model, "--opset", "21", "--ir", "8"]).expect(1, expected);
}

/// A matrix product by a vector, behind a Transpose that onnxruntime 1.32.0 ignores, among other nodes.
const PRODUCT: &str = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[5, 4] x, float[5] v) => (float[4] z) {
  t = Transpose <perm = [1, 0]> (x)
  u = Neg (v)
  y = MatMul (t, u)
  z = Abs (y)
}";

#[test]
fn a_graph_that_a_version_gets_wrong_is_a_note() {
    let folder = Folder::new();
    let model = |name: &str, text: &str| folder.write(name, parse_model(text).unwrap().encode_to_vec());
    let (wrong, right) = (
        model("a.onnx", PRODUCT),
        model("b.onnx", &PRODUCT.replace("float[5] v", "float[5, 2] v").replace("float[4] z", "float[4, 2] z")),
    );
    let finding = "onnxruntime/transposed-matrix-by-vector";
    let asked = ["--runtime", "onnxruntime@1.32.0"];
    let text = call(&[&["check", &wrong], &asked[..]].concat()).expect(0, "note graph: onnxruntime 1.32.0: ").out;
    for part in ["(Transpose-13)", "(MatMul-13): wrong together: MatMul of a transposed matrix", finding] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let graphs = report(&[&[wrong.as_str()], &asked[..]].concat(), 0)["models"][0]["runtimes"][0]["graphs"].clone();
    assert_eq!((&graphs[0]["finding"]["id"], &graphs[0]["places"]), (&finding.into(), &1.into()), "{graphs:#}");
    assert_eq!(graphs[0]["nodes"].as_array().unwrap().len(), 2, "{graphs:#}");
    let others = report(&[&[right.as_str()], &asked[..]].concat(), 0)["models"][0]["runtimes"][0].clone();
    assert_eq!(others["graphs"], Value::Null, "{others:#}");
    for format in ["markdown", "html", "sarif"] {
        call(&[&["check", &wrong, "--format", format], &asked[..]].concat()).expect(0, finding);
    }
}
