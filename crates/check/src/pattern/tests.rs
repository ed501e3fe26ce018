use onnx_conformance_reference::model::text::parse_model;

use crate::infer::infer_facts;
use crate::limits::Limits;
use crate::pattern::{Constants, ModelIndex, Pattern, Sizes, Strictness};

const ONES: Strictness = Strictness::new(Sizes::Ones, Constants::Kind);

fn model(text: &str) -> String {
    format!("<ir_version: 8, opset_import: [\"\" : 17]> {text}")
}

/// Returns the node indices of each place where a model has the pattern.
fn places(pattern: &str, text: &str, strictness: Strictness) -> Vec<Vec<usize>> {
    let pattern = Pattern::from_model(&parse_model(&model(pattern)).unwrap()).unwrap();
    let parsed = parse_model(&model(text)).unwrap();
    let inferred = infer_facts(&parsed, &Limits::default());
    let found = pattern.find(&ModelIndex::new(&inferred), strictness);
    found.into_iter().map(|found| found.nodes.into_iter().map(|node| node.index).collect()).collect()
}

/// Checks the number of places of a pattern in models.
fn check(pattern: &str, models: &[(&str, usize)]) {
    for (text, expected) in models {
        assert_eq!(places(pattern, text, ONES).len(), *expected, "{pattern}\nin {text}");
    }
}

const PRODUCT: &str =
    "g (float[2, 3] x, float[2] v) => (float[3] y) { t = Transpose <perm = [1, 0]> (x) y = MatMul (t, v) }";

#[test]
fn a_pattern_is_found_among_other_nodes_under_other_names() {
    let text = "g (float[5, 4] a, float[5] b) => (float[4] f) {
      c = Neg (a)
      d = Transpose <perm = [1, 0]> (c)
      e = Abs (b)
      p = MatMul (d, e)
      f = Neg (p)
    }";
    assert_eq!(places(PRODUCT, text, ONES), [[1, 3]]);
}

#[test]
fn operators_connections_and_attributes_are_those_of_the_pattern() {
    let with = |nodes: &str, v: &str| format!("g (float[3, 3] x, float[{v}] v) => (float[a] y) {{ {nodes} }}");
    let transposed = "t = Transpose <perm = [1, 0]> (x)";
    check(
        PRODUCT,
        &[
            (&with(&format!("{transposed} y = MatMul (t, v)"), "3"), 1),
            (&with(&format!("{transposed} y = MatMul (v, t)"), "3"), 0),
            (&with("t = Transpose (x) y = MatMul (t, v)", "3"), 0),
            (&with("t = Transpose <perm = [0, 1]> (x) y = MatMul (t, v)", "3"), 0),
            (&with(&format!("{transposed} u = Neg (t) y = MatMul (u, v)"), "3"), 0),
            (&with(&format!("{transposed} y = MatMul (t, v)"), "3, 3"), 0),
            (&with(&format!("{transposed} y = Mul (t, v)"), "3"), 0),
        ],
    );
}

#[test]
fn a_default_that_is_written_out_is_no_difference() {
    let pattern = "g (float[2, 3] x) => (float[2, 3] y) { t = Softmax (x) y = Neg (t) }";
    check(
        pattern,
        &[
            ("g (float[2, 3] x) => (float[2, 3] y) { t = Softmax <axis = -1> (x) y = Neg (t) }", 1),
            ("g (float[2, 3] x) => (float[2, 3] y) { t = Softmax <axis = 0> (x) y = Neg (t) }", 0),
        ],
    );
}

#[test]
fn a_value_between_the_nodes_has_no_other_use() {
    let text = |outputs: &str, more: &str| {
        format!(
            "g (float[2, 3] x, float[2] v) => ({outputs}) {{ t = Transpose <perm = [1, 0]> (x) y = MatMul (t, v) {more} }}"
        )
    };
    check(
        PRODUCT,
        &[
            (&text("float[3] y", ""), 1),
            (&text("float[3] y, float[3, 2] t", ""), 0),
            (&text("float[3] y, float[3, 2] u", "u = Neg (t)"), 0),
            (&text("float[3] y, float[3] u", "u = Neg (y)"), 1),
        ],
    );
    let both = text("float[3] y, float[3, 2] t", "");
    check(&both, &[(&text("float[3] y", ""), 0), (&both, 1)]);
}

#[test]
fn constants_are_no_computed_values() {
    let constant = "g (float[2, 3] x) => (float[2, 3] y) <float c = {2.0}> { t = Neg (x) y = Mul (t, c) }";
    let computed = "g (float[2, 3] x, float c) => (float[2, 3] y) { t = Neg (x) y = Mul (t, c) }";
    let node =
        "g (float[2, 3] x) => (float[2, 3] y) { c = Constant <value = float {2.0}> () t = Neg (x) y = Mul (t, c) }";
    let default = "g (float[2, 3] x, float c) => (float[2, 3] y) <float c = {2.0}> { t = Neg (x) y = Mul (t, c) }";
    check(constant, &[(constant, 1), (node, 1), (computed, 0), (default, 0)]);
    check(computed, &[(computed, 1), (constant, 0), (node, 0), (default, 0)]);
    check(default, &[(default, 1), (constant, 0), (computed, 0)]);
}

#[test]
fn constants_are_compared_as_strictly_as_asked() {
    let text = |constant: &str| {
        format!("g (float[2, 3] x) => (float[2, 3] y) <float c = {{{constant}}}> {{ t = Neg (x) y = Mul (t, c) }}")
    };
    let count = |pattern: &str, other: &str, constants| {
        places(&text(pattern), &text(other), Strictness::new(Sizes::Ones, constants)).len()
    };
    for (pattern, other, kind, equal) in [
        ("2.0", "2.0", 1, 1),
        ("1.4142135", "1.4142136", 1, 1),
        ("2.0", "3.0", 1, 0),
        ("2.0", "-2.0", 0, 0),
        ("2.0", "1.0", 0, 0),
        ("0.0", "2.0", 0, 0),
        ("1e30", "2.0", 0, 0),
        ("1e30", "1e25", 1, 0),
        ("1e-30", "0.5", 0, 0),
    ] {
        assert_eq!(count(pattern, other, Constants::Kind), kind, "{pattern} {other}");
        assert_eq!(count(pattern, other, Constants::Scalars), equal, "{pattern} {other}");
        assert_eq!(count(pattern, other, Constants::Equal), equal, "{pattern} {other}");
    }
}

#[test]
fn sizes_are_compared_as_strictly_as_asked() {
    let text = |shape: &str| format!("g (float[{shape}] x) => (float[{shape}] y) {{ t = Neg (x) y = Abs (t) }}");
    let count =
        |other: &str, sizes| places(&text("2, 1, 3"), &text(other), Strictness::new(sizes, Constants::Kind)).len();
    for (other, batches, ones, known) in [
        ("2, 1, 3", 1, 1, 1),
        ("7, 1, 5", 1, 1, 1),
        ("2, 1, n", 1, 1, 0),
        ("n, 1, 3", 1, 1, 0),
        ("1, 1, 3", 1, 0, 0),
        ("2, n, 3", 0, 0, 0),
        ("2, 2, 3", 0, 0, 0),
        ("2, 1, 1", 0, 0, 0),
        ("0, 1, 3", 0, 0, 0),
        ("1, 3", 0, 0, 0),
    ] {
        let counts = [Sizes::Batches, Sizes::Ones, Sizes::Known].map(|sizes| count(other, sizes));
        assert_eq!(counts, [batches, ones, known], "{other}");
    }
}

#[test]
fn distinct_values_stay_distinct_and_equal_ones_equal() {
    let two = "g (float[2] x, float[2] z) => (float[2] y) { t = Neg (x) y = Add (t, z) }";
    let one = "g (float[2] x) => (float[2] y) { t = Neg (x) y = Add (t, x) }";
    check(two, &[(two, 1), (one, 0)]);
    check(one, &[(one, 1), (two, 0)]);
}

#[test]
fn a_pattern_in_a_branch_is_found_in_branches_only() {
    let branch = "g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] p) { t = Neg (x) p = Abs (t) }, else_branch = b () => (float[2] q) { q = Exp (x) }>
    }";
    let main = "g (float[2] x) => (float[2] y) { t = Neg (x) y = Abs (t) }";
    check(branch, &[(branch, 1), (main, 0)]);
    check(main, &[(branch, 0), (main, 1)]);
}

#[test]
fn every_place_counts_once() {
    let twice = "g (float[2] x) => (float[2] y, float[2] z) { y = Bernoulli (x) z = Bernoulli (x) }";
    assert_eq!(places(twice, twice, ONES).len(), 1);
    let chain = "g (float[2] x) => (float[2] y) { t = Neg (x) y = Abs (t) }";
    let nodes: String =
        (0..50).map(|at| format!("t{at} = Neg (v{at}) v{} = Abs (t{at}) ", at + 1)).collect::<Vec<_>>().concat();
    assert_eq!(places(chain, &format!("g (float[2] v0) => (float[2] v50) {{ {nodes} }}"), ONES).len(), 50);
}

#[test]
fn graphs_that_are_no_pattern_are_refused() {
    let parsed = |text: &str| Pattern::from_model(&parse_model(&model(text)).unwrap()).is_none();
    assert!(
        parsed("g (float[2] x, float[2] z) => (float[2] y, float[2] w) { y = Neg (x) w = Abs (z) }"),
        "not connected"
    );
    assert!(parsed("g () => (float y) { y = Constant <value = float {1.0}> () }"), "no node");
    let looped = "g (int64 n, float a, bool k) => (float b) { c = Neg (a) b = Loop <body = l (int64 i, bool c, float p) => (bool d, float q) { q = Add (p, p) d = Identity (c) }> (n, k, c) }";
    assert!(parsed(looped), "a subgraph");
}
