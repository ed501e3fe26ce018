//! Parameters that become inputs or attributes, get other values, or are omitted.

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{NodeProto, Text, texts};
use onnx_conformance_reference::value::Value;

use crate::convert::convert;
use crate::convert::tests::support::{check, check_expanded, outputs, target};

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
