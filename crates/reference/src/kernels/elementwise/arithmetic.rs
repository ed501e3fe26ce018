//! Add, Sub, Mul, Div, Mod and Pow.

use crate::infer::{elements, rules};
use crate::kernels::elementwise::map::Pair;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Add", 1, |call| add(&Pair::legacy_broadcast(call)?))
        .shape(rules::elementwise)
        .with_elements(elements::sum),
    Kernel::new("Add", 7, |call| add(&Pair::broadcast(call).rule("C2")?))
        .shape(rules::elementwise)
        .with_elements(elements::sum),
    Kernel::new("Sub", 1, |call| subtract(&Pair::legacy_broadcast(call)?))
        .shape(rules::elementwise)
        .with_elements(elements::difference),
    Kernel::new("Sub", 7, |call| subtract(&Pair::broadcast(call).rule("C2")?))
        .shape(rules::elementwise)
        .with_elements(elements::difference),
    Kernel::new("Mul", 1, |call| multiply(&Pair::legacy_broadcast(call)?))
        .shape(rules::elementwise)
        .with_elements(elements::product),
    Kernel::new("Mul", 7, |call| multiply(&Pair::broadcast(call).rule("C2")?))
        .shape(rules::elementwise)
        .with_elements(elements::product),
    Kernel::new("Div", 1, |call| divide(&Pair::legacy_broadcast(call)?))
        .shape(rules::elementwise)
        .with_elements(elements::quotient),
    Kernel::new("Div", 7, |call| divide(&Pair::broadcast(call).rule("C2")?))
        .shape(rules::elementwise)
        .with_elements(elements::quotient),
    Kernel::new("Mod", 10, modulo_before_28).shape(rules::elementwise),
    Kernel::new("Mod", 28, modulo).shape(rules::elementwise),
    Kernel::new("Pow", 1, |call| power(&Pair::legacy_broadcast(call)?)).shape(rules::elementwise),
    Kernel::new("Pow", 7, |call| power(&Pair::broadcast(call).rule("C2")?)).shape(rules::elementwise),
];

fn add(pair: &Pair<'_, '_>) -> Result {
    pair.numbers(|a, b| a + b, i128::wrapping_add)
}

fn subtract(pair: &Pair<'_, '_>) -> Result {
    pair.numbers(|a, b| a - b, i128::wrapping_sub)
}

fn multiply(pair: &Pair<'_, '_>) -> Result {
    pair.numbers(|a, b| a * b, i128::wrapping_mul)
}

/// Div. Integers truncate toward zero. The text leaves integer division by zero open; it gives 0, as in `NumPy`.
fn divide(pair: &Pair<'_, '_>) -> Result {
    pair.numbers(|a, b| a / b, |a, b| a.checked_div(b).unwrap_or(0))
}

/// Mod before version 28. For floating-point types, only C's fmod is allowed.
fn modulo_before_28(call: &Call<'_>) -> Result {
    let element = call.tensor(0)?.element_type();
    if element.is_float() && call.int("fmod")? == 0 {
        return Err(broken("C3", format!("attribute fmod is 0, but {element} requires 1 before version 28")));
    }
    modulo(call)
}

/// `a - q * b`, where `q` is `a / b`, rounded down for `fmod` 0 and toward zero for `fmod` 1.
///
/// The text leaves the integer remainder by zero open; it gives 0, as in `NumPy`.
fn modulo(call: &Call<'_>) -> Result {
    let pair = Pair::broadcast(call).rule("C5")?;
    match call.int("fmod")? {
        0 => pair.numbers(floor_remainder, |a, b| {
            let remainder = a.checked_rem(b).unwrap_or(0);
            if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
        }),
        1 => pair.numbers(libm::fmod, |a, b| a.checked_rem(b).unwrap_or(0)),
        other => Err(broken("C4", format!("attribute fmod is {other}; it must be 0 or 1"))),
    }
}

/// Returns the remainder with the sign of `b`, even if it is zero.
fn floor_remainder(a: f64, b: f64) -> f64 {
    let remainder = libm::fmod(a, b);
    if remainder == 0.0 {
        0f64.copysign(b)
    } else if (remainder < 0.0) != (b < 0.0) {
        remainder + b
    } else {
        remainder
    }
}

/// Pow. The result has the type of the base. Integers wrap. A float exponent with an integer value counts as an
/// integer.
fn power(pair: &Pair<'_, '_>) -> Result {
    match (pair.a.element_type().is_float(), pair.b.element_type().is_float()) {
        (true, true) => pair.floats(libm::pow),
        (true, false) => pair.floats_with_integers(float_power),
        (false, false) => pair.integers(integer_power),
        (false, true) => pair.integers_with_floats(|base, exponent| {
            #[expect(clippy::cast_possible_truncation, reason = "the value is an integer within the range")]
            if exponent.fract() == 0.0 && exponent.abs() < 1e30 {
                integer_power(base, exponent as i128)
            } else {
                saturated(libm::pow(base as f64, exponent))
            }
        }),
    }
}

/// Float power of an integer exponent. The sign uses the exact parity, which an `f64` loses beyond 2^53.
fn float_power(base: f64, exponent: i128) -> f64 {
    let magnitude = libm::pow(base.abs(), exponent as f64);
    if base.is_sign_negative() && exponent % 2 != 0 { -magnitude } else { magnitude }
}

/// Integer power modulo 2^128. A negative exponent gives the reciprocal, truncated toward zero. For base 0 that is 0,
/// like division by zero.
fn integer_power(base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut rest) = (1i128, base, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest /= 2;
    }
    result
}

/// Truncates a float power to an `i64`, and saturates at its range.
#[expect(clippy::cast_possible_truncation, reason = "the truncation and saturation are meant")]
fn saturated(power: f64) -> i128 {
    i128::from(power as i64)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::testing::{floats, ints, newest, node, typed};

    #[test]
    fn a_legacy_second_input_may_have_axes_of_one() {
        let a = floats(&[2, 3, 2], &(0..12).map(f64::from).collect::<Vec<_>>());
        let b = floats(&[2, 1], &[0.0, 100.0]);
        let sum = node("Add", 6).input(a).input(b).set("broadcast", 1).set("axis", 0).tensor();
        let expected = [0., 1., 2., 3., 4., 5., 106., 107., 108., 109., 110., 111.];
        assert_eq!((sum.shape(), sum.floats()), (&[2, 3, 2][..], expected.to_vec()));
    }

    #[test]
    fn a_legacy_second_input_of_too_many_axes_is_refused() {
        let rows: [(&[usize], Option<i64>); 3] = [(&[2, 2], Some(1)), (&[1, 1, 1], None), (&[3], Some(2))];
        for (shape, axis) in rows {
            let b = floats(shape, &[1.0, 2.0, 3.0, 4.0][..shape.iter().product()]);
            let mut sub = node("Sub", 1).input(floats(&[3, 2], &[0.0; 6])).input(b).set("broadcast", 1);
            if let Some(axis) = axis {
                sub = sub.set("axis", axis);
            }
            let message = sub.error();
            assert!(message.contains("axis"), "{shape:?}: {message}");
        }
    }

    #[test]
    fn integers_wrap_and_truncate() {
        let int32 = |values: &[f64]| typed(E::Int32, &[values.len()], values);
        let (min, max) = (f64::from(i32::MIN), f64::from(i32::MAX));
        let rows = [
            ("Add", [max, min], [1.0, -1.0], [min, max]),
            ("Sub", [min, 0.0], [1.0, min], [max, min]),
            ("Mul", [max, min], [2.0, -1.0], [-2.0, min]),
            ("Div", [-7.0, min], [2.0, -1.0], [-3.0, min]),
            ("Div", [7.0, 7.0], [-2.0, 0.0], [-3.0, 0.0]),
        ];
        for (operator, a, b, expected) in rows {
            let result = node(operator, 14).input(int32(&a)).input(int32(&b)).tensor();
            assert_eq!(result.floats(), expected, "{operator} of {a:?} and {b:?}");
        }
    }

    #[test]
    fn unsigned_64_bit_products_do_not_overflow() {
        let max = crate::tensor::Tensor::of_integers(E::Uint64, &[1], &[i128::from(u64::MAX)]).unwrap();
        let product = node("Mul", 14).input(max.clone()).input(max).tensor();
        assert_eq!(product.integers(), [1]);
    }

    #[test]
    fn the_remainder_by_zero_and_of_the_least_integer_by_minus_one_is_zero() {
        let (a, b) = (ints(&[2], &[5, i64::MIN]), ints(&[2], &[0, -1]));
        for fmod in [0, 1] {
            for opset in [10, newest()] {
                let result = node("Mod", opset).input(a.clone()).input(b.clone()).set("fmod", fmod).tensor();
                assert_eq!(result.indices(), [0, 0], "fmod {fmod}");
            }
        }
    }

    #[test]
    fn powers_of_integers_wrap_and_keep_every_digit() {
        let base = ints(&[7], &[3, 2, 0, -1, -1, 5, 0]);
        let exponent = ints(&[7], &[39, 64, 0, -3, -4, -1, -1]);
        let result = node("Pow", 13).input(base).input(exponent).tensor();
        assert_eq!(result.indices(), [4_052_555_153_018_976_267, 0, 1, -1, 1, 0, 0]);
    }

    #[test]
    fn the_result_of_a_power_has_the_type_of_the_base() {
        let result =
            node("Pow", 12).input(ints(&[4], &[2, 2, 3, 9])).input(floats(&[4], &[1.9, 0.5, 39.0, -0.5])).tensor();
        // 2^1.9 = 3.73, 2^0.5 = 1.41, 3^39 exceeds 2^53, 9^-0.5 = 1/3.
        assert_eq!((result.element_type(), result.indices()), (E::Int64, vec![3, 1, 4_052_555_153_018_976_267, 0]));
        let odd = (1 << 53) + 1;
        let result =
            node("Pow", 15).input(typed(E::Bfloat16, &[2], &[-1.0, 2.0])).input(ints(&[2], &[odd, -2])).tensor();
        assert_eq!((result.element_type(), result.floats()), (E::Bfloat16, vec![-1.0, 0.25]));
    }

    #[test]
    fn half_precision_rounds_once() {
        // 1 + 2^-8 is a tie between bfloat16's 1 and 1 + 2^-7, and rounds to even.
        let sum = |step: f64| {
            let (a, b) = (typed(E::Bfloat16, &[1], &[1.0]), typed(E::Bfloat16, &[1], &[step]));
            node("Add", 14).input(a).input(b).tensor().floats()
        };
        let tie = 1.0 / 256.0;
        assert_eq!(sum(tie), [1.0]);
        assert_eq!(sum(tie * 1.5), [1.007_812_5]);
    }

    #[test]
    fn empty_tensors_and_scalars_broadcast() {
        let empty = node("Add", 14).input(floats(&[0, 1], &[])).input(floats(&[3], &[1.0; 3])).tensor();
        assert_eq!((empty.shape(), empty.len()), (&[0, 3][..], 0));
        let scalar = node("Div", 14).input(floats(&[], &[1.0])).input(floats(&[], &[0.0])).tensor();
        assert_eq!((scalar.shape(), scalar.floats()), (&[][..], vec![f64::INFINITY]));
    }
}
