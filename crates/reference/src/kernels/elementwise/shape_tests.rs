//! Inferred shapes, types and elements of conversions and arithmetic, compared with execution.

use crate::dtype::ElementType;
use crate::testing::{floats, ints, node, typed};

#[test]
fn conversions_keep_shapes_and_change_types() {
    let code = |element: ElementType| i64::from(element.code());
    let data = || floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(node("Cast", 13).input(data()).set("to", code(ElementType::Int8)).inferred(), ["[A0, A1]"]);
    assert_eq!(node("Cast", 1).input(data()).set("to", "INT32").inferred(), ["[A0, A1]"]);
    assert_eq!(node("BitCast", 26).input(data()).set("to", code(ElementType::Int32)).inferred(), ["[A0, A1]"]);
    assert_eq!(node("CastLike", 15).inputs([data(), ints(&[1], &[1])]).inferred(), ["[A0, A1]"]);
    for to in [ElementType::Int32, ElementType::Int64, ElementType::Uint8, ElementType::Bool, ElementType::Float] {
        for value in [-1, 300, 1 << 40] {
            node("Cast", 13).input(ints(&[1], &[value])).set("to", code(to)).inferred();
        }
    }
    assert_eq!(node("DynamicQuantizeLinear", 11).input(data()).outputs(3).inferred(), ["[A0, A1]", "[]", "[]"]);
    let scale = || floats(&[], &[0.5]);
    node("QuantizeLinear", 21).inputs([data(), scale()]).set("output_dtype", code(ElementType::Int8)).inferred();
    let zero = typed(ElementType::Int8, &[], &[1.0]);
    assert_eq!(node("QuantizeLinear", 13).inputs([data(), scale(), zero]).inferred(), ["[A0, A1]"]);
    let bytes = typed(ElementType::Uint8, &[2], &[1.0, 2.0]);
    let half = code(ElementType::Float16);
    node("DequantizeLinear", 23).inputs([bytes, scale()]).set("output_dtype", half).inferred();
    assert_eq!(node("SwiGLU", 28).inputs([data(), data()]).inferred(), ["[A0, A1]"]);
}

#[test]
fn integers_are_computed_as_execution_does() {
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min"] {
        for (one, two) in [(&[7, -7, 0][..], &[2][..]), (&[5], &[3, -3, 1]), (&[i64::MAX, i64::MIN], &[-1, 2])] {
            node(op, 13).input(ints(&[one.len()], one)).input(ints(&[two.len()], two)).inferred();
        }
        let narrow = typed(ElementType::Int32, &[1], &[2_147_483_647.0]);
        node(op, 13).inputs([narrow.clone(), narrow]).inferred();
    }
    for op in ["Neg", "Abs"] {
        node(op, 13).input(ints(&[3], &[4, -4, i64::MIN])).inferred();
    }
    let condition = typed(ElementType::Bool, &[2], &[1.0, 0.0]);
    let chosen = node("Where", 16).inputs([condition, ints(&[2], &[1, 2]), ints(&[], &[9])]);
    assert_eq!(chosen.inferred(), ["[2]"]);
}
