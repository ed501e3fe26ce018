//! Frequent questions of ONNX users about a model. The first line of a check answers each.
//!
//! The models are minimal versions of those in public threads: microsoft/onnxruntime 20559, 19710 and 24479, onnx/onnx 5988,
//! NVIDIA/TensorRT 4336.

use std::collections::BTreeMap;

use onnx_conformance::check::Limits;
use onnx_conformance::reference::model::text::parse_model;
use onnx_conformance::reference::proto::Message as _;
use onnx_conformance::reference::spec::Specs;
use onnx_conformance_harness::measure::Measurements;
use onnx_conformance_report::models::{Answer, CheckQuestions, ModelReport, RuntimeVerdict, Status, examine};

/// Checks a model in ONNX's text syntax.
fn ask(text: &str, wanted: &CheckQuestions) -> ModelReport {
    let model = parse_model(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    ask_of(&model.encode_to_vec(), wanted)
}

fn ask_of(bytes: &[u8], wanted: &CheckQuestions) -> ModelReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, bytes).unwrap();
    examine(&path, wanted, &Limits::default())
}

fn opset(opset: i64) -> CheckQuestions {
    let opsets = BTreeMap::from([("ai.onnx".to_owned(), opset)]);
    CheckQuestions { opsets, label: format!("opset {opset}"), ..CheckQuestions::default() }
}

fn ir(ir: i64) -> CheckQuestions {
    CheckQuestions { ir: Some(ir), label: format!("IR {ir}"), ..CheckQuestions::default() }
}

/// Asserts that the first line of an answer contains these parts.
fn check(text: &str, wanted: &CheckQuestions, parts: &[&str]) -> ModelReport {
    let report = ask(text, wanted);
    for part in parts {
        assert!(report.verdict.contains(part), "'{part}' is missing in: {}\n{text}\n{report:#?}", report.verdict);
    }
    report
}

#[test]
fn an_ir_version_that_nothing_needs_may_be_lowered() {
    let text = r#"<ir_version: 10, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }"#;
    check(text, &ir(9), &["needs IR ", " or newer; set ir_version to 9: nothing in the file needs 10"]);
    check(text, &ir(3), &["IR 3 is not enough", "initializer"]);
    let int4 = r#"<ir_version: 10, opset_import: ["" : 21]> g (int4[2] x) => (int4[2] y) { y = Identity (x) }"#;
    check(int4, &ir(9), &["needs IR 10 or newer because of", "IR 9 is not enough"]);
}

#[test]
fn a_type_that_an_operator_does_not_take_is_named_with_its_origin() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 1]>
        g (float[N, 2] x) => (seq(map(int64, float)) z) {
            p = Cast <to = 11> (x)
            z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (p)
        }"#;
    let report = check(text, &CheckQuestions::default(), &["ZipMap-1", "tensor(double)"]);
    let finding = &report.findings[0];
    assert!(finding.origin.as_ref().is_some_and(|origin| origin.to_string().contains("Cast-13")), "{finding}");
    assert!(finding.edit.as_ref().is_some_and(|edit| edit.contains("Cast") && edit.contains("float")), "{finding}");
}

#[test]
fn a_pipeline_of_scikit_learn_needs_no_change_for_an_older_opset() {
    let text = r#"<ir_version: 7, opset_import: ["" : 14]> g (float[N, 3] x) => (float[N, 1] y)
        <float[3] mean = {1, 2, 3}, float[3] scale = {1, 2, 4}, int64[1] axes = {1}> {
            c = Sub (x, mean)
            s = Div (c, scale)
            a = Add (s, mean)
            y = ReduceSum <keepdims = 1> (a, axes)
        }"#;
    let report = check(text, &opset(13), &["opset 13: relabel only"]);
    assert_eq!(report.target.map(|target| target.answer), Some(Answer::RelabelOnly));
    check(text, &opset(12), &["opset 12: 1 edit:", "ReduceSum", "axes"]);
}

#[test]
fn a_softmax_that_means_something_else_is_told_with_its_edit() {
    let text = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) }"#;
    let report = check(text, &opset(12), &["opset 12:", "edit", "Softmax"]);
    assert_eq!(report.target.map(|target| target.answer), Some(Answer::Edits));
    // Along the last axis, both versions agree.
    let last = r#"<ir_version: 7, opset_import: ["" : 13]> g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 1> (x) }"#;
    check(last, &opset(12), &["opset 12:"]);
}

#[test]
fn the_modes_of_grid_sample_are_renamed() {
    let text = r#"<ir_version: 9, opset_import: ["" : 20]> g (float[1, 1, 3, 3] x, float[1, 2, 2, 2] grid) => (float[1, 1, 2, 2] y) {
            y = GridSample <mode = "linear"> (x, grid)
        }"#;
    check(text, &opset(16), &["opset 16: 1 edit:", "GridSample", "bilinear"]);
    let volume = r#"<ir_version: 9, opset_import: ["" : 20]>
        g (float[1, 1, 3, 3, 3] x, float[1, 2, 2, 2, 3] grid) => (float[1, 1, 2, 2, 2] y) { y = GridSample (x, grid) }"#;
    let report = check(volume, &opset(16), &["opset 16: 1 node cannot:"]);
    assert_eq!(report.status, Status::Findings);
}

#[test]
fn a_domain_that_is_imported_twice_is_told() {
    let mut model =
        parse_model(r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Identity (x) }"#)
            .unwrap();
    let mut again = model.opset_import[0].clone();
    model.opset_import.push(again.clone());
    let same = ask_of(&model.encode_to_vec(), &CheckQuestions::default());
    assert!(same.status == Status::Valid && same.findings[0].message.contains("imported 2 times"), "{same:#?}");
    again.version = Some(17);
    model.opset_import[1] = again;
    let other = ask_of(&model.encode_to_vec(), &CheckQuestions::default());
    assert!(
        other.status == Status::Findings && other.verdict.contains("13") && other.verdict.contains("17"),
        "{other:#?}"
    );
}

/// A node at an opset, another opset, and the parts of the answer.
struct Row(&'static str, i64, i64, &'static [&'static str]);

#[test]
fn what_changed_between_versions_is_an_edit_or_a_reason() {
    let rows = [
        Row(
            "(float[1, 4] x) => (float[4] y) <int64[1] axes = {0}> { y = Squeeze (x, axes) }",
            13,
            11,
            &["1 edit", "Squeeze"],
        ),
        Row("(float[1, 4] x) => (float[4] y) { y = Squeeze <axes = [0]> (x) }", 11, 13, &["1 edit", "Squeeze"]),
        Row("(float[4] x) => (float[1, 4] y) { y = Unsqueeze <axes = [0]> (x) }", 12, 13, &["1 edit", "Unsqueeze"]),
        Row(
            "(float[4] x, int64[1] axes) => (float[1, 4] y) { y = Unsqueeze (x, axes) }",
            13,
            12,
            &["1 node cannot", "Unsqueeze", "axes"],
        ),
        Row(
            "(float[4] x) => (float[2] a, float[2] b) { a, b = Split <split = [2, 2]> (x) }",
            11,
            13,
            &["1 edit", "Split"],
        ),
        Row(
            "(float[4] x) => (float[2] a, float[2] b) { a, b = Split <num_outputs = 2> (x) }",
            18,
            13,
            &["1 edit", "Split"],
        ),
        Row("(float[4] x) => (float[4] y) { y = Clip <min = 0.0, max = 6.0> (x) }", 6, 13, &["1 edit", "Clip"]),
        Row("(float[4] x, float lo) => (float[4] y) { y = Clip (x, lo) }", 13, 6, &["1 node cannot", "Clip"]),
        Row("(float[4] x) => (float[6] y) { y = Pad <pads = [1, 1]> (x) }", 2, 13, &["1 edit", "Pad"]),
        Row("(float[4] x) => (float[2] y) { y = Slice <starts = [1], ends = [3]> (x) }", 1, 13, &["1 edit", "Slice"]),
        Row("(float[4] x) => (float[4] y) { y = Dropout <ratio = 0.5> (x) }", 10, 13, &["1 edit", "Dropout"]),
        Row(
            "(float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], dilations = [1, 1]> (x) }",
            12,
            8,
            &["1 edit", "MaxPool", "dilations"],
        ),
        Row(
            "(float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) { y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x) }",
            7,
            9,
            &["1 edit", "Upsample"],
        ),
        Row(
            "(float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }",
            9,
            13,
            &["1 edit", "Upsample"],
        ),
    ];
    let mut wrong = Vec::new();
    for Row(body, from, to, parts) in rows {
        let text = format!("<ir_version: 7, opset_import: [\"\" : {from}]> g {body}");
        let report = ask(&text, &opset(to));
        if let Some(part) = parts.iter().find(|part| !report.verdict.contains(**part)) {
            wrong.push(format!("'{part}' is missing in: {}\n    {text}", report.verdict));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_model_is_told_by_what_it_is() {
    for (bytes, part) in [
        (&b""[..], "empty"),
        (b"\x18\x00\x00\x00ORTM\x00\x00\x00\x00\x00\x00\x00\x00", "ORT"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", "Git LFS"),
        (b"PK\x03\x04rest of an archive", "zip"),
        (b"{\"model\": 1}", "JSON"),
        (b"\xff\xff\xff\xff", ""),
    ] {
        let report = ask_of(bytes, &CheckQuestions::default());
        assert_eq!(report.status, Status::Unreadable, "{part}: {report:#?}");
        assert!(report.verdict.contains(part), "'{part}' is missing in: {}", report.verdict);
    }
}

#[test]
fn what_a_runtime_does_not_have_is_the_type_and_not_the_opset() {
    let onnxruntime = Measurements::embedded().newest("onnxruntime").unwrap().unwrap();
    let wanted = CheckQuestions { runtimes: vec![onnxruntime], ..CheckQuestions::default() };
    let conv = |element: &str| {
        format!(
            "<ir_version: 8, opset_import: [\"\": 17]> g ({element}[1, 1, 4, 4] x, {element}[1, 1, 3, 3] w) => \
             ({element}[1, 1, 2, 2] y) {{ y = Conv (x, w) }}"
        )
    };
    check(&conv("double"), &wanted, &["will not load", "Conv-11", "T=double", "not supported"]);
    let report = check(&conv("float"), &wanted, &["onnxruntime ", ": runs"]);
    assert_eq!(report.runtimes[0].verdict, RuntimeVerdict::Runs);
    let older = Measurements::embedded().get("onnxruntime", "1.31.1").unwrap().unwrap();
    let wanted = CheckQuestions { runtimes: vec![older], ..CheckQuestions::default() };
    let release = Specs::embedded().releases().unwrap().newest().unwrap();
    let (ir, opset) = (release.ir, release.opsets["ai.onnx"]);
    let newer = conv("float").replace("17", &opset.to_string()).replace("ir_version: 8", &format!("ir_version: {ir}"));
    let message = format!("IR version {ir}, but it accepts 3 to 13; set ir_version to 13");
    check(&newer, &wanted, &["will not load", &message]);
    check(
        &newer.replace(&format!("ir_version: {ir}"), "ir_version: 13"),
        &wanted,
        &[&format!("opset {opset} of ai.onnx, but it accepts 1 to 26")],
    );
}
