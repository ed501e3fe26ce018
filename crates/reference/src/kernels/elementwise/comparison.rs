//! Truth values: logic, comparison, tests of floats, and Where, which selects by them.

use crate::dtype::{ElementType, Kind};
use crate::kernels::elementwise::map::Pair;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::Ruled;
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::broadcast;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("And", 1, |call| logic(&Pair::legacy_broadcast(call)?, |a, b| a && b)),
    Kernel::new("And", 7, |call| logic(&Pair::broadcast(call).rule("C2")?, |a, b| a && b)),
    Kernel::new("Or", 1, |call| logic(&Pair::legacy_broadcast(call)?, |a, b| a || b)),
    Kernel::new("Or", 7, |call| logic(&Pair::broadcast(call).rule("C2")?, |a, b| a || b)),
    Kernel::new("Xor", 1, |call| logic(&Pair::legacy_broadcast(call)?, |a, b| a != b)),
    Kernel::new("Xor", 7, |call| logic(&Pair::broadcast(call).rule("C2")?, |a, b| a != b)),
    Kernel::new("Not", 1, not),
    Kernel::new("Equal", 1, |call| equal(&Pair::legacy_broadcast(call)?)),
    Kernel::new("Equal", 7, |call| equal(&Pair::broadcast(call).rule("C2")?)),
    Kernel::new("Less", 1, |call| less(&Pair::legacy_broadcast(call)?)),
    Kernel::new("Less", 7, |call| less(&Pair::broadcast(call).rule("C2")?)),
    Kernel::new("Greater", 1, |call| greater(&Pair::legacy_broadcast(call)?)),
    Kernel::new("Greater", 7, |call| greater(&Pair::broadcast(call).rule("C2")?)),
    Kernel::new("LessOrEqual", 12, |call| compare(&Pair::broadcast(call).rule("C1")?, |a, b| a <= b, |a, b| a <= b)),
    Kernel::new("GreaterOrEqual", 12, |call| compare(&Pair::broadcast(call).rule("C1")?, |a, b| a >= b, |a, b| a >= b)),
    Kernel::new("IsInf", 10, is_infinite),
    Kernel::new("IsNaN", 9, |call| test(call, f64::is_nan)),
    Kernel::new("Where", 9, select),
];

fn logic(pair: &Pair<'_, '_>, holds: impl Fn(bool, bool) -> bool) -> Result {
    pair.test(Tensor::bools, holds)
}

fn not(call: &Call<'_>) -> Result {
    let tensor = call.tensor(0)?;
    let values = tensor.stream(Tensor::bools).map(|value| !value);
    Ok(call.allocate(ElementType::Bool, tensor.shape())?.bools(values)?.into())
}

fn less(pair: &Pair<'_, '_>) -> Result {
    compare(pair, |a, b| a < b, |a, b| a < b)
}

fn greater(pair: &Pair<'_, '_>) -> Result {
    compare(pair, |a, b| a > b, |a, b| a > b)
}

#[expect(clippy::float_cmp, reason = "the operator asks for exact equality")]
fn equal(pair: &Pair<'_, '_>) -> Result {
    match pair.element().kind() {
        Kind::String => pair.test_strings(|a, b| a == b),
        _ => compare(pair, |a, b| a == b, |a, b| a == b),
    }
}

/// Compares floats as floats, integers and truth values as integers.
fn compare(pair: &Pair<'_, '_>, float: fn(f64, f64) -> bool, integer: fn(i128, i128) -> bool) -> Result {
    if pair.element().is_float() { pair.test(Tensor::floats, float) } else { pair.test(Tensor::integers, integer) }
}

fn is_infinite(call: &Call<'_>) -> Result {
    let (negative, positive) = (call.flag("detect_negative")?, call.flag("detect_positive")?);
    test(call, |value| value == f64::INFINITY && positive || value == f64::NEG_INFINITY && negative)
}

fn test(call: &Call<'_>, holds: impl Fn(f64) -> bool) -> Result {
    let tensor = call.tensor(0)?;
    let values = tensor.stream(Tensor::floats).map(holds);
    Ok(call.allocate(ElementType::Bool, tensor.shape())?.bools(values)?.into())
}

/// Where: X's element where the condition holds, else Y's. All three broadcast to each other.
fn select(call: &Call<'_>) -> Result {
    let (condition, x, y) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let shape = broadcast(&broadcast(condition.shape(), x.shape()).rule("C1")?, y.shape()).rule("C1")?;
    let walk = |shape_of: &[usize]| StridedIter::broadcast(shape_of, &shape);
    let positions = walk(condition.shape())
        .zip(walk(x.shape()).zip(walk(y.shape())))
        .map(|(index, (x, y))| if condition.bits_at(index) != 0 { (0, x) } else { (1, y) });
    Ok(call.allocate(x.element_type(), &shape)?.gather_from(&[x, y], positions)?.into())
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::tensor::Tensor;
    use crate::testing::{floats, ints, node, strings, typed};

    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;

    fn bools(values: &[bool]) -> Tensor {
        let values: Vec<f64> = values.iter().map(|&value| f64::from(u8::from(value))).collect();
        typed(E::Bool, &[values.len()], &values)
    }

    #[test]
    fn nan_compares_with_nothing() {
        let (a, b) = (floats(&[4], &[NAN, NAN, 1.0, -0.0]), floats(&[4], &[NAN, 1.0, INF, 0.0]));
        let rows = [
            ("Equal", [false, false, false, true]),
            ("Less", [false, false, true, false]),
            ("Greater", [false, false, false, false]),
            ("LessOrEqual", [false, false, true, true]),
            ("GreaterOrEqual", [false, false, false, true]),
        ];
        for (operator, expected) in rows {
            let result = node(operator, 16).input(a.clone()).input(b.clone()).tensor();
            assert_eq!((result.element_type(), result.bools()), (E::Bool, expected.to_vec()), "{operator}");
        }
    }

    #[test]
    fn integers_beyond_doubles_still_differ() {
        let (a, b) = (ints(&[1], &[i64::MAX]), ints(&[1], &[i64::MAX - 1]));
        for (operator, expected) in [("Equal", false), ("Greater", true), ("LessOrEqual", false)] {
            assert_eq!(node(operator, 16).input(a.clone()).input(b.clone()).tensor().bools(), [expected], "{operator}");
        }
    }

    #[test]
    fn strings_are_equal_by_their_text() {
        let result = node("Equal", 19).input(strings(&[3], &["a", "", "é"])).input(strings(&[1], &["é"])).tensor();
        assert_eq!(result.bools(), [false, false, true]);
    }

    #[test]
    fn legacy_logic_and_comparison_broadcast_on_request() {
        let a = typed(E::Bool, &[2, 2], &[0.0, 1.0, 0.0, 1.0]);
        let b = bools(&[false, true]);
        for (operator, expected) in [
            ("And", [false, false, false, true]),
            ("Or", [false, true, true, true]),
            ("Xor", [false, true, true, false]),
            ("Equal", [true, false, false, true]),
        ] {
            let node = node(operator, 1).input(a.clone()).input(b.clone()).set("broadcast", 1).set("axis", 0);
            assert_eq!(node.tensor().bools(), expected, "{operator}");
        }
        let less = node("Less", 1).input(floats(&[2], &[1.0, 2.0])).input(floats(&[], &[2.0]));
        assert!(less.error().contains("broadcast"));
        assert_eq!(node("Not", 1).input(b).tensor().bools(), [true, false]);
    }

    #[test]
    fn infinities_are_found_by_sign() {
        let x = [INF, -INF, NAN, 3.0];
        for (negative, positive, expected) in [
            (1, 1, [true, true, false, false]),
            (0, 1, [true, false, false, false]),
            (1, 0, [false, true, false, false]),
            (0, 0, [false, false, false, false]),
        ] {
            for element in [E::Float, E::Double, E::Float8e5m2, E::Bfloat16] {
                let node = node("IsInf", 20).input(typed(element, &[4], &x));
                let result = node.set("detect_negative", negative).set("detect_positive", positive).tensor();
                assert_eq!(result.bools(), expected, "{element}");
            }
        }
        // float8e4m3fn has no infinity: one that is rounded to it becomes NaN.
        let narrow = typed(E::Float8e4m3fn, &[2], &[INF, 1.0]);
        assert_eq!(node("IsInf", 20).input(narrow.clone()).tensor().bools(), [false, false]);
        assert_eq!(node("IsNaN", 20).input(narrow).tensor().bools(), [true, false]);
    }

    #[test]
    fn selects_elements_of_any_type() {
        let condition = bools(&[true, false]);
        let chosen = node("Where", 16)
            .input(condition.clone())
            .input(strings(&[2, 1], &["a", "b"]))
            .input(strings(&[], &["z"]))
            .tensor();
        assert_eq!(chosen.shape(), [2, 2]);
        let texts: Vec<&str> = chosen.strings().iter().map(AsRef::as_ref).collect();
        assert_eq!(texts, ["a", "z", "b", "z"]);
        for element in [E::Complex128, E::Complex64, E::Bfloat16, E::Uint64, E::Bool] {
            let (x, y) = (typed(element, &[2], &[1.0, 1.0]), typed(element, &[2], &[0.0, 0.0]));
            let chosen = node("Where", 16).input(condition.clone()).input(x).input(y).tensor();
            assert_eq!((chosen.element_type(), chosen.floats()), (element, vec![1.0, 0.0]));
        }
    }
}
