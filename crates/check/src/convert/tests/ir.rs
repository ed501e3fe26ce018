//! Conversions to another IR version.

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TrainingInfoProto};
use onnx_conformance_reference::proto::{Message as _, ModelProto};
use onnx_conformance_reference::spec::Specs;

use crate::convert::tests::support::{assert_near, outputs, refused, target};
use crate::convert::{Target, convert};
use crate::rules::Level;
use crate::{Limits, check};

#[test]
fn the_ir_version_follows_from_the_file_and_the_opset() {
    let text = r#"<ir_version: 10, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) { y = Relu (x) }"#;
    let model = parse_model(text).unwrap();
    let lowered = convert(&model, &Target { ir: Some(9), ..Target::default() }).unwrap();
    assert_eq!((lowered.model.ir_version(), lowered.edits.len()), (9, 1));
    let raised = convert(&model, &target(23)).unwrap();
    assert_eq!(raised.model.ir_version(), 11);
    // An opset that stays does not raise it, as that of a model at opset 23 that declares IR version 10.
    let exported = parse_model(&text.replace("17", "23")).unwrap();
    let unchanged = convert(&exported, &target(23)).unwrap();
    assert_eq!((unchanged.model.ir_version(), unchanged.edits.len()), (10, 0));
    let float8 = r#"<ir_version: 10, opset_import: ["" : 19]>
        g (float8e4m3fn[2] x) => (float8e4m3fn[2] y) { y = Identity (x) }"#;
    let low = Target { ir: Some(8), ..Target::default() };
    refused(float8, &low, "model: ir_version cannot be 8: needs IR 9 or newer: float8e4m3fn, the type of 'x'");
}

#[test]
fn an_import_that_no_node_uses_does_not_raise_the_ir_version() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "ai.onnx.preview" : 1, "ai.onnx.ml" : 4]>
        g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    let to_ml_5 =
        Target { opsets: [("ai.onnx".to_owned(), 15), ("ai.onnx.ml".to_owned(), 5)].into(), ..Target::default() };
    let conversion = convert(&parse_model(text).unwrap(), &to_ml_5).unwrap();
    assert_eq!(conversion.model.ir_version(), 8);
    let used = text.replace("y = Neg (x)", "y = ai.onnx.ml.Binarizer (x)");
    let conversion = convert(&parse_model(&used).unwrap(), &to_ml_5).unwrap();
    let ir = Specs::embedded().releases().unwrap().lowest_ir("ai.onnx.ml", 5).map(i64::from);
    assert_eq!(Some(conversion.model.ir_version()), ir);
}

#[test]
fn metadata_stays_at_an_older_ir_version_and_training_does_not() {
    let text = r#"<ir_version: 10, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#;
    let mut model = parse_model(text).unwrap();
    let entry = StringStringEntryProto { key: Some("a".to_owned()), value: Some("b".to_owned()) };
    model.graph.as_mut().unwrap().node[0].rare_mut().metadata_props.push(entry);
    let older = Target { ir: Some(6), ..Target::default() };
    let conversion = convert(&model, &older).unwrap();
    assert_eq!(conversion.model.graph.unwrap().node[0].metadata_props().len(), 1);
    let edits: Vec<String> = conversion.edits.iter().map(ToString::to_string).collect();
    let kept = "model: keeps metadata_props outside of the model, which readers of IR version 6 skip";
    assert_eq!(edits, ["model: ir_version 10 becomes 6", kept]);
    model.training_info.push(TrainingInfoProto::default());
    let refusal = convert(&model, &older).unwrap_err().to_string();
    assert!(refusal.ends_with("needs IR 7 or newer: training information; --strip training drops it"), "{refusal}");
}

#[test]
fn constants_of_subgraphs_are_inputs_before_ir_version_4_only() {
    let text = |ir: i64, constant: &str, inputs: &str| {
        format!(
            r#"<ir_version: {ir}, opset_import: ["" : 8]> g (float[2] x, int64 m = {{3}}, bool b = {{1}}) => (float[2] y) {{
                y = Loop (m, b, x) <body = l (int64 i, bool d, float[2] s{inputs}) => (bool c, float[2] t) {constant} {{
                    c = Identity (d) t = Mul (s, k)
                }}>
            }}"#
        )
    };
    let old = text(3, "", ", float k = {2.0}");
    let new = text(4, "<float k = {2.0}>", "");
    for (before, ir, edit) in [
        (&old, 7, "1 initializer is no longer an input of a subgraph, as IR versions from 4 on require"),
        (&new, 3, "1 initializer is declared as an input of a subgraph, as IR versions below 4 require"),
    ] {
        let model = parse_model(before).unwrap();
        let target = Target { ir: Some(ir), ..Target::default() };
        let conversion = convert(&model, &target).unwrap_or_else(|refusal| panic!("{before}: {refusal}"));
        assert!(conversion.edits.iter().any(|it| it.text == edit), "{:?}", conversion.edits);
        let file = model.encode_to_vec();
        let written = conversion.file(&model, &file).unwrap().bytes(&file);
        assert_eq!(ModelProto::decode(written.as_slice()).unwrap(), conversion.model);
        let report = check(&written, None, &Limits::default());
        let errors = report.findings.iter().filter(|it| it.level == Level::Error).count();
        assert_eq!(errors, 0, "{:?}", report.findings);
        assert_near(&outputs(&model, &[2]), &outputs(&conversion.model, &[2]));
    }
}
