//! Conversions of small models to half precision: the nodes of the result, its validity, and its values.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto, decode};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use super::{FloatReason, HalfError, HalfModel, HalfRequest, keepable_names, to_half};
use crate::finding::Finding;
use crate::infer::{BodyId, NodeId};
use crate::limits::Limits;
use crate::rules::Level;
use crate::validity::check;

fn request() -> HalfRequest {
    HalfRequest::new(ElementType::Float16)
}

fn keeping(names: &[&str]) -> HalfRequest {
    HalfRequest { keep: names.iter().map(|name| (*name).to_owned()).collect(), ..request() }
}

fn model(opset: i64, graph: &str) -> ModelProto {
    let text = format!(r#"<ir_version: 9, opset_import: ["" : {opset}]> {graph}"#);
    parse_model(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Lists the nodes of a graph: `y = Neg(x)`, those of subgraphs in braces behind it.
fn nodes(graph: &GraphProto) -> Vec<String> {
    let shown = graph.node.iter().map(|node| {
        let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_deref());
        let outputs = |graph: &GraphProto| graph.output.iter().map(|it| it.name().to_owned()).collect::<Vec<_>>();
        let below = graphs.map(|graph| format!(" {{{} => {}}}", nodes(graph).join(", "), outputs(graph).join(", ")));
        let below: String = below.collect();
        format!("{} = {}({}){below}", node.output.join(", "), node.op_type(), node.input.join(", "))
    });
    shown.collect()
}

pub(super) fn errors(model: &ModelProto) -> Vec<Finding> {
    let report = check(model.encode_to_vec().as_slice(), None, &Limits::default());
    report.findings.into_iter().filter(|finding| finding.level <= Level::Warning).collect()
}

/// Converts a model, and compares the nodes of the result, which must be valid.
fn converted(model: &ModelProto, request: &HalfRequest, expected: &[&str]) -> HalfModel {
    assert_eq!(errors(model), [], "the original model");
    let half = to_half(model, request, &Limits::default()).unwrap();
    assert_eq!(nodes(half.model.graph.as_ref().unwrap()), expected);
    assert_eq!(errors(&half.model), []);
    half
}

/// Runs a model on the float input `x` of shape 2 and returns its outputs.
fn outputs(model: &ModelProto, x: &[f64]) -> Vec<Value> {
    let bytes = model.encode_to_vec().into();
    let model = read_model(bytes, &NoExternalData, &LoadLimits::default()).unwrap_or_else(|error| panic!("{error}"));
    let x = Tensor::of_floats(ElementType::Float, &[x.len()], x).unwrap();
    let inputs = BTreeMap::from([("x".to_owned(), Value::Tensor(x))]);
    run(&model, inputs, ExecutionLimits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_tensor().unwrap().floats()
}

#[test]
fn inputs_and_outputs_are_cast() {
    let model = model(13, "g (float[2] x) => (float[2] y) { t = Exp (x) y = Neg (t) }");
    let expected = ["x_float16 = Cast(x)", "t = Exp(x_float16)", "y_float16 = Neg(t)", "y = Cast(y_float16)"];
    let half = converted(&model, &request(), &expected);
    assert_eq!((half.half_nodes, half.casts, half.float_nodes.len()), (2, 2, 0));
    // exp(1) is 1391.76 / 512, and float16 has 11 bits.
    assert_eq!(floats(&outputs(&half.model, &[0.0, 1.0])[0]), [-1.0, -1392.0 / 512.0]);
}

#[test]
fn casts_have_the_metadata_of_the_node_or_of_the_cast_that_they_replace() {
    let graph = "g (int32[2] i, float[2] x) => (float[2] y, float16[2] z) {
        y = Cast <to = 1> (i) t = Sin (x) h = Cast <to = 10> (t) z = Neg (h) }";
    let mut before = model(13, graph);
    for (node, name) in before.graph.as_mut().unwrap().node.iter_mut().zip(["first", "second", "third", "fourth"]) {
        node.name = Some(name.into());
        node.rare_mut().doc_string = Some(format!("doc of {name}").as_str().into());
    }
    let keep = keeping(&["second"]);
    let half = to_half(&before, &keep, &Limits::default()).unwrap();
    let described = half.model.graph.as_ref().unwrap().node.iter().map(|node| {
        let doc = node.rare.as_ref().and_then(|rare| rare.doc_string.as_deref()).unwrap_or_default();
        format!("{} {}: {doc}", node.name(), node.output.join(", "))
    });
    let expected = [
        "first y_float16: doc of first",
        " y: doc of first",
        "second t: doc of second",
        "third t_float16: doc of third",
        "fourth z: doc of fourth",
    ];
    assert_eq!(described.collect::<Vec<_>>(), expected);
}

#[test]
fn bits_are_those_of_a_float() {
    let graph = "g (float[2] x) => (float[2] y) { t = Exp (x) i = BitCast <to = 6> (t) y = BitCast <to = 1> (i) }";
    let half = to_half(&model(26, graph), &request(), &Limits::default()).unwrap();
    assert_eq!((half.half_nodes, half.float_nodes.len()), (1, 2));
    assert_eq!(floats(&outputs(&half.model, &[0.0, 1.0])[0]), [1.0, 1392.0 / 512.0]);
}

#[test]
fn inputs_and_outputs_become_half_on_request() {
    let before = model(13, "g (float[2] x) => (float[2] y) { t = Exp (x) y = Neg (t) }");
    let wanted = HalfRequest { half_io: true, ..request() };
    let half = converted(&before, &wanted, &["t = Exp(x)", "y = Neg(t)"]);
    let declared = model(13, "g (float16[2] x) => (float16[2] y) { t = Exp (x) y = Neg (t) }");
    assert_eq!(half.model, declared);
    let kept = HalfRequest { half_io: true, ..keeping(&["Neg"]) };
    converted(&before, &kept, &["t = Exp(x)", "t_float = Cast(t)", "y_float = Neg(t_float)", "y = Cast(y_float)"]);
}

#[test]
fn a_value_read_in_both_types_has_one_cast() {
    let model = model(
        13,
        "g (float[2] x) => (uint8[2] q, uint8[2] r, float[2] y) <float s = {0.5}, uint8 z = {0}> {
            t = Exp (x)
            q = QuantizeLinear (t, s, z)
            r = QuantizeLinear (t, s, z)
            y = Neg (t)
        }",
    );
    let expected = [
        "x_float16 = Cast(x)",
        "t = Exp(x_float16)",
        "t_float = Cast(t)",
        "q = QuantizeLinear(t_float, s, z)",
        "r = QuantizeLinear(t_float, s, z)",
        "y_float16 = Neg(t)",
        "y = Cast(y_float16)",
    ];
    let half = converted(&model, &request(), &expected);
    assert_eq!(
        half.reasons(),
        ["2 nodes stay float: QuantizeLinear-13 does not take float16; convert to --opset 19 first"]
    );
}

#[test]
fn scales_of_a_quantization_are_half_where_the_version_takes_it() {
    let model = model(
        19,
        "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> {
            q = QuantizeLinear (x, s, z)
            d = DequantizeLinear (q, s, z)
            y = Neg (d)
        }",
    );
    let expected = [
        "x_float16 = Cast(x)",
        "q = QuantizeLinear(x_float16, s, z)",
        "d = DequantizeLinear(q, s, z)",
        "y_float16 = Neg(d)",
        "y = Cast(y_float16)",
    ];
    let half = converted(&model, &request(), &expected);
    assert_eq!(half.model.graph.unwrap().initializer[0].data_type(), ElementType::Float16.code());
    assert_eq!(half.float_nodes, []);
}

#[test]
fn weights_in_other_files_stay_in_float_and_are_cast() {
    let model = model(13, r#"g (float[2] x) => (float[2] y) <float[2] w = ["location": "w.bin"]> { y = Mul (x, w) }"#);
    let half = to_half(&model, &request(), &Limits::default()).unwrap();
    let expected =
        ["x_float16 = Cast(x)", "w_float16 = Cast(w)", "y_float16 = Mul(x_float16, w_float16)", "y = Cast(y_float16)"];
    assert_eq!(nodes(half.model.graph.as_ref().unwrap()), expected);
    assert_eq!((half.external, half.weights), (vec!["w".to_owned()], Vec::new()));
    let kept = to_half(&model, &keeping(&["Mul"]), &Limits::default()).unwrap();
    assert_eq!(kept.external, [] as [&str; 0]);
}

#[test]
fn an_output_that_other_nodes_read_keeps_its_name() {
    let model = model(13, "g (float[2] x) => (float[2] t, float[2] y) { t = Exp (x) y = Neg (t) }");
    let expected = [
        "x_float16 = Cast(x)",
        "t_float16 = Exp(x_float16)",
        "t = Cast(t_float16)",
        "y_float16 = Neg(t_float16)",
        "y = Cast(y_float16)",
    ];
    let half = converted(&model, &request(), &expected);
    assert_eq!(half.values["t_float16"], ("t".to_owned(), ElementType::Float16));
    assert_eq!(half.values["t"], ("t".to_owned(), ElementType::Float));
}

#[test]
fn weights_are_rounded_once_and_copied_where_both_types_are_read() {
    let before = model(
        13,
        "g (float[2] x) => (float[2] y, uint8[2] q) <float[2] w = {0.1, 1e-9}, float[2] v = {1, 2}, float s = {0.5}, uint8 z = {0}> {
            c = Constant <value_float = 3.0> ()
            a = Mul (x, w)
            b = Mul (a, v)
            y = Mul (b, c)
            q = QuantizeLinear (w, s, z)
        }",
    );
    let expected = [
        "x_float16 = Cast(x)",
        "c = Constant()",
        "a = Mul(x_float16, w_float16)",
        "b = Mul(a, v)",
        "y_float16 = Mul(b, c)",
        "y = Cast(y_float16)",
        "q = QuantizeLinear(w, s, z)",
    ];
    let half = converted(&before, &request(), &expected);
    let rounded: Vec<_> = half.weights.iter().map(|it| (it.name.as_str(), it.elements, it.underflows)).collect();
    assert_eq!(rounded, [("w", 2, 1), ("v", 2, 0), ("c", 1, 0)]);
    // 0.1 to 11 bits: 1638 / 16384, times 2 exact, times 3: 4914 / 16384 needs 12 bits and is a tie to even.
    assert_eq!(floats(&outputs(&half.model, &[1.0, 1.0])[0]), [4912.0 / 16384.0, 0.0]);
}

#[test]
fn a_weight_beyond_the_range_keeps_its_reader_in_float() {
    let model =
        model(13, "g (float[2] x) => (float[2] y) <float w = {70000}> { a = Mul (x, w) b = Neg (a) y = Abs (b) }");
    let half = converted(
        &model,
        &request(),
        &["a = Mul(x, w)", "a_float16 = Cast(a)", "b = Neg(a_float16)", "y_float16 = Abs(b)", "y = Cast(y_float16)"],
    );
    assert_eq!(half.reasons().len(), 1);
    assert!(half.reasons()[0].ends_with("stays float: weight 'w' exceeds the range of the type"));
    // The largest finite bfloat16 is beyond 3e38.
    let wide = to_half(&model, &HalfRequest::new(ElementType::Bfloat16), &Limits::default()).unwrap();
    assert_eq!(wide.reasons(), [] as [&str; 0]);
}

#[test]
fn subgraphs_read_captured_values_in_their_type() {
    let model = model(
        13,
        "g (bool c, float[2] x) => (float[2] y) {
            t = Exp (x)
            y = If (c) <
                then_branch = one () => (float[2] a) { a = Neg (t) },
                else_branch = two () => (float[2] b) { b = Abs (t) }
            >
        }",
    );
    let expected = [
        "x_float16 = Cast(x)",
        "t = Exp(x_float16)",
        "t_float = Cast(t)",
        "y_float16 = If(c) {a = Neg(t) => a} {b = Abs(t_float), b_float16 = Cast(b) => b_float16}",
        "y = Cast(y_float16)",
    ];
    converted(&model, &keeping(&["Abs"]), &expected);
    let expected = [
        "x_float16 = Cast(x)",
        "t = Exp(x_float16)",
        "t_float = Cast(t)",
        "y = If(c) {a = Neg(t_float) => a} {b = Abs(t_float) => b}",
    ];
    converted(&model, &keeping(&["If"]), &expected);
}

#[test]
fn carried_values_of_a_loop_have_one_type() {
    let model = model(
        13,
        "g (float[2] x) => (float[2] y, float[N, 2] z) <int64 n = {3}, bool c = {1}> {
            y, z = Loop (n, c, x) <
                body = b (int64 i, bool d, float[2] s) => (bool e, float[2] u, float[2] v) {
                    e = Identity (d)
                    u = Mul (s, s)
                    v = Exp (u)
                }
            >
        }",
    );
    let expected = [
        "x_float16 = Cast(x)",
        "y_float16, z_float16 = Loop(n, c, x_float16) {e = Identity(d), u = Mul(s, s), v = Exp(u) => e, u, v}",
        "y = Cast(y_float16)",
        "z = Cast(z_float16)",
    ];
    let half = converted(&model, &request(), &expected);
    assert_eq!(floats(&outputs(&half.model, &[1.0, 1.5])[0]), [1.0, 25.625]);
    let inner: Vec<&str> = half.inner_values.keys().map(String::as_str).collect();
    assert_eq!(inner, ["s", "u", "v"]);
    let outputs_of =
        |half: &HalfModel| half.inner_nodes.iter().flat_map(|node| node.outputs.clone()).collect::<Vec<_>>();
    assert_eq!(outputs_of(&half), ["u", "v"]);
    let expected = [
        "x_float16 = Cast(x)",
        "y_float16, z_float16 = Loop(n, c, x_float16) {s_float = Cast(s), e = Identity(d), u = Mul(s_float, s_float), \
         u_float16 = Cast(u), v = Exp(u_float16) => e, u_float16, v}",
        "y = Cast(y_float16)",
        "z = Cast(z_float16)",
    ];
    converted(&model, &keeping(&["Mul"]), &expected);
}

#[test]
fn values_of_two_branches_with_one_name_are_not_listed() {
    let model = model(
        13,
        "g (bool c, float[2] x) => (float[2] y) {
            y = If (c) <
                then_branch = one () => (float[2] a) { t = Neg (x) a = Exp (t) },
                else_branch = two () => (float[2] b) { t = Abs (x) b = Neg (t) }
            >
        }",
    );
    let half = to_half(&model, &request(), &Limits::default()).unwrap();
    let inner: Vec<&String> = half.inner_values.keys().collect();
    assert_eq!(inner, ["a", "b"]);
    assert_eq!(half.inner_nodes.len(), 4);
    let measured = BTreeMap::from([(half.inner_nodes[1].id, "it overflows".to_owned())]);
    let half = to_half(&model, &HalfRequest { measured, ..request() }, &Limits::default()).unwrap();
    let float: Vec<&str> = half.float_nodes.iter().map(|node| node.place.as_str()).collect();
    assert!(matches!(float.as_slice(), [place] if place.contains("(Exp-13)")), "{float:?}");
}

#[test]
fn a_model_becomes_double_by_the_same_rules() {
    let before = model(
        13,
        "g (float[2] x) => (float[2] y) <float[2] w = {0.1, 3}> {
            s = Shape (x)
            f = Cast <to = 1> (s)
            i = Cast <to = 7> (f)
            z = ConstantOfShape <value = float[1] {0.5}> (i)
            a = Mul (x, w)
            y = Add (a, z)
        }",
    );
    let request = HalfRequest { half_io: true, ..HalfRequest::new(ElementType::Double) };
    let expected =
        ["s = Shape(x)", "f = Cast(s)", "i = Cast(f)", "z = ConstantOfShape(i)", "a = Mul(x, w)", "y = Add(a, z)"];
    let wide = converted(&before, &request, &expected);
    let graph = wide.model.graph.as_ref().unwrap();
    assert_eq!(graph.initializer[0].data_type(), ElementType::Double.code());
    assert_eq!(wide.reasons(), ["node 1 for 'f' (Cast-13) stays float: it computes a size from sizes"]);
    let quantized = model(
        13,
        "g (float[2] x) => (uint8[2] y) <float s = {0.5}, uint8 z = {0}> { a = Neg (x) y = QuantizeLinear (a, s, z) }",
    );
    let wide = to_half(&quantized, &request, &Limits::default()).unwrap();
    assert!(matches!(wide.float_nodes[0].reason, FloatReason::Type { element: ElementType::Double, .. }));
}

#[test]
fn inputs_that_a_version_demands_in_float_stay_so() {
    let resize = model(
        13,
        "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }",
    );
    converted(
        &resize,
        &request(),
        &["x_float16 = Cast(x)", "y_float16 = Resize(x_float16, , s)", "y = Cast(y_float16)"],
    );
    let norm = model(
        17,
        "g (float[2, 3] x) => (float[2, 3] y, float[2, 1] m) <float[3] s = {1, 2, 3}> {
            y, m = LayerNormalization <axis = -1> (x, s)
        }",
    );
    converted(
        &norm,
        &request(),
        &["x_float16 = Cast(x)", "y_float16, m = LayerNormalization(x_float16, s)", "y = Cast(y_float16)"],
    );
}

#[test]
fn attributes_select_the_type_of_nodes_without_float_inputs() {
    let before = model(
        13,
        "g (int64[2] x) => (float[2] y) {
            a = Cast <to = 1> (x)
            s = Shape (x)
            b = ConstantOfShape (s)
            c = ConstantOfShape <value = float[1] {0.1}> (s)
            r = RandomNormalLike <dtype = 1> (x)
            u = RandomUniform <shape = [2]> ()
            d = Sum (a, b, c, r, u)
            y = Neg (d)
        }",
    );
    let expected = [
        "a = Cast(x)",
        "s = Shape(x)",
        "b = ConstantOfShape(s)",
        "c = ConstantOfShape(s)",
        "r = RandomNormalLike(x)",
        "u = RandomUniform()",
        "d = Sum(a, b, c, r, u)",
        "y_float16 = Neg(d)",
        "y = Cast(y_float16)",
    ];
    converted(&before, &request(), &expected);
}

#[test]
fn existing_casts_between_the_types_are_replaced() {
    let mixed = model(
        13,
        "g (float16[2] x) => (float16[2] y, int64[2] z) {
            a = Cast <to = 1> (x)
            b = Exp (a)
            c = Cast <to = 10> (b)
            z = Cast <to = 7> (b)
            y = Neg (c)
        }",
    );
    converted(&mixed, &request(), &["b = Exp(x)", "z = Cast(b)", "y = Neg(b)"]);
    let expected =
        ["x_float = Cast(x)", "b = Exp(x_float)", "b_float16 = Cast(b)", "z = Cast(b)", "y = Neg(b_float16)"];
    converted(&mixed, &keeping(&["Exp"]), &expected);
}

#[test]
fn sizes_are_computed_in_float() {
    let model = model(
        13,
        "g (float[N] x) => (float[M] y) <float h = {0.5}> {
            s = Shape (x)
            f = Cast <to = 1> (s)
            m = Mul (f, h)
            i = Cast <to = 7> (m)
            o = ConstantOfShape <value = float[1] {1.0}> (i)
            y = Neg (o)
        }",
    );
    let expected = [
        "s = Shape(x)",
        "f = Cast(s)",
        "m = Mul(f, h)",
        "i = Cast(m)",
        "o = ConstantOfShape(i)",
        "y_float16 = Neg(o)",
        "y = Cast(y_float16)",
    ];
    let half = converted(&model, &request(), &expected);
    // 4098 / 2 is no float16.
    assert_eq!(floats(&outputs(&half.model, &vec![0.0; 4098])[0]).len(), 2049);
    assert_eq!(half.reasons(), ["2 nodes stay float: it computes a size from sizes"]);
}

#[test]
fn foreign_operators_functions_and_sequences_stay_in_float() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "com.x" : 1, "l" : 1]> g (float[2] x) => (float[2] y) {
            a = Exp (x)
            b = l.f (a)
            q = SequenceConstruct (b)
            i = Constant <value_int = 0> ()
            c = SequenceAt (q, i)
            y = Neg (c)
        }
        <domain: "l", opset_import: ["" : 13]> f (v) => (w) { w = Abs (v) }"#;
    let model = parse_model(text).unwrap();
    let half = to_half(&model, &request(), &Limits::default()).unwrap();
    let expected = [
        "x_float16 = Cast(x)",
        "a = Exp(x_float16)",
        "a_float = Cast(a)",
        "b = f(a_float)",
        "q = SequenceConstruct(b)",
        "i = Constant()",
        "c = SequenceAt(q, i)",
        "c_float16 = Cast(c)",
        "y_float16 = Neg(c_float16)",
        "y = Cast(y_float16)",
    ];
    assert_eq!(nodes(half.model.graph.as_ref().unwrap()), expected);
    let places: Vec<&str> = half.float_nodes.iter().map(|node| node.place.as_str()).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    // SequenceConstruct-11 and SequenceAt-11 take float16.
    let reason = "2 nodes stay float: values in sequences and optionals stay in float".to_owned();
    assert!(half.reasons().contains(&reason), "{:?}", half.reasons());
}

#[test]
fn an_operator_without_half_precision_is_named_beside_sequences() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 2]> g (float[1, 2] x) => (seq(map(int64, float)) y) {
            y = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (x)
        }"#;
    let half = to_half(&parse_model(text).unwrap(), &request(), &Limits::default()).unwrap();
    let reason = &half.float_nodes[0].reason;
    assert_eq!(reason.to_string(), "ZipMap-1 does not take float16");
}

#[test]
fn a_subgraph_declares_a_value_of_the_main_graph_with_its_new_type() {
    let model = model(
        13,
        "g (float[2] x, bool c) => (float[2] y) {
            y = If (c) <
                then_branch = t () => (float[2] a) <float[2] x> { a = Neg (x) },
                else_branch = e () => (float[2] b) { b = Abs (x) }
            > }",
    );
    let half_io = HalfRequest { half_io: true, ..request() };
    let half = converted(&model, &half_io, &["y = If(c) {a = Neg(x) => a} {b = Abs(x) => b}"]);
    let branch = half.model.graph.as_ref().unwrap().node[0].attribute[0].g.as_deref().unwrap();
    let declared = decode::value_type(branch.value_info[0].r#type.as_ref().unwrap()).unwrap();
    assert_eq!(declared, ValueType::Tensor(ElementType::Float16));
}

#[test]
fn a_value_that_is_put_into_a_sequence_stays_in_float() {
    let loops = model(
        13,
        "g (float[2] x) => (float[2] y) {
            m = Constant <value = int64 {2}> () c = Constant <value = bool {1}> () e = SequenceEmpty ()
            s = Loop (m, c, e) <body = b (int64 i, bool k, seq(float) had) => (bool k2, seq(float) has) {
              k2 = Identity (k) t = Neg (x) has = SequenceInsert (had, t) }>
            p = Constant <value = int64 {0}> () y = SequenceAt (s, p) }",
    );
    let half = to_half(&loops, &request(), &Limits::default()).unwrap();
    assert_eq!(errors(&half.model), []);
    assert_eq!(floats(&outputs(&half.model, &[1.0, -2.0])[0]), [-1.0, 2.0]);
}

#[test]
fn a_type_that_the_opset_lacks_names_the_opset_that_has_it() {
    let bfloat16 = HalfRequest::new(ElementType::Bfloat16);
    let old = model(11, "g (float[2] x) => (float[2] y) { y = Neg (x) }");
    let error = to_half(&old, &bfloat16, &Limits::default()).unwrap_err();
    assert!(matches!(error, HalfError::Cast { opset: 13, .. }), "{error}");
    let conv = model(13, "g (float[1, 1, 3] x, float[1, 1, 2] w) => (float[1, 1, 2] y) { y = Conv (x, w) }");
    let half = converted(&conv, &bfloat16, &["y = Conv(x, w)"]);
    assert!(half.reasons()[0].ends_with("Conv-11 does not take bfloat16; convert to --opset 22 first"));
}

fn main_node(index: usize) -> NodeId {
    NodeId { body: BodyId::MAIN, index }
}

#[test]
fn nodes_are_kept_by_operator_name_and_measurement() {
    let text = "g (float[2] x) => (float[2] y) { [first] t = Exp (x) [second] y = Exp (t) }";
    let before = model(13, text);
    let names = keepable_names(&before);
    assert_eq!(names, BTreeSet::from(["Exp", "ai.onnx/Exp", "first", "second"].map(str::to_owned)));
    let expected = ["t = Exp(x)", "t_float16 = Cast(t)", "y_float16 = Exp(t_float16)", "y = Cast(y_float16)"];
    converted(&before, &keeping(&["first"]), &expected);
    let measured = HalfRequest { measured: BTreeMap::from([(main_node(0), "it overflows".to_owned())]), ..request() };
    let half = converted(&before, &measured, &expected);
    assert!(half.reasons()[0].ends_with("stays float: it overflows"));
    converted(&before, &keeping(&["ai.onnx/Exp"]), &["t = Exp(x)", "y = Exp(t)"]);
}

#[test]
fn initializers_that_old_models_declare_as_inputs_change_with_their_declaration() {
    let text = r#"<ir_version: 3, opset_import: ["" : 8]>
        g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }"#;
    let old = parse_model(text).unwrap();
    let half =
        converted(&old, &request(), &["x_float16 = Cast(x)", "y_float16 = Mul(x_float16, w)", "y = Cast(y_float16)"]);
    assert_eq!(half.model.graph.unwrap().initializer[0].data_type(), ElementType::Float16.code());
    let mut new = old;
    new.ir_version = Some(8);
    let expected =
        ["x_float16 = Cast(x)", "w_float16 = Cast(w)", "y_float16 = Mul(x_float16, w_float16)", "y = Cast(y_float16)"];
    converted(&new, &request(), &expected);
}
