//! Operators that an older opset does not have, expanded into their function bodies: the operators of both models, and equal outputs.

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::spec::Specs;

use crate::convert::tests::support::{assert_near, outputs};
use crate::convert::{Target, convert};

/// Converts a model with one input `x`, `[2, 3]`; checks that no node has the operator, and compares the outputs of both models.
fn check(operator: &str, opsets: (i64, i64), result: &str, nodes: &str) {
    check_shape(operator, opsets, (&[2, 3], result), nodes);
}

fn check_shape(operator: &str, (from, to): (i64, i64), (shape, results): (&[usize], &str), nodes: &str) {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let text = format!(
        r#"<ir_version: 8, opset_import: ["" : {from}]> g (float[{}] x) => ({results}) {{ {nodes} }}"#,
        sizes.join(", ")
    );
    let model = parse_model(&text).unwrap();
    let converted = convert(&model, &Target::opset(to)).unwrap_or_else(|refusal| panic!("{text}: {refusal}")).model;
    let mut names = converted.graph.iter().flat_map(|graph| &graph.node).map(NodeProto::op_type);
    assert!(names.all(|name| name != operator), "{text}");
    assert_near(&outputs(&model, shape), &outputs(&converted, shape));
}

fn refusal(opsets: (i64, i64), nodes: &str) -> String {
    let (from, to) = opsets;
    let text =
        format!(r#"<ir_version: 8, opset_import: ["" : {from}]> g (float[2, 3] x) => (float[A, B] y) {{ {nodes} }}"#);
    convert(&parse_model(&text).unwrap(), &Target::opset(to)).unwrap_err().to_string()
}

/// Returns the opset of an operator's newest version.
fn newest(operator: &str) -> i64 {
    Specs::embedded().versions("", operator).last().map(i64::from).unwrap()
}

#[test]
fn elementwise_bodies() {
    check("ThresholdedRelu", (10, 9), "float[2, 3] y", "y = ThresholdedRelu <alpha = 0.5> (x)");
    check("MeanVarianceNormalization", (13, 8), "float[2, 3] y", "y = MeanVarianceNormalization <axes = [-1]> (x)");
    let swiglu = "b = Abs (x) y = SwiGLU <alpha = 1.5> (x, b)";
    check("SwiGLU", (newest("SwiGLU"), 11), "float[2, 3] y", swiglu);
    let celu = "d = Cast <to = 11> (x) c = Celu <alpha = 0.5> (d) y = Cast <to = 1> (c)";
    check("Celu", (newest("Celu"), 12), "float[2, 3] y", celu);
    let shrink = refusal((13, 8), "y = Shrink (x)");
    assert!(shrink.ends_with("the function body of Shrink needs Where, which also begins with opset 9"), "{shrink}");
}

#[test]
fn windows_and_ranges() {
    for (operator, attributes) in [("HannWindow", ""), ("HammingWindow", "<periodic = 0>"), ("BlackmanWindow", "")] {
        let fixed = format!("n = Constant <value = int64 {{3}}> () w = {operator} {attributes} (n) y = Mul (x, w)");
        check(operator, (17, 9), "float[2, 3] y", &fixed);
        let computed = format!(
            "a = Abs (x) m = ReduceMax <keepdims = 0> (a) n = Cast <to = 7> (m) w = {operator} {attributes} (n) y = Mul (x, w)"
        );
        check(operator, (17, 9), "float[2, 3] y", &computed);
    }
    let range = "z = Constant <value = int64 {7}> () d = Constant <value = int64 {-3}> () m = ReduceMax <keepdims = 0> (x) \
                 l = Cast <to = 7> (m) y = Range (z, l, d)";
    check("Range", (13, 10), "int64[N] y", range);
    let floats = "z = Constant <value = float {0.5}> () d = Constant <value = float {0.1}> () \
                  l = Constant <value = float {2}> () y = Range (z, l, d)";
    check("Range", (13, 9), "float[N] y", floats);
    let computed =
        refusal((13, 10), "z = Constant <value = float {0}> () m = ReduceMax <keepdims = 0> (x) y = Range (z, m, m)");
    assert!(
        computed.contains("Range of float needs constants: the function body adds delta in each step"),
        "{computed}"
    );
}

#[test]
fn crops_and_grids() {
    let crop = "s = Constant <value_ints = [1, 6]> () y = CenterCropPad (x, s)";
    check("CenterCropPad", (18, 11), "float[1, 6] y", crop);
    let axes = "s = Constant <value_ints = [2]> () y = CenterCropPad <axes = [-1]> (x, s)";
    check("CenterCropPad", (18, 13), "float[2, 2] y", axes);
    for attributes in ["", "<align_corners = 1>"] {
        let grid = format!(
            "zero = Constant <value_ints = [0]> () t = Unsqueeze (x, zero) s = Constant <value_ints = [1, 1, 2, 4]> () \
             y = AffineGrid {attributes} (t, s)"
        );
        check("AffineGrid", (20, 13), "float[1, 2, 4, 2] y", &grid);
    }
}

#[test]
fn losses_return_the_logarithms_too() {
    let labels = "l = Constant <value_ints = [2, -1]> () w = Constant <value = float[3] {1, 2, 0.5}> ()";
    let cross = format!("{labels} y, p = SoftmaxCrossEntropyLoss <ignore_index = -1> (x, l, w)");
    check("SoftmaxCrossEntropyLoss", (13, 11), "float y, float[2, 3] p", &cross);
    for reduction in ["none", "sum", "mean"] {
        let loss =
            format!("{labels} y = NegativeLogLikelihoodLoss <ignore_index = -1, reduction = \"{reduction}\"> (x, l)");
        let result = if reduction == "none" { "float[2] y" } else { "float y" };
        check("NegativeLogLikelihoodLoss", (13, 11), result, &loss);
    }
}

#[test]
fn later_outputs_are_computed() {
    let quantize = "y, s, z = DynamicQuantizeLinear (x)";
    check("DynamicQuantizeLinear", (11, 10), "uint8[2, 3] y, float s, uint8 z", quantize);
    let scale = "w = Constant <value = float[3] {1, 2, 0.5}> ()";
    let layer = format!("{scale} y, m, i = LayerNormalization (x, w)");
    check("LayerNormalization", (17, 11), "float[2, 3] y, float[2, 1] m, float[2, 1] i", &layer);
    let inverse = format!("{scale} y, , i = LayerNormalization (x, w)");
    check("LayerNormalization", (17, 11), "float[2, 3] y, float[2, 1] i", &inverse);
}

#[test]
fn attention_appends_to_past_keys_and_values() {
    let past = "p = Neg (x) v = Abs (x) a = Abs (p)";
    let results = "float[1, 2, 3, 4] y, float[1, 2, 6, 4] k, float[1, 2, 6, 4] w";
    for attributes in ["", "<is_causal = 1>"] {
        let nodes = format!("{past} y, k, w = Attention {attributes} (x, p, v, , a, x)");
        check_shape("Attention", (23, 22), (&[1, 2, 3, 4], results), &nodes);
        check_shape("Attention", (23, 13), (&[1, 2, 3, 4], results), &nodes);
    }
}

#[test]
fn a_causal_convolution_returns_its_last_inputs() {
    let weight = "w = Constant <value = float[3, 1, 2] {1, 2, 0.5, -1, 3, 1}> ()";
    let results = "float[1, 3, 4] y, float[1, 3, 1] s";
    for (nodes, inputs) in [
        ("", "<activation = \"silu\"> (x, w)"),
        (
            "p = Constant <value = float[1, 3, 1] {5, 6, 7}> () b = Constant <value = float[3] {1, 2, 3}> ()",
            "(x, w, b, p)",
        ),
    ] {
        let nodes = format!("{weight} {nodes} y, s = CausalConvWithState {inputs}");
        check_shape("CausalConvWithState", (27, 10), (&[1, 3, 4], results), &nodes);
    }
}

#[test]
fn a_seed_keeps_bernoulli() {
    let reason = "with attribute seed, a runtime repeats its results, but RandomUniformLike of the function body may draw others";
    let seeded = refusal((15, 14), "a = Abs (x) p = Sigmoid (a) y = Bernoulli <seed = 1.0> (p)");
    assert!(seeded.ends_with(reason), "{seeded}");
    let text = r#"<ir_version: 8, opset_import: ["" : 15]> g (float[2, 3] x) => (float[2, 3] y) { y = Bernoulli (x) }"#;
    let converted = convert(&parse_model(text).unwrap(), &Target::opset(14)).unwrap().model;
    let names: Vec<&str> = converted.graph.iter().flat_map(|it| &it.node).map(NodeProto::op_type).collect();
    assert_eq!(names, ["RandomUniformLike", "Less", "Cast"]);
}
