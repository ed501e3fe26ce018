//! Conversions of small models: expected edits, and equal outputs of both models.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TrainingInfoProto};
use onnx_conformance_reference::proto::{Message as _, ModelProto, NodeProto, Text, texts};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use super::{Target, convert};

fn target(opset: i64) -> Target {
    Target::opset(opset)
}

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

/// Runs the model on the input `x`, a float tensor with elements -3, -2 and so on.
pub(super) fn outputs(model: &ModelProto, shape: &[usize]) -> Vec<Value> {
    let values: Vec<f64> = (0..shape.iter().product::<usize>()).map(|at| at as f64 - 3.0).collect();
    let x = Tensor::of_floats(ElementType::Float, shape, &values).unwrap();
    let bytes = model.encode_to_vec().into();
    let model = read_model(bytes, &NoExternalData, &LoadLimits::default()).unwrap_or_else(|error| panic!("{error}"));
    let inputs = BTreeMap::from([("x".to_owned(), Value::Tensor(x))]);
    run(&model, inputs, ExecutionLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Converts a model with one input `x` of this shape; compares the edits of nodes, and the outputs of both models.
pub(super) fn check(text: &str, opset: i64, shape: &[usize], expected: &[&str]) {
    let model = parse_model(text).unwrap();
    let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let edits: Vec<String> =
        conversion.edits.iter().filter(|edit| !edit.concerns_model()).map(|edit| edit.text.clone()).collect();
    assert_eq!(edits, expected, "{text}");
    assert_near(&outputs(&model, shape), &outputs(&conversion.model, shape));
}

/// Checks that the values are equal up to one rounding in another kernel.
pub(super) fn assert_near(expected: &[Value], actual: &[Value]) {
    assert_eq!(expected.len(), actual.len());
    for (expected, actual) in expected.iter().zip(actual) {
        let [expected, actual] = [expected, actual].map(|value| value.as_tensor().unwrap());
        assert_eq!(expected.shape(), actual.shape());
        for (expected, actual) in expected.floats().into_iter().zip(actual.floats()) {
            let is_near = (expected - actual).abs() <= 1e-6 || (expected.is_nan() && actual.is_nan());
            assert!(is_near, "{expected} {actual}");
        }
    }
}

fn refused(text: &str, target: &Target, expected: &str) {
    let refusal = convert(&parse_model(text).unwrap(), target).expect_err(text);
    assert_eq!(refusal.to_string(), expected);
}

#[test]
fn versions_that_only_add_types_are_relabelled() {
    let text = r#"<ir_version: 8, opset_import: ["" : 14]>
        g (float[2, 3] x) => (float[2, 3] y) { s = Sub (x, x) d = Div (s, x) y = Add (d, x) }"#;
    check(text, 13, &[2, 3], &[]);
    check(text, 7, &[2, 3], &[]);
}

#[test]
fn axes_move_between_attribute_and_input() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x) => (float[2] y) <int64[1] axes = {-1}> { y = ReduceSum <keepdims = 0> (x, axes) }"#;
    check(text, 12, &[2, 3], &["axes moves from input 1 to an attribute of ReduceSum-11"]);
    check(
        text,
        7,
        &[2, 3],
        &[
            "axes moves from input 1 to an attribute of ReduceSum-11",
            "axes is set to [1], since ReduceSum-1 does not support negative axes",
        ],
    );
    let older = r#"<ir_version: 6, opset_import: ["" : 11]>
        g (float[2, 3] x) => (float[2] y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }"#;
    check(older, 18, &[2, 3], &["axes moves from an attribute to input 1 of ReduceSum-13"]);
}

#[test]
fn softmax_along_an_inner_axis_is_transposed_or_flattened() {
    let text = |opset: i64, axis: i64| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : {opset}]>
            g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ y = Softmax <axis = {axis}> (x) }}"#
        )
    };
    let moved = "axis 1 is moved to the end: Transpose(perm=[0, 2, 1]) before and after, axis=2";
    check(&text(13, 1), 12, &[2, 3, 4], &[moved]);
    check(&text(13, 2), 12, &[2, 3, 4], &[]);
    let flat = "the axes from 1 on are merged: Flatten(axis=1) before, axis=-1, Reshape after";
    check(&text(11, 1), 13, &[2, 3, 4], &[flat]);
}

#[test]
fn legacy_broadcasting_is_converted_both_ways() {
    let text = r#"<ir_version: 3, opset_import: ["" : 6]>
        g (float[2, 3] x, float[2] b) => (float[2, 3] y) <float[2] b = {1, 2}>
        { y = Add <axis = 0, broadcast = 1> (x, b) }"#;
    check(
        text,
        13,
        &[2, 3],
        &[
            "attributes axis and broadcast, which Add-7 does not have, are removed",
            "trailing axes are added to input 1: Unsqueeze(axes=[1]) before",
        ],
    );
    let newer = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (float[2, 3] x) => (float[2, 3] y) <float[3] b = {1, 2, 3}> { y = Add (x, b) }"#;
    check(newer, 6, &[2, 3], &["attributes broadcast=1 and axis=1 are set, since Add-6 does not broadcast by default"]);
}

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
fn ceil_mode_depends_on_spatial_sizes_only() {
    let text = |sizes: &str, kernel: i64, stride: i64| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[N, C, {sizes}] x) => (float[N, C, a] y)
            {{ y = MaxPool <kernel_shape = [{kernel}], strides = [{stride}], ceil_mode = 1> (x) }}"#
        )
    };
    check(&text("7", 1, 3), 11, &[2, 3, 7], &[]);
    // A stride of at most the window: the last window never starts in the padding.
    check(&text("L", 3, 2), 11, &[2, 3, 8], &[]);
    refused(
        &text("L", 1, 3),
        &target(11),
        "node 0 (MaxPool): the size of axis 2 of input 0, on which ceil_mode depends, is unknown; --dim sets sizes of the model's \
         inputs",
    );
}

#[test]
fn allowzero_has_no_effect_where_a_zero_is_the_size_of_the_input() {
    let text = |entry: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 18]> g (float[N, 4, M] x) => (float[a, b] y) {{
                n = Shape <start = 0, end = 1> (x) m = Shape <start = 2, end = 3> (x) rest = Constant <value_ints = [-1]> ()
                four = Constant <value_ints = [4]> () shape = Concat <axis = 0> ({entry}) y = Reshape <allowzero = 1> (x, shape)
            }}"#
        )
    };
    let model = parse_model(&text("n, rest")).unwrap();
    let conversion = convert(&model, &target(13)).unwrap();
    let edit = "attribute allowzero is removed, since an entry of the shape is 0 only where the input has that size";
    assert!(conversion.edits.iter().any(|it| it.text == edit), "{:?}", conversion.edits);
    assert_near(&outputs(&model, &[3, 4, 2]), &outputs(&conversion.model, &[3, 4, 2]));
    let moved = parse_model(&text("m, rest")).unwrap();
    let refusal = convert(&moved, &target(13)).unwrap_err().to_string();
    assert!(
        refusal.contains("entry 0 of the shape is computed at run time and may be 0, a size with allowzero=1"),
        "{refusal}"
    );
    let given = r#"<ir_version: 8, opset_import: ["" : 18]> g (float[4] x, int64[2] shape) => (float[a, b] y)
        { y = Reshape <allowzero = 1> (x, shape) }"#;
    let refusal = convert(&parse_model(given).unwrap(), &target(13)).unwrap_err().to_string();
    assert!(refusal.contains("entry 0 of the shape is computed at run time"), "{refusal}");
    let both = parse_model(&text("n, four, m")).unwrap();
    assert!(convert(&both, &target(13)).is_ok());
    let empty = r#"<ir_version: 8, opset_import: ["" : 18]> g (float[0, 4] x) => (float[0, 2] y) <int64[2] shape = {0, 2}>
        { y = Reshape <allowzero = 1> (x, shape) }"#;
    assert!(convert(&parse_model(empty).unwrap(), &target(13)).is_ok(), "the input has size 0 on that axis");
    let zero = empty.replace("float[0, 4] x", "float[4, 0] x");
    let refusal = convert(&parse_model(&zero).unwrap(), &target(13)).unwrap_err().to_string();
    assert!(refusal.contains("entry 0 of the shape is 0, a size with allowzero=1"), "{refusal}");
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
fn trailing_empty_names_are_kept_where_operators_count_them() {
    let text = r#"<ir_version: 8, opset_import: ["" : 9]>
        g (float[2, 3, 4] x, float[3] a, float[3] b, float[3] m, float[3] v) => (float[2, 3, 4] y)
        { y, none = BatchNormalization (x, a, b, m, v) }"#;
    let mut model = parse_model(text).unwrap();
    model.graph.as_mut().unwrap().node[0].output[1] = Text::new();
    let conversion = convert(&model, &target(14)).unwrap();
    // The number of outputs puts it into training mode.
    let node = conversion.model.graph.unwrap().node.remove(0);
    assert_eq!((node.output.as_slice(), node.attribute[0].name()), (&*texts(["y", ""]), "training_mode"));
    // Clip-6 has one input.
    let text =
        r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] x) => (float[2, 3] y) { y = Clip (x, "", "") }"#;
    let conversion = convert(&parse_model(text).unwrap(), &target(6)).unwrap();
    assert_eq!(conversion.model.graph.unwrap().node[0].input.as_slice(), ["x"]);
}

#[test]
fn limits_of_float16_are_written_out() {
    let text = r#"<ir_version: 8, opset_import: ["" : 1]> g (float16[2] x) => (float16[2] y) { y = Clip (x) }"#;
    let model = parse_model(text).unwrap();
    let conversion = convert(&model, &target(6)).unwrap();
    let edits: Vec<&str> =
        conversion.edits.iter().filter(|it| !it.concerns_model()).map(|it| it.text.as_str()).collect();
    assert_eq!(
        edits,
        [
            "attribute min=-65504 keeps Clip-6 from returning infinities",
            "attribute max=65504 keeps Clip-6 from returning infinities"
        ]
    );
    let back = convert(&conversion.model, &target(1)).unwrap();
    assert_eq!(back.model.graph.unwrap().node, conversion.model.graph.unwrap().node);
}

#[test]
fn infinities_of_double_are_clamped_by_more_nodes() {
    let text =
        r#"<ir_version: 8, opset_import: ["" : 3]> g (double[2] x) => (double[2] y) { y = Clip <min = -2.0> (x) }"#;
    let conversion = convert(&parse_model(text).unwrap(), &target(13)).unwrap();
    let graph = conversion.model.graph.unwrap();
    let operators: Vec<&str> = graph.node.iter().map(NodeProto::op_type).collect();
    assert_eq!(operators, ["Constant", "Constant", "Clip", "Min"], "a limit that is given needs no node");
}

#[test]
fn parameters_of_groups_must_be_vectors_of_their_number() {
    for (shape, fits) in [("[2]", true), ("[n]", true), ("[1]", false), ("[2, n]", false)] {
        let text = format!(
            r#"<ir_version: 8, opset_import: ["" : 18]> g (float[1, 4, 5] x, float{shape} b) => (float[1, 4, 5] y)
            {{ y = GroupNormalization <num_groups = 2> (x, b, b) }}"#
        );
        assert_eq!(convert(&parse_model(&text).unwrap(), &target(21)).is_ok(), fits, "{shape}");
    }
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

/// Converts a model with one float input `x` and compares the operators and the outputs of both models.
fn check_expanded(text: &str, opset: i64, shape: &[usize], operators: &[&str]) {
    let model = parse_model(text).unwrap();
    let conversion = convert(&model, &target(opset)).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    let nodes = conversion.model.graph.iter().flat_map(|graph| &graph.node).map(NodeProto::op_type);
    assert_eq!(nodes.filter(|name| *name != "Constant").collect::<Vec<&str>>(), operators, "{text}");
    assert_near(&outputs(&model, shape), &outputs(&conversion.model, shape));
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
fn indices_that_are_computed_are_counted_from_the_front() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[3, 4] x) => (float[3, 3] y) <int64 four = {4}>
        { a = ArgMax <axis = 1, keepdims = 0> (x) n = Sub (a, four) y = Gather <axis = -1> (x, n) }"#;
    for opset in [9, 10] {
        check_expanded(text, opset, &[3, 4], &["ArgMax", "Sub", "Less", "Add", "Where", "Gather"]);
    }
    let refusal = convert(&parse_model(text).unwrap(), &target(8)).unwrap_err();
    assert!(refusal.to_string().contains("does not support negative indices"), "{refusal}");
}

#[test]
fn scalar_axes_become_a_vector() {
    let constant = r#"<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 1, 3] y) <int64 a = {1}>
        { y = Unsqueeze (x, a) }"#;
    check_expanded(constant, 23, &[2, 3], &["Unsqueeze"]);
    let computed = r#"<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 1, 3] y)
        <int64 zero = {0}, int64 one = {1}>
        { m = ReduceMax <keepdims = 0> (x) c = Cast <to = 7> (m) z = Mul (c, zero) a = Add (z, one) y = Unsqueeze (x, a) }"#;
    check_expanded(computed, 23, &[2, 3], &["ReduceMax", "Cast", "Mul", "Add", "Reshape", "Unsqueeze"]);
    let squeezed = r#"<ir_version: 8, opset_import: ["" : 13]> g (float[2, 1, 3] x) => (float[2, 3] y) <int64 a = {1}>
        { y = Squeeze (x, a) }"#;
    check_expanded(squeezed, 24, &[2, 1, 3], &["Squeeze"]);
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

#[test]
fn scales_of_one_element_become_scalars() {
    let text = |scale: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[1, 3] x) => (float[1, 3] y)
            <float{scale}> {{ z = Abs (x) n = Cast <to = 2> (z) y = DequantizeLinear <axis = 0> (n, scale) }}"#
        )
    };
    let edits = [
        "scale of one element becomes a scalar, which DequantizeLinear-10 requires",
        "attribute axis, which has no effect with a scalar scale, is removed",
    ];
    check(&text("[1] scale = {0.5}"), 10, &[1, 3], &edits);
    let refusal = convert(&parse_model(&text("[1, 1] scale = {0.5}")).unwrap(), &target(10)).unwrap_err();
    assert!(refusal.to_string().contains("requires a scalar scale"), "{refusal}");
}

#[test]
fn branches_return_equal_shapes_before_opset_11() {
    let text = |x: &str, y: &str, other: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 13]> g (float[{x}] x, bool c) => (float[{y}] y) {{
                y = If (c) <
                    then_branch = t () => (p) {{ p = Neg (x) }},
                    else_branch = e () => (q) {{ q = {other} }}
                >
            }}"#
        )
    };
    let converted = |text: &str| convert(&parse_model(text).unwrap(), &target(9));
    let transposed = "Transpose <perm = [1, 0]> (x)";
    for (x, y, other) in [("2, 3", "A, B", "Abs (x)"), ("N, 3", "A, B", "Abs (x)"), ("N, M", "2, 2", transposed)] {
        assert!(converted(&text(x, y, other)).is_ok(), "{x} {y} {other}");
    }
    let place = "node 0 (If): the branches of If-1 return equal shapes, but output 0 has";
    let different = format!("{place} shape [2, 3] in then_branch and shape [3, 2] in else_branch");
    refused(&text("2, 3", "A, B", transposed), &target(9), &different);
    let unknown = format!(
        "{place} shape [N, M] in then_branch and shape [M, N] in else_branch; declare the sizes of that output in the model if \
         they are equal"
    );
    refused(&text("N, M", "A, B", transposed), &target(9), &unknown);
}

#[test]
fn scales_and_sizes_of_some_axes_become_those_of_all() {
    let text = |shape: &str, node: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : 18]> g (float[{shape}] x) => (float[1, 1, a, b] y) {{
                s = Constant <value_floats = [2.0, 1.5]> () t = Constant <value_ints = [4, 3]> () y = Resize {node} }}"#
        )
    };
    let edit = |what: &str, nodes: &str| {
        format!("{what} are listed for all axes, since Resize-13 has no attribute axes{nodes}")
    };
    let by_scales = text("1, 1, 2, 2", "<axes = [2, -1], mode = \"linear\"> (x, , s)");
    check(&by_scales, 13, &[1, 1, 2, 2], &[&edit("scales", "")]);
    let by_sizes = "<axes = [3, 2]> (x, , , t)";
    check(&text("1, 1, 2, 2", by_sizes), 13, &[1, 1, 2, 2], &[&edit("sizes", "")]);
    check(&text("n, 1, 2, 2", by_sizes), 13, &[1, 1, 2, 2], &[&edit("sizes", ": Shape, ScatterElements before")]);
}

/// The meaning of Upsample-10 is that of Resize-10, whatever later opset a model imports.
#[test]
fn deprecated_upsample_becomes_resize() {
    for (opset, to) in [(10, 13), (12, 13), (17, 19), (18, 19), (10, 19)] {
        let text = format!(
            r#"<ir_version: 8, opset_import: ["" : {opset}]> g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y)
               {{ s = Constant <value = float[4] {{1, 1, 2, 2}}> () y = Upsample (x, s) }}"#
        );
        let model = parse_model(&text).unwrap();
        let conversion = convert(&model, &target(to)).unwrap();
        let names: Vec<&str> = conversion.model.graph.iter().flat_map(|it| &it.node).map(NodeProto::op_type).collect();
        assert!(names.contains(&"Resize") && !names.contains(&"Upsample"), "{names:?}");
        let corner = |values: &[Value]| values[0].as_tensor().unwrap().floats();
        let (upper, lower) = ([-3.0, -3.0, -2.0, -2.0], [-1.0, -1.0, 0.0, 0.0]);
        let rows = [upper, upper, lower, lower].concat();
        assert_eq!(corner(&outputs(&conversion.model, &[1, 1, 2, 2])), rows, "{opset} to {to}");
    }
}
