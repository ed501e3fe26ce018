//! Inferred shapes of reductions and selections, compared with execution.

use crate::tensor::Tensor;
use crate::testing::{floats, ints, node};

fn data() -> Tensor {
    floats(&[2, 3, 4], &[1.0; 24])
}

#[test]
fn reduced_axes_are_1_or_absent() {
    let sum = || node("ReduceSum", 13).input(data());
    assert_eq!(sum().input(ints(&[1], &[-1])).inferred(), ["[A0, A1, 1]"]);
    assert_eq!(sum().input(ints(&[2], &[0, 1])).set("keepdims", 0).inferred(), ["[A2]"]);
    assert_eq!(sum().inferred(), ["[1, 1, 1]"]);
    assert_eq!(sum().set("noop_with_empty_axes", 1).inferred(), ["[A0, A1, A2]"]);
    let old = node("ReduceMax", 11).input(data()).set("axes", &[1][..]).set("keepdims", 0);
    assert_eq!(old.inferred(), ["[A0, A2]"]);
    let repeated = node("ReduceMax", 11).input(data()).set("axes", &[1; 2000][..]).set("keepdims", 0);
    assert_eq!(repeated.inferred(), ["[A0, A2]"]);
    let arg = |op: &str| node(op, 13).input(data()).set("axis", 1).set("keepdims", 0);
    assert_eq!(arg("ArgMax").inferred(), ["[A0, A2]"]);
    assert_eq!(arg("ArgMin").inferred(), ["[A0, A2]"]);
}

#[test]
fn integers_of_a_vector_reduce_to_one() {
    for op in ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"] {
        for values in [&[3, -2, 5][..], &[7]] {
            node(op, 18).input(ints(&[values.len()], values)).inferred();
        }
    }
    for op in ["ReduceSum", "ReduceProd"] {
        node(op, 18).input(ints(&[0], &[])).inferred();
    }
}

#[test]
fn the_best_and_the_distinct_keep_other_axes() {
    let top = node("TopK", 11).input(data()).input(ints(&[1], &[2])).outputs(2);
    assert_eq!(top.inferred(), ["[A0, A1, 2]", "[A0, A1, 2]"]);
    assert_eq!(node("TopK", 1).input(data()).set("k", 1).set("axis", 0).outputs(2).inferred()[1], "[1, A1, A2]");
    let unique = || node("Unique", 11).input(data()).outputs(4);
    assert_eq!(unique().inferred(), ["[?]", "[?]", "[A0*A1*A2]", "[?]"]);
    assert_eq!(unique().set("axis", -1).inferred(), ["[A0, A1, ?]", "[?]", "[A2]", "[?]"]);
}
