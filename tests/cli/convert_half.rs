//! `convert --float16` and `--bfloat16`: the report, the written file, and mistakes.

use std::fs;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message as _, decode};
use serde_json::Value;

use crate::convert::{text, written};
use crate::program::call;
use crate::snapshot;

/// A sum that overflows in float16 on every generated input, and a product that does not.
const MODEL: &str = r#"<ir_version: 8, opset_import: ["" : 13]>
    g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) <float c = {60000}, float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
        a = Abs (x)
        b = Add (a, c)
        [big] d = Add (b, b)
        y = Neg (d)
        [product] z = MatMul (x, w)
    }"#;

#[test]
fn nodes_that_overflow_are_named_and_the_rest_is_half() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (written(folder.path(), MODEL), folder.path().join("half.onnx"));
    let called = call(&["convert", text(&model), "--float16", "-o", text(&out)]).expect(0, "wrote ");
    let printed = called.out.replace(text(folder.path()), "FOLDER");
    snapshot::check("convert-float16", &printed);
    let converted = decode::model(fs::read(&out).unwrap().into()).unwrap();
    let graph = converted.graph.unwrap();
    let element = |name: &str| graph.initializer.iter().find(|tensor| tensor.name() == name).unwrap().data_type();
    assert_eq!((element("w"), element("c")), (ElementType::Float16.code(), ElementType::Float16.code()));
    call(&["check", text(&out)]).expect(0, "valid");
    fs::remove_file(&out).unwrap();
    let refused = call(&["convert", text(&model), "--float16", "--half-io", "-o", text(&out)]);
    refused.expect(1, "are infinite or NaN; without --half-io, the outputs stay in float\n");
    assert!(!out.exists());
}

#[test]
fn the_json_has_every_error() {
    let folder = tempfile::tempdir().unwrap();
    let model = written(folder.path(), MODEL);
    let schema = fs::read_to_string("docs/schema/convert.json").unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let json = |more: &[&str]| {
        let called = call(&[&["convert", text(&model), "--format", "json"], more].concat()).expect(0, "\"status\"");
        let value: Value = serde_json::from_str(&called.out).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} {value:#}");
        value
    };
    let half = json(&["--bfloat16"]);
    assert_eq!((&half["half"]["element"], &half["half"]["nodes"]), (&"bfloat16".into(), &5.into()));
    assert_eq!(half["half"]["errors"].as_array().unwrap().len(), 5);
    assert_eq!(half["verification"]["verified"], true);
    let both = json(&["--bfloat16", "--opset", "18", "--half-io", "--keep", "MatMul,big"]);
    let kept: Vec<&Value> = both["half"]["float"].as_array().unwrap().iter().map(|node| &node["reason"]).collect();
    assert_eq!(kept, ["named by --keep", "named by --keep"]);
    assert_eq!(both["edits"][0]["text"], "opset 13 of ai.onnx becomes 18");
    let verification = both["verification"]["text"].as_str().unwrap();
    assert!(verification.starts_with(
        "verified: bit-identical outputs on 3 of 3 inputs; verified: outputs differ from those in double by"
    ));
}

#[test]
fn mistakes_are_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (model, out) = (written(folder.path(), MODEL), folder.path().join("half.onnx"));
    let call = |more: &[&str]| call(&[&["convert", text(&model), "-o", text(&out)], more].concat());
    call(&["--float16", "--keep", "MatMil"])
        .expect(64, "--keep MatMil: the model has no such operator or node; did you mean 'MatMul'?");
    call(&["--float16", "--keep", "com.x/Unknown"]).expect(64, "write an operator, such as Softmax or com.x/Op");
    call(&["--float16", "--bfloat16"]).expect(64, "cannot be used with");
    call(&["--opset", "14", "--keep", "MatMul"]).expect(64, "--float16|--bfloat16");
    call(&["--float16", "--verify", "0", "--require-proof"]).expect(1, "the outputs were not compared");
    assert!(!out.exists());
    let old = MODEL.replace(": 13]", ": 12]");
    fs::write(&model, parse_model(&old).unwrap().encode_to_vec()).unwrap();
    call(&["--bfloat16"])
        .expect(64, "the model needs Cast to bfloat16, which Cast-9 does not take; convert to --opset 13 first");
    let external = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Mul (x, w) }"#;
    fs::write(&model, parse_model(external).unwrap().encode_to_vec()).unwrap();
    fs::write(folder.path().join("w.bin"), [0, 0, 128, 63, 0, 0, 0, 64]).unwrap();
    call(&["--float16"])
        .expect(64, "weights such as 'w' are in other files; move them into the model with --external inline");
    assert!(!out.exists());
    call(&["--float16", "--external", "inline"]).expect(0, "1 weight rounded; 0 of 2 elements become zero");
}

#[test]
fn functions_are_replaced_by_their_nodes_and_subgraphs_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let text_of = |opset: i64| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 13, "l" : 1]> g (float[2] x, bool c) => (float[2] y) {{
                [call] t = l.double (x)
                y = If (c) <
                    then_branch = one () => (float[2] a) {{ a = Exp (t) }},
                    else_branch = two () => (float[2] b) {{ b = Softmax <axis = 0> (t) }}
                >
            }}
            <domain: "l", opset_import: ["" : {opset}]> double (v) => (w) {{ s = Softmax <axis = 0> (v) w = Add (s, v) }}"#
        )
    };
    let model = written(folder.path(), &text_of(13));
    let json = call(&["convert", text(&model), "--float16", "--format", "json"]).expect(0, "\"status\"").out;
    let answer: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(answer["remarks"], serde_json::json!(["1 call of a function is replaced by the function's nodes"]));
    assert_eq!((&answer["half"]["nodes"], &answer["half"]["reference"]["element"]), (&5.into(), &"double".into()));
    let values: Vec<&Value> = answer["half"]["errors"].as_array().unwrap().iter().map(|it| &it["value"]).collect();
    assert!(values.contains(&&"call_s".into()), "{values:?}");
    // The condition of If is generated.
    assert!(values.contains(&&"a".into()) || values.contains(&&"b".into()), "{values:?}");
    let verification = answer["verification"]["text"].as_str().unwrap();
    assert!(verification.starts_with("verified: bit-identical outputs on 3 of 3 inputs; verified: "), "{verification}");
    fs::write(&model, parse_model(&text_of(12)).unwrap().encode_to_vec()).unwrap();
    let reason = "a call stays in float: the function l.double has Add of opset 12, the model of opset 13\n";
    let called = call(&["convert", text(&model), "--float16"]).expect(0, reason);
    assert!(called.out.contains("stays float: functions of the model are not converted"), "{}", called.out);
    assert!(called.out.contains("compared with the original model in float, not in double: "), "{}", called.out);
    fs::write(&model, parse_model(&text_of(13)).unwrap().encode_to_vec()).unwrap();
    let keep = |name: &str| call(&["convert", text(&model), "--float16", "--keep", name]);
    for name in ["l/double", "call"] {
        keep(name).expect(0, "a call stays in float: the function l.double is named by --keep\n");
    }
}

#[test]
fn a_reason_that_holds_for_both_comparisons_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = r#"<ir_version: 8, opset_import: ["" : 13, "com.x" : 1]>
        g (float[2] x) => (float[2] y) { a = Neg (x) b = com.x.Op (a) y = Abs (b) }"#;
    let model = written(folder.path(), foreign);
    let called = call(&["convert", text(&model), "--float16", "--opset", "14"]).expect(0, "not verified: ");
    assert_eq!(called.out.matches("not verified: ").count(), 1, "{}", called.out);
}
