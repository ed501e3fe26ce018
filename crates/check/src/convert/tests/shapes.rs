//! Conversions that depend on the shapes of values.

use onnx_conformance_reference::model::text::parse_model;

use crate::convert::convert;
use crate::convert::tests::support::{assert_near, check, check_expanded, outputs, refused, target};

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
