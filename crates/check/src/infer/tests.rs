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
