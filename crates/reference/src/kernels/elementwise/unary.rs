//! Element-wise functions of one number.

use crate::infer::{elements, rules};
use crate::kernels::elementwise::map::{map_floats, map_numbers};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Abs", 1, |call| map_numbers(call, f64::abs, i128::wrapping_abs))
        .shape(rules::same)
        .with_elements(elements::absolute),
    Kernel::new("Acos", 7, |call| map_floats(call, libm::acos)).shape(rules::same),
    Kernel::new("Acosh", 9, |call| map_floats(call, libm::acosh)).shape(rules::same),
    Kernel::new("Asin", 7, |call| map_floats(call, libm::asin)).shape(rules::same),
    Kernel::new("Asinh", 9, |call| map_floats(call, libm::asinh)).shape(rules::same),
    Kernel::new("Atan", 7, |call| map_floats(call, libm::atan)).shape(rules::same),
    Kernel::new("Atanh", 9, |call| map_floats(call, libm::atanh)).shape(rules::same),
    Kernel::new("Ceil", 1, |call| map_floats(call, f64::ceil)).shape(rules::same),
    Kernel::new("Cos", 7, |call| map_floats(call, libm::cos)).shape(rules::same),
    Kernel::new("Cosh", 9, |call| map_floats(call, libm::cosh)).shape(rules::same),
    Kernel::new("Erf", 9, |call| map_floats(call, libm::erf)).shape(rules::same),
    Kernel::new("Exp", 1, |call| map_floats(call, libm::exp)).shape(rules::same),
    Kernel::new("Floor", 1, |call| map_floats(call, f64::floor)).shape(rules::same),
    Kernel::new("Log", 1, |call| map_floats(call, libm::log)).shape(rules::same),
    Kernel::new("Neg", 1, |call| map_numbers(call, |value| -value, i128::wrapping_neg))
        .shape(rules::same)
        .with_elements(elements::negated),
    Kernel::new("Reciprocal", 1, |call| map_floats(call, |value| 1.0 / value)).shape(rules::same),
    Kernel::new("Round", 11, |call| map_floats(call, f64::round_ties_even)).shape(rules::same),
    Kernel::new("Sign", 9, sign).shape(rules::same),
    Kernel::new("Sin", 7, |call| map_floats(call, libm::sin)).shape(rules::same),
    Kernel::new("Sinh", 9, |call| map_floats(call, libm::sinh)).shape(rules::same),
    Kernel::new("Sqrt", 1, |call| map_floats(call, f64::sqrt)).shape(rules::same),
    Kernel::new("Tan", 7, |call| map_floats(call, libm::tan)).shape(rules::same),
    Kernel::new("Tanh", 1, |call| map_floats(call, libm::tanh)).shape(rules::same),
];

/// Returns -1, 0 or 1. The text leaves NaN open; it stays NaN, as in `NumPy`.
fn sign(call: &Call<'_>) -> Result {
    let float = |value: f64| if value == 0.0 || value.is_nan() { value } else { value.signum() };
    map_numbers(call, float, i128::signum)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::testing::{floats, node, typed};

    /// Returns the results of an operator, which have the type of the input.
    fn apply(operator: &str, opset: i64, element: E, input: &[f64]) -> Vec<f64> {
        let result = node(operator, opset).input(typed(element, &[input.len()], input)).tensor();
        assert_eq!(result.element_type(), element);
        result.floats()
    }

    #[test]
    fn the_sign_of_nan_is_nan() {
        let signs = apply("Sign", 13, E::Float, &[-3.0, f64::NAN]);
        assert_eq!(signs[0], -1.0);
        assert!(signs[1].is_nan());
    }

    #[test]
    fn the_least_integer_has_no_opposite() {
        assert_eq!(apply("Abs", 6, E::Int8, &[-128.0, -127.0, 5.0]), [-128.0, 127.0, 5.0]);
        assert_eq!(apply("Neg", 6, E::Int8, &[-128.0, 127.0, 0.0]), [-128.0, -127.0, 0.0]);
        assert_eq!(apply("Sign", 9, E::Int32, &[f64::from(i32::MIN), 0.0, 9.0]), [-1.0, 0.0, 1.0]);
    }

    #[test]
    fn the_error_function_of_integers_truncates() {
        // erf(1) = 0.84 and erf(-1) = -0.84 truncate to 0; from 6 on erf is 1 to the last digit of a double.
        assert_eq!(apply("Erf", 9, E::Int32, &[0.0, 1.0, -1.0, 6.0, -6.0]), [0.0, 0.0, 0.0, 1.0, -1.0]);
    }

    #[test]
    fn functions_of_a_half_round_once() {
        // exp(1) = 2.71828 is between bfloat16's 2.703125 and 2.71875, and closer to the latter.
        assert_eq!(apply("Exp", 13, E::Bfloat16, &[1.0]), [2.71875]);
        // 1/3 = 0.33333 is 1365.33 steps of 2^-12 in float16.
        assert_eq!(apply("Reciprocal", 6, E::Float16, &[3.0]), [1365.0 / 4096.0]);
    }

    #[test]
    fn scalars_and_empty_tensors_keep_their_shape() {
        for shape in [&[][..], &[0], &[2, 0, 3]] {
            let values = if shape.is_empty() { &[1.0][..] } else { &[] };
            assert_eq!(node("Floor", 13).input(floats(shape, values)).tensor().shape(), shape);
        }
    }

    #[test]
    fn many_elements_are_all_mapped() {
        let values: Vec<f64> = (0..70_000).map(f64::from).collect();
        let result = node("Neg", 13).input(floats(&[70_000], &values)).tensor().floats();
        assert!(result.iter().zip(&values).all(|(result, value)| *result == -value));
    }
}
