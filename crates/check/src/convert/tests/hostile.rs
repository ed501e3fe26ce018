//! Conversions of nodes with absurd attributes and declared shapes: each is refused with a message, and needs neither time nor
//! memory for the size that it declares.

use std::collections::BTreeMap;

use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::{ModelProto, NodeProto};
use onnx_conformance_reference::spec::Specs;

use crate::convert::{Names, PlacedEdit, Target, convert};

fn model(opset: i64, graph: &str) -> ModelProto {
    let text = format!("<ir_version: 10, opset_import: [\"\" : {opset}]>\n{graph}");
    parse_model(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn target(opset: i64) -> Target {
    Target { opsets: BTreeMap::from([("ai.onnx".to_owned(), opset)]), ..Target::default() }
}

/// Checks that the conversion is refused for this reason.
fn refused(from: i64, to: i64, graph: &str, reason: &str) {
    let refusal = convert(&model(from, graph), &target(to)).expect_err(graph);
    assert!(refusal.to_string().contains(reason), "{graph}: {refusal}");
}

#[test]
fn an_axis_equal_to_the_rank_is_refused() {
    for operator in ["Softmax", "LogSoftmax", "Hardmax"] {
        for axis in [2, 3, i64::MAX, i64::MIN] {
            let graph = format!("g (float[2, n] x) => (float[2, n] y) {{ y = {operator} <axis = {axis}> (x) }}");
            refused(13, 12, &graph, &format!("axis {axis} is out of range for rank 2"));
        }
    }
    let reduced = "g (float[2, n] x) => (float[2] y) { y = ReduceMax <axes = [-9], keepdims = 0> (x) }";
    refused(11, 10, reduced, "axis -9 is out of range for rank 2");
    let padded = "g (float[2, n] x, int64[2] a) => (float[2, n] y) <int64[2] pads = {1, 1}, int64[1] axes = {2}>
        { y = Pad (x, pads, , axes) }";
    refused(18, 13, padded, "axis 2 is out of range for rank 2");
}

#[test]
fn a_huge_number_of_outputs_is_refused() {
    for number in [1_i64 << 40, i64::MAX] {
        let graph =
            format!("g (float[7] x) => (float[n] y, float[m] z) {{ y, z = Split <num_outputs = {number}> (x) }}");
        refused(18, 13, &graph, "more than 65536 items, the limit, would be created");
    }
}

#[test]
fn a_huge_declared_shape_is_refused() {
    for shape in ["1099511627776", "4611686018427387904", "4294967296, 4294967296", "2147483648, 2147483648, 4"] {
        let graph =
            format!("g (float[n] x, float[{shape}] s) => (y) {{ y = QuantizeLinear <output_dtype = 2> (x, s) }}");
        refused(21, 19, &graph, "more than 1048576 elements, the limit, would be created");
    }
}

#[test]
fn products_of_attributes_are_wide_enough() {
    let far = i64::MAX;
    let graph = format!(
        "g (float[1, 1, 4] x) => (float[1, 1, n] y) {{ y = MaxPool
            <ceil_mode = 1, kernel_shape = [{far}], dilations = [{far}], strides = [{far}], pads = [{far}, {far}]> (x) }}"
    );
    for (from, to) in [(11, 12), (12, 11)] {
        let _ = convert(&model(from, &graph), &target(to));
    }
    let lengths =
        "g (float[1, 1, 9223372036854775807, 8] q, float[1, 1, 9223372036854775807, 8] k, float[1, 1, 4, 8] v,
        float[4, 4] m, float[1, 1, 9223372036854775807, 8] pk, float[1, 1, 4, 8] pv) => (float[1, 1, n, 8] y)
        { y = Attention (q, k, v, m, pk, pv) }";
    refused(24, 23, lengths, "the mask of Attention-23 must be as long as the keys");
}

#[test]
fn a_beta_without_c_has_no_effect() {
    let graph = "g (float[2, 2] a, float[2, 2] b) => (float[2, 2] y) { y = Gemm <beta = 3.0e38> (a, b) }";
    let conversion = convert(&model(11, graph), &target(10)).unwrap();
    let nodes = conversion.model.graph.unwrap().node;
    let gemm = nodes.iter().find(|node| node.op_type() == "Gemm").unwrap();
    assert!(gemm.input.len() == 3 && gemm.attribute.iter().all(|attribute| attribute.name() != "beta"), "{gemm:?}");
}

#[test]
fn sizes_of_0_stay_sizes_after_a_flatten() {
    let nodes = |to: i64, shape: &str| {
        let graph = format!("g (float[{shape}] x) => (float[{shape}] y) {{ y = Hardmax <axis = 1> (x) }}");
        convert(&model(12, &graph), &target(to)).unwrap().model.graph.unwrap().node
    };
    for to in [13, 21] {
        assert_eq!(nodes(to, "3, 5, 0").iter().map(NodeProto::op_type).collect::<Vec<_>>(), ["Hardmax"]);
    }
    let allows = |to: i64, shape: &str| {
        nodes(to, shape).iter().any(|node| node.attribute.iter().any(|attribute| attribute.name() == "allowzero"))
    };
    assert!(allows(14, "n, 5, m") && !allows(13, "n, 5, m") && !allows(21, "3, 5, 2"));
}

#[test]
fn coefficients_are_of_the_type_of_the_input() {
    let graph =
        |gamma: &str| format!("g (float16[3] x) => (float16[3] y) {{ y = Selu <alpha = 2.0, gamma = {gamma}> (x) }}");
    refused(1, 6, &graph("1.0e-38"), "attribute gamma=1e-38 becomes 0e0 in float16");
    refused(6, 1, &graph("1.0e6"), "becomes inf in float16");
    assert!(convert(&model(1, &graph("1.05")), &target(6)).is_ok());
}

#[test]
fn a_window_that_starts_behind_the_input_is_refused() {
    let graph = "g (float[1, 1, 3, 3] x) => (float[1, 1, 2, m] y)
        { y = LpPool <kernel_shape = [2, 2], strides = [2, 1000], ceil_mode = 1> (x) }";
    refused(18, 22, graph, "LpPool-22 counts the windows");
    refused(22, 18, graph, "LpPool-18 counts the windows");
}

#[test]
fn a_mask_of_one_column_is_expanded() {
    let graph = |mask: &str, keys: &str| {
        format!(
            "g (float[1, 1, 2, 1] q, float[1, 1, {keys}, 1] k, float[1, 1, {keys}, 1] v, float[{mask}] m) => (float[1, 1, 2, 1] y)
            {{ y = Attention (q, k, v, m) }}"
        )
    };
    let nodes = |mask: &str, keys: &str| {
        let nodes = convert(&model(23, &graph(mask, keys)), &target(24)).unwrap().model.graph.unwrap().node;
        nodes.iter().map(|node| node.op_type().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(nodes("2, 1", "3"), ["Constant", "Expand", "Attention"]);
    assert_eq!(nodes("1", "3"), ["Constant", "Expand", "Attention"]);
    assert_eq!(nodes("2, 3", "3"), ["Attention"]);
    assert_eq!(nodes("2, 1", "1"), ["Attention"]);
    refused(
        23,
        24,
        &graph("2, 1", "n"),
        "the number of keys is unknown, to which Attention-24 pads a mask with one column",
    );
}

#[test]
fn an_output_padding_of_the_stride_is_refused() {
    let graph = "g (float[1, 1, 2] x, float[1, 1, 3] w) => (float[1, 1, 5] y)
        { y = ConvTranspose <output_padding = [1]> (x, w) }";
    refused(10, 11, graph, "output_padding of ConvTranspose-11 must be less than the stride or the dilation");
    let wide = graph.replace("[1]>", "[1], strides = [2]>").replace("[1, 1, 5]", "[1, 1, 6]");
    assert!(convert(&model(10, &wide), &target(11)).is_ok());
}

#[test]
fn a_slope_of_more_axes_than_the_data_is_refused() {
    refused(
        9,
        6,
        "g (float[3] x, float[2, 2, 3] s) => (y) { y = PRelu (x, s) }",
        "PRelu-6 requires a single slope or one per channel",
    );
}

#[test]
fn many_names_of_one_stem_take_no_time() {
    let mut names = Names::default();
    names.take("a");
    names.take("a_3");
    let made: Vec<String> = (0..3).map(|_| names.fresh("a")).collect();
    assert_eq!(made, ["a_2", "a_4", "a_5"]);
    (0..100_000).for_each(|_| drop(names.fresh("a")));
    assert_eq!(names.fresh("a"), "a_100006");
    assert_eq!((names.fresh(""), names.fresh("")), ("_2".to_owned(), "_3".to_owned()));
}

#[test]
fn attention_of_four_axes_loses_its_numbers_of_heads() {
    let graph = |shape: &str| {
        format!(
            "g (float{shape} q, float{shape} k, float{shape} v) => (y)
            {{ y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v) }}"
        )
    };
    let newest = i64::from(Specs::embedded().newest_opset("").unwrap());
    let conversion = convert(&model(23, &graph("[1, 2, 3, 4]")), &target(newest)).unwrap();
    let edits: Vec<&str> =
        conversion.edits.iter().filter(|it| !it.concerns_model()).map(|it| it.text.as_str()).collect();
    assert_eq!(
        edits,
        [
            "attribute q_num_heads is removed, since Attention-25 allows it for inputs with 3 axes only",
            "attribute kv_num_heads is removed, since Attention-25 allows it for inputs with 3 axes only"
        ]
    );
    let packed = convert(&model(23, &graph("[1, 3, 8]")), &target(newest)).unwrap();
    assert!(packed.edits.iter().all(PlacedEdit::concerns_model), "{:?}", packed.edits);
    refused(23, newest, &graph("[]"), "the rank of input 0 'q' is unknown; declare it (value_info)");
    let only = Target { relabel_only: true, ..target(25) };
    assert!(convert(&model(23, &graph("[1, 2, 3, 4]")), &only).is_err());
}
