//! Inferred shapes of products, compared with execution.

use crate::dtype::ElementType;
use crate::tensor::Tensor;
use crate::testing::{floats, node, typed};

fn data(shape: &[usize]) -> Tensor {
    floats(shape, &vec![1.0; shape.iter().product()])
}

#[test]
fn products_have_the_outer_sizes_of_their_factors() {
    let product = |one: &[usize], two: &[usize]| node("MatMul", 13).inputs([data(one), data(two)]).inferred();
    assert_eq!(product(&[2, 3], &[3, 4]), ["[A0, B1]"]);
    assert_eq!(product(&[3], &[3]), ["[]"]);
    assert_eq!(product(&[5, 2, 3], &[3]), ["[A0, A1]"]);
    assert_eq!(product(&[3], &[5, 3, 2]), ["[B0, B2]"]);
    assert_eq!(product(&[5, 2, 3], &[1, 3, 4]), ["[?, A1, B2]"]);
    let general = |flags: [i64; 2], one: &[usize], two: &[usize]| {
        let node = node("Gemm", 13).inputs([data(one), data(two)]);
        node.set("transA", flags[0]).set("transB", flags[1]).inferred()
    };
    assert_eq!(general([0, 0], &[2, 3], &[3, 4]), ["[A0, B1]"]);
    assert_eq!(general([1, 1], &[3, 2], &[4, 3]), ["[A1, B0]"]);
    let bytes = |shape: &[usize]| typed(ElementType::Uint8, shape, &vec![1.0; shape.iter().product()]);
    assert_eq!(node("MatMulInteger", 10).inputs([bytes(&[2, 3]), bytes(&[3, 4])]).inferred(), ["[A0, B1]"]);
    assert_eq!(node("Det", 11).input(data(&[5, 2, 2])).inferred(), ["[A0]"]);
    assert_eq!(node("Trilu", 14).input(data(&[5, 2])).inferred(), ["[A0, A1]"]);
}

#[test]
fn the_indices_of_an_equation_name_its_sizes() {
    let rows: [(&str, &[&[usize]], &str); 6] = [
        ("ij,jk->ik", &[&[2, 3], &[3, 4]], "[A0, B1]"),
        ("ij, jk", &[&[2, 3], &[3, 4]], "[A0, B1]"),
        ("ii->i", &[&[3, 3]], "[?]"),
        ("...ij->...ji", &[&[5, 2, 3]], "[A0, A2, A1]"),
        ("ba", &[&[2, 3]], "[A1, A0]"),
        ("i,i->", &[&[3], &[1]], "[]"),
    ];
    for (equation, shapes, expected) in rows {
        let node = node("Einsum", 12).inputs(shapes.iter().map(|shape| data(shape))).set("equation", equation);
        assert_eq!(node.inferred(), [expected], "{equation}");
    }
}
