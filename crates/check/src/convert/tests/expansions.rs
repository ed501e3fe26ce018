//! Subgraphs and functions, and nodes that are expanded into several.

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::NodeProto;

use crate::convert::convert;
use crate::convert::tests::support::{assert_near, check, check_expanded, outputs, target};

#[test]
fn subgraphs_and_functions_are_converted_too() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "local" : 1]>
        g (float[2, 3] x) => (float[2] y) <bool condition = {1}> {
            y = If (condition) <
                then_branch = then () => (a) { axes = Constant <value_ints = [1]> () a = ReduceSum <keepdims = 0> (x, axes) },
                else_branch = other () => (b) { b = local.total (x) }
            >
        }
        <domain: "local", opset_import: ["" : 13]>
        total (v) => (w) { axes = Constant <value_ints = [1]> () w = ReduceSum <keepdims = 0> (v, axes) }"#;
    let edit = "axes moves from input 1 to an attribute of ReduceSum-11";
    check(text, 12, &[2, 3], &[edit, edit]);
}

#[test]
fn functions_that_an_opset_does_not_have_are_expanded() {
    let text = r#"<ir_version: 8, opset_import: ["" : 17]>
        g (float[2, 4] x) => (float[2, 4] y) <float[4] scale = {1, 2, 3, 4}>
        { y = LayerNormalization (x, scale) }"#;
    let model = parse_model(text).unwrap();
    let conversion = convert(&model, &target(13)).unwrap();
    let names: Vec<&str> =
        conversion.model.graph.iter().flat_map(|graph| &graph.node).map(NodeProto::op_type).collect();
    assert_eq!(names, ["Constant", "ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]);
    assert_near(&outputs(&model, &[2, 4]), &outputs(&conversion.model, &[2, 4]));
}

#[test]
fn celu_of_large_elements_is_expanded() {
    let text = |alpha: f32| {
        format!(
            r#"<ir_version: 7, opset_import: ["" : 12]>
            g (float[2, 3] x) => (float[2, 3] y) <float large = {{1e30}}>
            {{ z = Mul (x, large) a = Celu <alpha = {alpha:?}> (z) b = Celu <alpha = {alpha:?}> (x) y = Add (a, b) }}"#
        )
    };
    let expanded = "Celu is expanded into its function body";
    check(&text(1e-20), 7, &[2, 3], &[expanded, expanded]);
    check(&text(2.0), 11, &[2, 3], &[expanded, expanded]);
    for alpha in ["0.0", "-1.0", "1e-40"] {
        let refusal = convert(&parse_model(&text(1.0).replace("1.0", alpha)).unwrap(), &target(11)).unwrap_err();
        assert!(refusal.to_string().contains("divides by alpha"), "{refusal}");
    }
}

#[test]
fn nodes_of_a_function_body_are_converted_too() {
    let rms = r#"<ir_version: 11, opset_import: ["" : 23]> g (float[2, N] x) => (float[2, N] y) <float[1] scale = {3}>
        { y = RMSNormalization (x, scale) }"#;
    let body = ["Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"];
    check_expanded(rms, 22, &[2, 4], &body);
    // ReduceMean has its axes as an attribute there.
    check_expanded(rms, 13, &[2, 4], &body);
    let layer = r#"<ir_version: 11, opset_import: ["" : 17]> g (float[2, 4] x) => (float[2, 4] y)
        <float[4] scale = {1, 2, 3, 4}, float[4] bias = {4, 3, 2, 1}> { y = LayerNormalization (x, scale, bias) }"#;
    // Broadcasting is requested there, along the axis of rows.
    let rows = ["ReduceMean", "Squeeze", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Squeeze", "Div", "Mul", "Add"];
    check_expanded(layer, 6, &[2, 4], &rows);
}

#[test]
fn narrow_types_are_normalized_in_the_stash_type() {
    let text = r#"<ir_version: 11, opset_import: ["" : 17]> g (float[2, 4] x) => (float[2, 4] y)
        <float16[4] scale = {1, 2, 3, 4}>
        { n = Cast <to = 10> (x) z = LayerNormalization (n, scale) y = Cast <to = 1> (z) }"#;
    let operators = [
        "Cast",
        "Cast",
        "ReduceMean",
        "Sub",
        "Mul",
        "ReduceMean",
        "Add",
        "Sqrt",
        "Div",
        "Cast",
        "Cast",
        "Cast",
        "Mul",
        "Cast",
        "Cast",
    ];
    check_expanded(text, 13, &[2, 4], &operators);
    let bfloat16 = text.replace("LayerNormalization", "LayerNormalization <stash_type = 16>");
    let refusal = convert(&parse_model(&bfloat16).unwrap(), &target(13)).unwrap_err().to_string();
    assert!(refusal.contains("with stash_type bfloat16, every step of the function body would round"), "{refusal}");
}

#[test]
fn groups_are_normalized_by_the_body_below_their_version() {
    let text = |opset: i64, count: usize| {
        let values = ["1", "-2", "3", "4"][..count].join(", ");
        format!(
            r#"<ir_version: 11, opset_import: ["" : {opset}]> g (float[N, 4, 3] x) => (float[N, 4, 3] y)
            <float[{count}] scale = {{{values}}}, float[{count}] bias = {{{values}}}>
            {{ y = GroupNormalization <num_groups = 2> (x, scale, bias) }}"#
        )
    };
    for opset in [20, 17, 13] {
        let model = parse_model(&text(21, 4)).unwrap();
        let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{opset}: {refusal}"));
        assert_near(&outputs(&model, &[2, 4, 3]), &outputs(&conversion.model, &[2, 4, 3]));
    }
    let model = parse_model(&text(18, 2)).unwrap();
    let conversion = convert(&model, &target(13)).unwrap();
    assert_near(&outputs(&model, &[2, 4, 3]), &outputs(&conversion.model, &[2, 4, 3]));
}

#[test]
fn triangles_are_selected_by_positions() {
    let text = |size: &str, upper: i64| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 14]> g (float[3, {size}] x) => (float[3, {size}] y) <int64 k = {{1}}>
            {{ y = Trilu <upper = {upper}> (x, k) }}"#
        )
    };
    let body = ["Reshape", "Sub", "Less", "Where"];
    check_expanded(&text("4", 1), 13, &[3, 4], &body);
    check_expanded(&text("4", 0), 9, &[3, 4], &body);
    check_expanded(&text("N", 0), 11, &[3, 4], &["Shape", "Gather", "Range", "Reshape", "Sub", "Less", "Where"]);
}

#[test]
fn attention_is_expanded() {
    let text = |rest: &str, attributes: &str| {
        format!(
            r#"<ir_version: 11, opset_import: ["" : 23]> g (float[1, 2, S, 4] x) => (float[1, 2, S, 4] y)
            <bool[3, 3] m = {{1, 0, 0, 0, 0, 0, 1, 1, 1}}, float[3, 3] b = {{0, 1, 2, 3, 4, 5, 6, 7, 8}}>
            {{ y = Attention <{attributes}> (x, x, x{rest}) }}"#
        )
    };
    for (rest, attributes) in [
        ("", "is_causal = 0"),
        ("", "is_causal = 1, scale = 0.25"),
        (", m", "is_causal = 0"),
        (", b", "is_causal = 1, softcap = 2.0"),
    ] {
        let model = parse_model(&text(rest, attributes)).unwrap();
        for opset in [22, 13, 11] {
            let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{opset}: {refusal}"));
            assert_near(&outputs(&model, &[1, 2, 3, 4]), &outputs(&conversion.model, &[1, 2, 3, 4]));
        }
    }
    let flat = r#"<ir_version: 11, opset_import: ["" : 23]> g (float[1, 3, 8] x) => (float[1, 3, 8] y)
        <float[1, 2, 4] k = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Attention <q_num_heads = 4, kv_num_heads = 2> (x, k, k) }"#;
    let model = parse_model(flat).unwrap();
    let conversion = convert(&model, &target(13)).unwrap();
    assert_near(&outputs(&model, &[1, 3, 8]), &outputs(&conversion.model, &[1, 3, 8]));
}

#[test]
fn rotary_embeddings_are_expanded() {
    let text = |shape: &str, attributes: &str| {
        format!(
            r#"<ir_version: 11, opset_import: ["" : 23]> g (float[{shape}] x) => (float[{shape}] y)
            <float[3, 2] c = {{1, 2, 3, 4, 5, 6}}, float[3, 2] s = {{6, 5, 4, 3, 2, 1}}, int64[1, 3] p = {{2, 0, 1}}>
            {{ y = RotaryEmbedding <{attributes}> (x, c, s, p) }}"#
        )
    };
    let cases = [
        ("1, 2, 3, 4", "interleaved = 0", [1, 2, 3, 4].as_slice()),
        ("1, 2, 3, 4", "interleaved = 1", &[1, 2, 3, 4]),
        ("1, 2, 3, 6", "rotary_embedding_dim = 4", &[1, 2, 3, 6]),
        ("1, 3, 8", "num_heads = 2", &[1, 3, 8]),
    ];
    for (declared, attributes, shape) in cases {
        let model = parse_model(&text(declared, attributes)).unwrap();
        for opset in [22, 13, 11] {
            let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{opset}: {refusal}"));
            assert_near(&outputs(&model, shape), &outputs(&conversion.model, shape));
        }
    }
}
