//! Targets of a conversion: domains and opsets; edits and refusals that name their place.

use std::collections::BTreeMap;

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::spec::Specs;

use crate::convert::tests::support::{check, refused, target};
use crate::convert::{Target, convert};

#[test]
fn both_names_of_the_domain_are_accepted() {
    let model =
        parse_model(r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#);
    let unnamed = Target { opsets: BTreeMap::from([(String::new(), 14)]), ..Target::default() };
    let converted = convert(&model.unwrap(), &unnamed).unwrap();
    assert_eq!(converted.model.opset_import[0].version(), 14);
}

#[test]
fn a_domain_that_neither_onnx_nor_the_model_has_is_refused() {
    let model = parse_model(
        r#"<ir_version: 8, opset_import: ["" : 13, "mine" : 1]> g (float[2] x) => (float[2] y) { y = Neg (x) }"#,
    );
    let model = model.unwrap();
    let converted = |domain: &str, opset: i64| {
        convert(&model, &Target { opsets: BTreeMap::from([(domain.to_owned(), opset)]), ..Target::default() })
    };
    let refusal = converted("ai.onxn", 14).unwrap_err().to_string();
    assert_eq!(refusal, "model: neither ONNX nor the model has a domain 'ai.onxn'");
    // The opsets of a release name domains that a model does not import.
    assert_eq!(converted("ai.onnx.ml", 3).unwrap().model, model);
    assert!(converted("mine", 1).is_ok());
}

#[test]
fn versions_that_only_add_types_are_relabelled() {
    let text = r#"<ir_version: 8, opset_import: ["" : 14]>
        g (float[2, 3] x) => (float[2, 3] y) { s = Sub (x, x) d = Div (s, x) y = Add (d, x) }"#;
    check(text, 13, &[2, 3], &[]);
    check(text, 7, &[2, 3], &[]);
}

#[test]
fn nodes_that_cannot_be_converted_are_refused_with_their_place() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x, int64[1] axes) => (float[n] y) { y = ReduceSum <keepdims = 0> (x, axes) }"#;
    let computed = "node 0 (ReduceSum): input 1 'axes' is computed at run time, but must be a constant, since ReduceSum-11 has \
        it as attribute axes";
    refused(text, &target(12), computed);
    let text = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x) => (float[2, 3] y) { a = Relu (x) y = Identity (a) }"#;
    refused(
        text,
        &target(99),
        &format!(
            "model: opset 99 of ai.onnx is unknown; 1 to {} are known",
            Specs::embedded().newest_opset("").unwrap()
        ),
    );
    let wrap = r#"<ir_version: 9, opset_import: ["" : 19]>
        g (float[3] x) => (float[n] y) <int64[2] pads = {1, 1}> { y = Pad <mode = "wrap"> (x, pads) }"#;
    refused(wrap, &target(18), "node 0 (Pad): Pad-18 does not support mode=wrap; it supports constant, reflect, edge");
    let only = Target { relabel_only: true, ..target(12) };
    let sum = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x) => (float[2] y) <int64[1] axes = {1}> { y = ReduceSum <keepdims = 0> (x, axes) }"#;
    let edit = "axes moves from input 1 to an attribute of ReduceSum-11, but only relabelling is allowed";
    refused(sum, &only, &format!("node 0 (ReduceSum): {edit}"));
}
