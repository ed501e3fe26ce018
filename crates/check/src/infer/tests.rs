use onnx_conformance_reference::model::text::parse_model;

use crate::infer::infer;
use crate::limits::Limits;

/// Checks the known facts about values of the main graph, and the findings.
fn check(text: &str, values: &[(&str, &str)], findings: &[&str]) {
    let model = parse_model(text).unwrap();
    let inferred = infer(&model, &Limits::default());
    for (name, expected) in values {
        let known = inferred.value(crate::infer::BodyId(0), name).unwrap();
        let described = crate::finding::Described::new(name, Some(known)).to_string();
        assert_eq!(described, format!("'{name}' {expected}"), "{text}");
    }
    let texts: Vec<String> = inferred.findings.kept().iter().map(ToString::to_string).collect();
    assert_eq!(texts, findings, "{text}");
}

#[test]
fn types_follow_from_type_parameters_and_attributes() {
    let text = "<ir_version: 10, opset_import: [\"\" : 21]>
        g (float[2, n] x) => (double[2, n] z, int64[2] s) {
          y = Neg (x)
          z = Cast <to = 11> (y)
          s = Shape (z)
        }";
    check(text, &[("y", "tensor(float)[2, n]"), ("s", "tensor(int64)[2]"), ("z", "tensor(double)[2, n]")], &[]);
}

#[test]
fn a_type_that_is_not_taken_is_found_with_its_origin() {
    let text = "<ir_version: 10, opset_import: [\"\" : 21, \"ai.onnx.ml\" : 1]>
        g (float[2, 3] x) => (seq(map(int64, float)) z) {
          d = Cast <to = 11> (x)
          z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1, 2]> (d)
        }";
    let finding = "error node/type: graph 'g', node 1 for 'z' (ai.onnx.ml/ZipMap-1): \
        'd' is tensor(double), but ZipMap-1 allows tensor(float) for input 0 'X'; \
        it comes from node 0 for 'd' (Cast-21); insert Cast(to=1 (float)) before input 0";
    check(text, &[], &[finding]);
}

#[test]
fn a_graph_declares_a_value_of_an_enclosing_graph_with_its_type_and_shape() {
    let found = |declared: &str| {
        let text = format!(
            r#"<ir_version: 10, opset_import: ["" : 21]> g (float16[2] x, bool c) => (float16[2] y) {{
                y = If (c) <
                    then_branch = t () => (float16[2] a) <{declared}> {{ a = Neg (x) }},
                    else_branch = e () => (float16[2] b) {{ b = Abs (x) }}
                >
            }}"#
        );
        let model = parse_model(&text).unwrap();
        let inferred = infer(&model, &Limits::default());
        inferred.findings.kept().iter().map(|it| format!("{}: {}", it.rule, it.message)).collect::<Vec<_>>()
    };
    assert_eq!(found("float16[N] x, float gone"), Vec::<String>::new());
    assert_eq!(found("float[2] x"), ["value/type: 'x' is tensor(float16), but is declared as tensor(float)"]);
    assert_eq!(found("float16[3] x"), ["value/shape: 'x' has shape [2], but is declared with [3]"]);
}

#[test]
fn the_first_trip_of_a_loop_has_the_declared_shape() {
    let looped = |declared: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\" : 21]>
            g (float[0, 4, 3] x, int64 m, bool c) => (float[] y) {{
              y = Loop (m, c, x) <body = b (int64 i, bool on, {declared} v) => (bool out, float[] w)
                {{ out = Identity (on) w = Neg (v) }}>
            }}"
        )
    };
    let found = |declared: &str| {
        let model = parse_model(&looped(declared)).unwrap();
        let inferred = infer(&model, &Limits::default());
        inferred.findings.kept().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for declared in ["float[]", "float[a, b, c]", "float[0, 4, 3]"] {
        assert_eq!(found(declared), Vec::<String>::new(), "{declared}");
    }
    for declared in ["float", "float[4, 3]", "float[1, 4, 3]"] {
        let found = found(declared);
        assert!(
            found.len() == 1 && found[0].contains("input 2 'v' of the subgraph is declared"),
            "{declared}: {found:?}"
        );
    }
}

/// Returns the messages of the findings of a model at opset 21.
fn messages(graph: &str) -> Vec<String> {
    let model = parse_model(&format!("<ir_version: 10, opset_import: [\"\" : 21]> {graph}")).unwrap();
    let inferred = infer(&model, &Limits::default());
    inferred.findings.kept().iter().map(|finding| finding.message.clone()).collect()
}

#[test]
fn optional_inputs_in_front_of_a_variadic_one_are_counted() {
    let looped = |inputs: &str| {
        messages(&format!(
            "g (int64 n, bool on, float[2] x) => (float[k,2] s) {{
              s = Loop ({inputs}) <body = b (int64 i, bool c) => (bool d, float[2] v) {{ d = Identity (c) v = Neg (x) }}>
            }}"
        ))
    };
    assert_eq!(looped("n"), ["Loop-21 takes at least 2 inputs, not 1"]);
    assert_eq!(looped("n, on"), Vec::<String>::new());
}

/// Graphs with a node that fails for every size of the free dimensions.
const NO_VALID_SIZE: &[&str] = &[
    "g (float[N,3] x, float[4,5] w) => (float[N,5] y) { y = MatMul (x, w) }",
    "g (float[N,3] x, float[4,M] w) => (float[N,M] y) { y = MatMul (x, w) }",
    "g (float[N,3] x, float[M,4] w) => (float[N,M] y) { y = Add (x, w) }",
    "g (float[N,3,8,8] x, float[4,2,3,3] w) => (float[N,4,6,6] y) { y = Conv (x, w) }",
    "g (float[N,5] x) => (float[] y) <int64[2] s = {4, 4}> { y = Reshape (x, s) }",
    "g (float[N,3] x, float[N,4] w) => (float[N,7] y) { y = Concat <axis = 0> (x, w) }",
    "g (float[N,4] x) => (float[N,4] y) { y = Clip (x, , x) }",
    "g (float[N,3,H,W] x, float[N,4,H,W] z) => (float[] y) { y = Add (x, z) }",
    "g (float[N,3] x, float[4,5] w) => (float[] y) { c = Concat <axis = 0> (x, x) y = MatMul (c, w) }",
    "g (float[N,3,H,W] x, float[4,3,3,3] w, float[4,3,3,3] v) => (float[] y) \
     { c = Conv <strides = [2, 2]> (x, w) y = Conv (c, v) }",
    "g (float[N,3,H,W] x, float[4,3,7,7] w, float[3] s) => (float[] y) \
     { c = Conv <strides = [2, 2]> (x, w) y = BatchNormalization (c, s, s, s, s) }",
    "g (float[N,12,H,W] x, float[4,12,1,1] w) => (float[] y) { d = DepthToSpace <blocksize = 2> (x) y = Conv (d, w) }",
    "g (float[S,N,I] x, float[1,16,2] w, float[1,16,5] r) => (float[] y) { y = LSTM <hidden_size = 4> (x, w, r) }",
    "g (float[S,N,3] x, float[1,12,2] w, float[1,12,4] r) => (float[] y) { y = GRU <hidden_size = 4> (x, w, r) }",
    "g (float[N,S,3] x, float[1,4,3] w, float[1,4,4] r, float[1,8] b, int32[M] l, float[M,1,5] h) => (float[] y) \
     { y = RNN <hidden_size = 4, layout = 1> (x, w, r, b, l, h) }",
    "g (float[A,B,C,D] x) => (float[] y) { y = Transpose <perm = [0, 2, 1, 1]> (x) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[3] r = {1, 2, 3}> { y = Tile (x, r) }",
    "g (float[A,B,C,3] x, float[3,4] w) => (float[] y) { m = MatMul (x, w) y = MatMul (m, w) }",
    "g (float[A,B,C,D] x, float[3] s, float[4] b) => (float[] y) { y = BatchNormalization (x, s, b, s, s) }",
    "g (float[A,B,C,D] x, float[3] s, float[4] b) => (float[] y) { y = LayerNormalization (x, s, b) }",
    "g (float[A,B,C,D] x, float[E,F,G,3] p) => (float[] y) { y = GridSample (x, p) }",
    "g (float[A,B] x, float[C,3] w, float[4] c) => (float[] y) { y = Gemm (x, w, c) }",
    "g (float[A,B,C,5] x, float[D,E,F,4] w) => (float[] y) { y = Concat <axis = 1> (x, w) }",
    "g (float[A,B,C,D] x, float[E,F,G,H] w) => (float[] y) { y = Einsum <equation = \"ijk,ijk->ij\"> (x, w) }",
    "g (float[A,B,C,D] x) => (float[] y) <float[3] s = {1.0, 2.0, 2.0}> { y = Resize (x, , s) }",
    "g (float[A,B,C,D] x, float[8,B,3,3] w) => (float[] y) <float[3] s = {1.0, 2.0, 2.0}> \
     { c = Conv (x, w) y = Resize (c, , s) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[2] s = {4, 4}> { y = Resize (x, , , s) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[3] s = {4, 4, 4}> { y = Resize <axes = [2, 3]> (x, , , s) }",
    "g (float[A,B,C,D] x) => (float[] y) <float[4] s = {1.0, 1.0, -2.0, 2.0}> { y = Resize (x, , s) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[6] p = {0, 0, 1, 0, 0, 1}> { y = Pad (x, p) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[2] s = {0, 0}, int64[1] e = {1}> { y = Slice (x, s, e) }",
    "g (float[A,B,3,D] x) => (float[] y) <int64[4] s = {1, 1, 4, 1}> { y = Expand (x, s) }",
    "g (float[A,B,C,D] x) => (float[] y, float[] z) <int64[3] s = {1, 1, 1}> { y, z = Split <axis = 1> (x, s) }",
    "g (float[A,6,C,D] x) => (float[] y, float[] z) <int64[2] s = {2, 2}> { y, z = Split <axis = 1> (x, s) }",
    "g (float[A,B,3,D] x) => (float[] y) <int64[1] a = {2}> { y = Squeeze (x, a) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[2] a = {1, -5}> { y = Unsqueeze (x, a) }",
    "g (float[A,B,C,3] x) => (float[] y, int64[] z) <int64[1] k = {4}> { y, z = TopK (x, k) }",
    "g (float[A,B,3,D] x) => (float[] y) <int64 i = {5}> { y = Gather <axis = 2> (x, i) }",
    "g (float[A,B,C,D] x, int64[E,F,5] i) => (float[] y) { y = GatherND (x, i) }",
    "g (float[A,B,C,D] x, int64[3,F,2] i, float[4,F,C,D] u) => (float[] y) { y = ScatterND (x, i, u) }",
    "g (float[A,B,C,D] x, int64[A,B,C,3] i, float[A,B,C,4] u) => (float[] y) { y = ScatterElements <axis = 1> (x, i, u) }",
    "g (float[A,B,C,D] x, float[8,B,E,F] w, float[4] b) => (float[] y) { y = Conv (x, w, b) }",
    "g (float[A,B,C] x, float[E,B,F,G] w) => (float[] y) { y = Conv (x, w) }",
    "g (float[A,4,C,D] x, float[3,8,E,F] w) => (float[] y) { y = ConvTranspose (x, w) }",
    "g (float[S,N,I] x, float[1,K,I] w, float[2,K,L] r) => (float[] y) { y = LSTM <hidden_size = 4> (x, w, r) }",
    "g (float[A,B,C,D] x, float[2] low) => (float[] y) { y = Clip (x, low) }",
    "g (int64[A,B,C,D] x, int64 d, float[3] v) => (float[] y) { y = OneHot (x, d, v) }",
    "g (float[A,B,C,4] x, float[3] s) => (float[] y) { y = PRelu (x, s) }",
    "g (float[A,B,C,D] x, float[3] s, uint8[4] z) => (uint8[] y) { y = QuantizeLinear <axis = 1> (x, s, z) }",
    "g (float[A,B,C,D] x, float[3] s, float[4] b, float[E] m, float[F] v) => (float[] y) \
     { y = BatchNormalization (x, s, b, m, v) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[3] s = {1, 2, 3}> { y = CenterCropPad (x, s) }",
    "g (float[T,3,C,D] x) => (float[] y) <int64[2] l = {1, 1}> { y = ReverseSequence (x, l) }",
    "g (float[A,B,C,D] x, float[2,4] r, int64[3] b) => (float[] y) { y = RoiAlign (x, r, b) }",
    "g (float[N,P,5] b, float[N,C,P] s) => (int64[] y) { y = NonMaxSuppression (b, s) }",
    "g (int64[A,B,C] x) => (float[] y) { y = TfIdfVectorizer <mode = \"TF\", min_gram_length = 1, max_gram_length = 1, \
     max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0], pool_int64s = [1]> (x) }",
    "g (float[A,B,C,D] x, int64[A,C] t) => (float[] y) { y = NegativeLogLikelihoodLoss (x, t) }",
];

#[test]
fn a_node_that_fails_for_every_size_of_a_dimension_is_invalid() {
    for graph in NO_VALID_SIZE {
        let messages = messages(graph);
        assert_eq!(messages.len(), 1, "{graph}: {messages:?}");
        assert!(
            messages[0].contains("(with examples of the unknown dimensions; no size is valid)"),
            "{graph}: {messages:?}"
        );
    }
}

/// Graphs that run with some size of the free dimensions.
const A_VALID_SIZE: &[&str] = &[
    "g (float[2,N] x, float[4,5] w) => (float[2,5] y) { y = MatMul (x, w) }",
    "g (float[N,4] x) => (float[] y) <int64[2] s = {8, 8}> { y = Reshape (x, s) }",
    "g (float[N,7] x) => (float[] y) <int64[3] s = {2, -1, 5}> { y = Reshape (x, s) }",
    "g (float[N,C,H,W] x, float[4,1,7,7] w) => (float[] y) { y = Conv (x, w) }",
    "g (float[N,C] x) => (float[] a, float[] b) <int64[2] s = {3, 5}> { a, b = Split <axis = 1> (x, s) }",
    "g (float[N,C,2,2] x) => (float[] y) { y = DepthToSpace <blocksize = 3> (x) }",
    "g (float[N,4] x, float[M,3] w) => (float[] y) { y = MatMul (x, w) }",
    "g (float[N,3,H,W] x, float[N,1,H,W] z, float[7] b) => (float[] y) { y = Sum (x, z, b) }",
    "g (float[N,3,H,W] x, float[4,3,7,7] w) => (float[] y) { y = Conv <dilations = [5, 3]> (x, w) }",
    "g (float[N,3,H,W] x) => (float[] y) { y = MaxPool <kernel_shape = [9, 2]> (x) }",
    "g (float[N,4,H,W] x, float[4,8,1,1] w) => (float[] y) { s = SpaceToDepth <blocksize = 7> (x) y = Conv <group = 1> (x, x) }",
    "g (float[N] x, float[4] z) => (float[] y) { c = Concat <axis = 0> (x, x) y = Add (c, z) }",
    "g (float[N] x, float[4] z, float[2] v) => (float[] y) { c = Concat <axis = 0> (x, x) y = Add (c, z) u = Sum (x, v) }",
    "g (float[S,N,I] x, float[1,16,2] w, float[1,16,4] r) => (float[] y) { y = LSTM <hidden_size = 4> (x, w, r) }",
    "g (float[S,N,I] x, float[1,16,2] w, float[1,16,4] r, float[1,32] b, int32[2] l, float[1,M,4] h) => (float[] y) \
     { y = LSTM <hidden_size = 4> (x, w, r, b, l, h) }",
    "g (float[S,N,I] x, float[1,16,2] w, float[1,16,4] r, float[1,32] b) => (float[] y) <int32[2] l = {3, 2}> \
     { y = LSTM <hidden_size = 4> (x, w, r, b, l) }",
    "g (float[S,N,N] x, float[1,16,2] w, float[1,16,4] r, float[1,32] b, int32[N] l) => (float[] y) \
     { y = LSTM <hidden_size = 4> (x, w, r, b, l) }",
    "g (float[A,B,C,D] x) => (float[] y) { y = Transpose <perm = [3, 2, 1, 0]> (x) }",
    "g (float[A,B,C,D] x, float[3,4] w) => (float[] y) { y = MatMul (x, w) }",
    "g (float[A,B,C,D] x, float[2,D,4] w) => (float[] y) { y = MatMul (x, w) }",
    "g (float[A,B,C,D] x, float[B] s) => (float[] y) { y = BatchNormalization (x, s, s, s, s) }",
    "g (float[A,B,C,D] x, float[5,1,D] s) => (float[] y) { y = LayerNormalization (x, s) }",
    "g (float[A,B,C,D] x, float[E,F,G,2] p) => (float[] y) { y = GridSample (x, p) }",
    "g (float[A,B,C,D] x, float[2,F,G,2] p) => (float[] y) { y = GridSample <mode = \"cubic\"> (x, p) }",
    "g (float[A,B] x, float[C,B] w, float[4] c) => (float[] y) { y = Gemm <transB = 1> (x, w, c) }",
    "g (float[A,3] x, float[A,B] w, float[3,4] c) => (float[] y) { y = Gemm <transA = 1> (x, w, c) }",
    "g (float[A,B,C,5] x, float[B,D,2,5] w) => (float[] y) { y = Concat <axis = -3> (x, w) }",
    "g (float[A,B,C,D] x, float[A,5,D] w) => (float[] y) { y = Einsum <equation = \"ijkl,ijl->ik\"> (x, w) }",
    "g (float[A,B,C,D] x) => (float[] y) <float[4] s = {1.0, 1.0, 0.5, 2.0}> { y = Resize (x, , s) }",
    "g (float[A,B,C,D] x, float[8,B,3,3] w) => (float[] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}> \
     { c = Conv (x, w) p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c) u = Resize (p, , s) y = Concat <axis = 1> (u, c) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[2] s = {4, 4}> { y = Resize <axes = [2, 3]> (x, , , s) }",
    "g (float[1,3,7,7] x, int64[P] p) => (float[] y) { y = Pad (x, p) }",
    "g (float[A,B,C,D,E,F] x, int64[R] r) => (float[] y) { y = Tile (x, r) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[8] p = {0, 0, -7, 1, 0, 0, 0, 1}> { y = Pad <mode = \"reflect\"> (x, p) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[1] s = {9}, int64[1] e = {-1}, int64[1] a = {-1}> { y = Slice (x, s, e, a) }",
    "g (float[A,B,1,D] x) => (float[] y) <int64[4] s = {1, 1, 4, 1}> { y = Expand (x, s) }",
    "g (float[A,B,C,D] x) => (float[] y, float[] z) <int64[2] s = {2, 4}> { y, z = Split <axis = 1> (x, s) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[2] a = {2, 0}> { y = Squeeze (x, a) }",
    "g (float[A,B,C,D] x) => (float[] y, int64[] z) <int64[1] k = {40}> { y, z = TopK (x, k) }",
    "g (float[A,B,C,D] x, int64[E,F,G,H] i) => (float[] y) { y = Gather <axis = 2> (x, i) }",
    "g (float[A,B,C,D] x) => (float[] y) <int64[2] i = {7, -9}> { y = Gather <axis = 2> (x, i) }",
    "g (float[A,B,C,D] x, int64[A,F,2] i) => (float[] y) { y = GatherND <batch_dims = 1> (x, i) }",
    "g (float[A,B,C,D] x, int64[3,F,2] i, float[E,F,5,D] u) => (float[] y) { y = ScatterND (x, i, u) }",
    "g (float[A,B,C,D] x, int64[E,B,C,3] i, float[E,B,C,3] u) => (float[] y) { y = ScatterElements <axis = 1> (x, i, u) }",
    "g (float[A,B,C,D] x, int64[A,7,C,D] i) => (float[] y) { y = GatherElements <axis = 1> (x, i) }",
    "g (float[A,B,C,D] x, float[8,B,E,F] w, float[O] b) => (float[] y) { y = Conv <pads = [1, 1, 1, 1]> (x, w, b) }",
    "g (float[A,B,C,D] x, float[B,8,E,F] w) => (float[] y) { y = ConvTranspose <pads = [2, 2, 2, 2]> (x, w) }",
    "g (float[S,N,I] x, float[1,K,I] w, float[1,K,L] r) => (float[] y) { y = LSTM <hidden_size = 4> (x, w, r) }",
    "g (float[A,B,C,4] x, float[E,1,4] s) => (float[] y) { y = PRelu (x, s) }",
    "g (float[A,B,C,D] x, float[B] s, uint8[4] z) => (uint8[] y) { y = QuantizeLinear <axis = 1> (x, s, z) }",
    "g (float[A,B,C,D] x, float[E] s, float[4] b, float[F] m, float[G] v) => (float[] y) \
     { y = BatchNormalization (x, s, b, m, v) }",
    "g (float[T,N,C,D] x) => (float[] y) <int64[2] l = {7, 1}> { y = ReverseSequence (x, l) }",
    "g (float[A,B,C,D] x, float[R,4] r) => (float[] y) <int64[2] b = {5, 0}> { y = RoiAlign (x, r, b) }",
    "g (float[N,P,4] b, float[N,C,P] s) => (int64[] y) { y = NonMaxSuppression (b, s) }",
    "g (float[A,B,C,D] x, int64[A,C,D] t, float[7] w) => (float[] y) { y = NegativeLogLikelihoodLoss (x, t, w) }",
];

#[test]
fn a_node_that_has_a_valid_size_is_valid() {
    for graph in A_VALID_SIZE {
        let messages = messages(graph);
        assert!(messages.is_empty(), "{graph}: {messages:?}");
    }
}

#[test]
fn a_list_that_fits_no_input_is_invalid_for_every_size() {
    for (graph, message) in [
        (
            "g (float[A,B,C,D] x) => (float[] y) <int64[3] s = {-1, 2, -1}> { y = Reshape (x, s) }",
            "only one dimension may be -1",
        ),
        (
            "g (float[A,B,C,D] x) => (float[] y) <int64[2] s = {-3, 2}> { y = Reshape (x, s) }",
            "only -1 may be negative",
        ),
        ("g (float[A,B,C,D] x, float[E,F,G,H] w) => (float[] y) { y = Conv <group = 0> (x, w) }", "group is 0"),
    ] {
        let messages = messages(graph);
        assert!(messages.len() == 1 && messages[0].contains(message), "{graph}: {messages:?}");
    }
    let valid = messages("g (float[A,B,C,D] x, int64[R] s) => (float[] y) { y = Reshape (x, s) }");
    assert!(valid.is_empty(), "{valid:?}");
}

#[test]
fn a_list_that_does_not_fit_the_features_is_invalid_for_any_number_of_rows() {
    let messages = |x: &str, node: &str| {
        let text =
            format!("<ir_version: 8, opset_import: [\"ai.onnx.ml\": 3]> g ({x} x) => (float[] y) {{ {node} (x) }}");
        let model = parse_model(&text).unwrap();
        let inferred = infer(&model, &Limits::default());
        inferred.findings.kept().iter().map(|finding| finding.message.clone()).collect::<Vec<_>>()
    };
    let scaler = |count: usize| {
        let list = vec!["1.0"; count].join(", ");
        format!("y = ai.onnx.ml.Scaler <offset = [{list}], scale = [{list}]>")
    };
    let found = messages("float[N, 3]", &scaler(2));
    assert!(found.len() == 1 && found[0].contains("offset has 2 elements, but the input has 3 features"), "{found:?}");
    let uneven = messages("float[N, M]", "y = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [1.0, 2.0]>");
    assert!(uneven.len() == 1 && uneven[0].contains("offset has 3 elements and scale 2"), "{uneven:?}");
    for (x, count) in [("float[N, 3]", 3), ("float[N, M]", 2), ("float[M]", 2), ("float[N, 3]", 1)] {
        assert_eq!(messages(x, &scaler(count)), Vec::<String>::new(), "{x} {count}");
    }
}

#[test]
fn joined_features_have_a_size_for_each_input() {
    let messages = |sizes: &str| {
        let text = format!(
            "<ir_version: 8, opset_import: [\"ai.onnx.ml\": 3]> g (float[N, C] x, float[M, D] z) => (float[] y) \
             {{ y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [{sizes}]> (x, z) }}"
        );
        let model = parse_model(&text).unwrap();
        let inferred = infer(&model, &Limits::default());
        inferred.findings.kept().iter().map(|finding| finding.message.clone()).collect::<Vec<_>>()
    };
    let found = messages("2");
    assert!(found.len() == 1 && found[0].contains("inputdimensions has 1 entries for 2 inputs"), "{found:?}");
    // The text does not say what other sizes than those of the inputs mean.
    assert_eq!(messages("2, 3"), Vec::<String>::new());
}

#[test]
fn a_constant_with_two_values_is_invalid_also_if_it_is_large() {
    for length in [1, 100_000] {
        let text = "0".repeat(length);
        let found = messages(&format!(
            "g () => (float[] y) {{ y = Constant <value_float = 1.0, value_string = \"{text}\"> () }}"
        ));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("exactly one of the attributes"), "{found:?}");
    }
}

#[test]
fn elements_that_do_not_fill_a_huge_shape_take_no_memory() {
    let messages = messages(
        "g (float[N,3] x) => (int64[k] s) <int64[1] i = {1}, int64[1] r = {4393486783229956}> {
          t = Shape (x)
          c = Gather (t, i)
          s = Reshape (c, r)
        }",
    );
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(messages[0].contains("4393486783229956"), "{messages:?}");
}

#[test]
fn a_loop_body_without_its_condition_is_the_only_finding() {
    let text = r#"<ir_version: 8, opset_import: ["" : 13]>
        g (int64 n, bool c, float[2] x) => (float[2] y) {
            y = Loop (n, c, x) <body = b (int64 i, float[2] a) => (bool o, float[2] r) {
                t = Constant <value_int = 1> ()
                o = Cast <to = 9> (t)
                r = Relu (a)
            }>
        }"#;
    let model = parse_model(text).unwrap();
    let inferred = infer(&model, &Limits::default());
    let messages: Vec<&str> = inferred.findings.kept().iter().map(|finding| finding.message.as_str()).collect();
    let expected =
        "body has 2 inputs, but must have 3: the iteration number, the condition, and one for each carried value";
    assert_eq!(messages, [expected]);
    let edit = inferred.findings.kept().first().and_then(|finding| finding.edit.clone());
    assert_eq!(edit.as_deref(), Some("declare 3 inputs of body"));
}

#[test]
fn branches_return_one_shape_below_opset_11() {
    let text = |opset: i64, other: &str| {
        format!(
            r#"<ir_version: 8, opset_import: ["" : {opset}]> g (bool c, float[2, 3] x) => (float[a, b] y) {{
                y = If (c) <
                    then_branch = then () => (float[a, b] p) {{ p = Transpose <perm = [1, 0]> (x) }},
                    else_branch = other () => (float[a, b] q) {{ q = {other} (x) }}
                >
            }}"#
        )
    };
    let found = "output 0 'y' has shape [3, 2] in then_branch, but [2, 3] in else_branch; If-1 requires one shape";
    for (opset, other, expected) in
        [(9, "Relu", [found].as_slice()), (10, "Relu", &[found]), (11, "Relu", &[]), (9, "Transpose", &[])]
    {
        let model = parse_model(&text(opset, other)).unwrap();
        let inferred = infer(&model, &Limits::default());
        let messages: Vec<&str> = inferred.findings.kept().iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages, expected, "{opset} {other}");
    }
}

#[test]
fn a_scan_stacks_as_many_slices_as_there_are() {
    let scan = |opset: u32, attributes: &str, inputs: &str, values: &[(&str, &str)]| {
        let names = if opset < 9 { "lengths, s, x" } else { "s, x" };
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : {opset}]>
        g (int64[2] lengths, {inputs}) => (float[] last, float[] all) {{
          last, all = Scan <
            num_scan_inputs = 1 {attributes},
            body = b (float[] before, float[] part) => (float[] after, float[] sum) {{
              after = Add (before, part)
              sum = Identity (after)
            }}> ({names})
        }}"
        );
        check(&text, values, &[]);
    };
    let (last, all) = (("last", "tensor(float)[3]"), "all");
    scan(17, "", "float[3] s, float[4, 3] x", &[last, (all, "tensor(float)[4, 3]")]);
    scan(17, "", "float[3] s, float[n, 3] x", &[last, (all, "tensor(float)[n, 3]")]);
    scan(17, ", scan_output_axes = [-1]", "float[3] s, float[4, 3] x", &[last, (all, "tensor(float)[3, 4]")]);
    scan(17, ", scan_input_axes = [1]", "float[3] s, float[3, 5] x", &[last, (all, "tensor(float)[5, 3]")]);
    let batches = [("last", "tensor(float)[2, 3]"), (all, "tensor(float)[2, 4, 3]")];
    scan(8, "", "float[2, 3] s, float[2, 4, 3] x", &batches);
    // Without a batch the outputs have the shapes that the body declares.
    scan(8, "", "float[m, 3] s, float[m, 4, 3] x", &[("last", "tensor(float)"), (all, "tensor(float)")]);
}
