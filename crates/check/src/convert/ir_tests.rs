//! Conversions to another IR version.

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{Message as _, ModelProto};

use super::tests::{assert_near, outputs};
use super::{Target, convert};
use crate::rules::Level;
use crate::{Limits, check};

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
