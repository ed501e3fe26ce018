//! Distance of a wrong tensor from the expected one.

use std::fmt;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::compare::rule::ulps;

/// Largest difference, in representable values, of floats that differ only in the last bits.
const LAST_BITS: u64 = 4;

/// Largest small error, as a fraction of the largest expected magnitude.
const SMALL: f64 = 1e-3;

/// Largest width of integers that count as rounded results, as in quantization. Wider ones are positions.
const QUANTIZED_BITS: u32 = 16;

/// Distance of a mismatch from the expected output, by its worst element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// At most 4 representable values, or 1 of an integer of 16 bits or less.
    LastBits,
    /// At most a thousandth of the largest expected magnitude.
    Small,
    /// Anything else.
    Far,
}

impl Distance {
    /// All distances, nearest first.
    pub const ALL: [Distance; 3] = [Distance::LastBits, Distance::Small, Distance::Far];

    /// Classifies the distance of two tensors of one type and shape.
    pub(super) fn between(expected: &Tensor, actual: &Tensor) -> Distance {
        let element = expected.element_type();
        let is_float = element.kind() == Kind::Float;
        let is_quantized = matches!(element.kind(), Kind::Signed | Kind::Unsigned) && element.bits() <= QUANTIZED_BITS;
        if !is_float && !is_quantized {
            return Distance::Far;
        }
        let (wants, gots) = (expected.floats(), actual.floats());
        let largest = wants.iter().filter(|want| want.is_finite()).fold(0.0, |most: f64, want| most.max(want.abs()));
        let element_distance = |(at, (&want, &got)): (usize, (&f64, &f64))| {
            let error = (want - got).abs();
            let is_near = if is_float {
                ulps(element, expected.bits_at(at), actual.bits_at(at)).is_some_and(|ulps| ulps <= LAST_BITS)
            } else {
                error <= 1.0
            };
            if (want.is_nan() && got.is_nan()) || want == got || is_near {
                Distance::LastBits
            } else if is_float && error <= SMALL * largest {
                Distance::Small
            } else {
                Distance::Far
            }
        };
        wants.iter().zip(&gots).enumerate().map(element_distance).max().unwrap_or(Distance::Far)
    }

    /// Returns the name in messages: `in the last bits`.
    pub fn name(self) -> &'static str {
        match self {
            Distance::LastBits => "in the last bits",
            Distance::Small => "small",
            Distance::Far => "far",
        }
    }
}

/// Maximum multiple of its bound for an inexact element: a few more roundings than the bound allows.
const NEAR_BOUNDS: u64 = 4;

/// Returns true if an element that is too far from the expected one, by its value and the allowed one in representable values, is
/// only inexact: both are finite, have the same sign, and are near each other.
pub(super) fn is_inexact(element: ElementType, (want, got): (f64, f64), ulps: u64, allowed: u64) -> bool {
    want.is_finite()
        && got.is_finite()
        && want.is_sign_negative() == got.is_sign_negative()
        && ulps <= near_ulps(element).max(NEAR_BOUNDS.saturating_mul(allowed))
}

/// Returns the largest distance of an element that is only inexact, in representable values: 64 for types of 32 bits
/// and more, at most 2^-17 of an element of float; 4 for types of 16 bits, 2^-8 of an element of float16 and 2^-5 of
/// bfloat16; 1 for smaller types.
fn near_ulps(element: ElementType) -> u64 {
    match element.bits() {
        0..=8 => 1,
        9..=16 => LAST_BITS,
        _ => 64,
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::types::ValueType;
    use onnx_conformance_reference::value::{Sequence, Value};

    use super::*;
    use crate::compare::{Accuracy, all_of, compare, compare_bounded};

    fn distance(element: ElementType, expected: &[f64], actual: &[f64]) -> Distance {
        let tensor = |values: &[f64]| Tensor::of_floats(element, &[values.len()], values).unwrap();
        Distance::between(&tensor(expected), &tensor(actual))
    }

    #[test]
    fn the_worst_element_decides() {
        let float = ElementType::Float;
        let next = f64::from(f32::EPSILON);
        assert_eq!(distance(float, &[1.0, 2.0], &[1.0 + 4.0 * next, 2.0]), Distance::LastBits);
        assert_eq!(distance(float, &[1.0, 2.0], &[1.0 + 5.0 * next, 2.0]), Distance::Small);
        assert_eq!(distance(float, &[1.0, 2.0], &[1.002, 2.0]), Distance::Small);
        assert_eq!(distance(float, &[1.0, 2.0], &[1.003, 2.0]), Distance::Far);
        assert_eq!(distance(float, &[0.0, 2.0], &[0.001, 2.003]), Distance::Far);
        assert_eq!(distance(float, &[f64::NAN, 2.0], &[f64::NAN, 2.001]), Distance::Small);
    }

    #[test]
    fn nan_and_infinities_are_far() {
        let float = ElementType::Float;
        assert_eq!(distance(float, &[f64::NAN, 2.0], &[0.0, 2.0]), Distance::Far);
        assert_eq!(distance(float, &[1.0, 2.0], &[f64::NAN, 2.0]), Distance::Far);
        assert_eq!(distance(float, &[f64::INFINITY, 2.0], &[2.0, 2.0]), Distance::Far);
        assert_eq!(distance(float, &[0.5, 2.0], &[f64::INFINITY, 2.0]), Distance::Far);
    }

    #[test]
    fn quantized_numbers_may_be_rounded_but_positions_may_not() {
        assert_eq!(distance(ElementType::Uint8, &[5.0, 9.0], &[6.0, 9.0]), Distance::LastBits);
        assert_eq!(distance(ElementType::Int8, &[5.0, 900.0 / 9.0], &[3.0, 100.0]), Distance::Far);
        assert_eq!(distance(ElementType::Int64, &[5.0], &[6.0]), Distance::Far);
        assert_eq!(distance(ElementType::Bool, &[0.0], &[1.0]), Distance::Far);
    }

    fn tensor(element: ElementType, values: &[f64]) -> Value {
        Value::Tensor(Tensor::of_floats(element, &[values.len()], values).unwrap())
    }

    /// Checks the distance of a mismatch in representable values; `None` if the value is not only inexact.
    fn check(expected: &Value, actual: &Value, accuracy: &Accuracy, ulps: Option<u64>) {
        let difference = compare(expected, actual, accuracy).unwrap_err();
        assert_eq!(difference.ulps, ulps, "{}", difference.message);
    }

    fn check_floats(expected: &[f64], actual: &[f64], accuracy: &Accuracy, ulps: Option<u64>) {
        check(&tensor(ElementType::Float, expected), &tensor(ElementType::Float, actual), accuracy, ulps);
    }

    /// 1 and `ulps` representable values of a type above it.
    fn above_one(element: ElementType, ulps: u32) -> (Value, Value) {
        let ulp = element.float_format().unwrap().ulp(1.0).unwrap();
        (tensor(element, &[1.0]), tensor(element, &[1.0 + f64::from(ulps) * ulp]))
    }

    #[test]
    fn an_inexact_value_has_the_distance_of_its_worst_element() {
        let ulp = f64::from(f32::EPSILON);
        let expected = [1.0, 2.0, 0.0, f64::NAN, f64::INFINITY];
        let actual = [1.0 + 3.0 * ulp, 2.0 + 4.0 * ulp, -0.0, f64::NAN, f64::INFINITY];
        check_floats(&expected, &actual, &Accuracy::Exact, Some(3));
        check_floats(&[1.0, 0.5], &[1.0 + ulp, 0.5 - 3.0 * ulp], &Accuracy::Ulp(2), Some(12));
        check_floats(&[f64::from(f32::from_bits(1))], &[f64::from(f32::from_bits(3))], &Accuracy::Exact, Some(2));
        check_floats(&[0.0], &[f64::from(f32::from_bits(1))], &Accuracy::Exact, Some(1));
    }

    #[test]
    fn special_values_and_other_signs_have_no_distance() {
        let (near, most, least) = (1.0 + f64::from(f32::EPSILON), f64::from(f32::MAX), f64::from(f32::from_bits(1)));
        for (expected, actual) in [
            (f64::NAN, 1.0),
            (1.0, f64::NAN),
            (f64::INFINITY, most),
            (most, f64::INFINITY),
            (f64::INFINITY, f64::NEG_INFINITY),
            (least, -least),
            (0.0, -least),
            (-0.0, least),
            (0.0, 1e-9),
        ] {
            check_floats(&[expected], &[actual], &Accuracy::Exact, None);
            check_floats(&[1.0, expected], &[near, actual], &Accuracy::Exact, None);
        }
        check_floats(&[1.0, 0.0], &[near, -0.0], &Accuracy::ExactZeroSign, None);
    }

    #[test]
    fn other_types_and_shapes_have_no_distance() {
        let integer = |value| Value::Tensor(Tensor::of_integers(ElementType::Int8, &[1], &[value]).unwrap());
        check(&integer(5), &integer(6), &Accuracy::Exact, None);
        let (one, two) = (tensor(ElementType::Float, &[1.0]), tensor(ElementType::Float, &[1.0, 1.0]));
        check(&one, &two, &Accuracy::Exact, None);
        check(&one, &tensor(ElementType::Double, &[1.0]), &Accuracy::Exact, None);
    }

    #[test]
    fn the_largest_distance_depends_on_the_type_and_the_bound() {
        for (element, most) in
            [(ElementType::Float, 64), (ElementType::Double, 64), (ElementType::Float16, 4), (ElementType::Bfloat16, 4)]
        {
            let (one, near) = above_one(element, most);
            check(&one, &near, &Accuracy::Exact, Some(u64::from(most)));
            let (one, far) = above_one(element, most + 1);
            check(&one, &far, &Accuracy::Exact, None);
            let (one, far) = above_one(element, 5 * most);
            check(&one, &far, &Accuracy::Ulp(u64::from(most)), None);
        }
        let (one, near) = above_one(ElementType::Float8e4m3fn, 1);
        check(&one, &near, &Accuracy::Exact, Some(1));
        let (one, far) = above_one(ElementType::Float8e4m3fn, 2);
        check(&one, &far, &Accuracy::Exact, None);
        let (one, wide) = above_one(ElementType::Float, 400);
        check(&one, &wide, &Accuracy::Ulp(100), Some(400));
        check(&one, &wide, &Accuracy::Ulp(99), None);
        // A bound in other units does not count: near 0 it is many representable values.
        check(&one, &wide, &Accuracy::Absolute(f64::from(f32::EPSILON) * 399.0), None);
    }

    #[test]
    fn only_elements_beyond_their_bound_count() {
        let bound = Tensor::of_floats(ElementType::Double, &[2], &[1e-3, 0.0]).unwrap();
        let expected = Tensor::of_floats(ElementType::Float, &[2], &[1.0, 1.0]).unwrap();
        let actual = tensor(ElementType::Float, &[1.0005, 1.0 + f64::from(f32::EPSILON)]);
        assert_eq!(compare_bounded(&expected, &bound, &actual).unwrap_err().ulps, Some(1));
    }

    #[test]
    fn every_item_and_every_output_counts() {
        let (one, near) = above_one(ElementType::Float, 1);
        let (_, less_near) = above_one(ElementType::Float, 9);
        let far = tensor(ElementType::Float, &[7.0]);
        let list = |items: &[&Value]| {
            let items = items.iter().copied().cloned().collect();
            Value::Sequence(Sequence::new(ValueType::Tensor(ElementType::Float), items))
        };
        let expected = list(&[&one, &one, &one]);
        check(&expected, &list(&[&near, &one, &less_near]), &Accuracy::Exact, Some(9));
        check(&expected, &list(&[&near, &one, &far]), &Accuracy::Exact, None);
        let outputs = |actual: &[&Value]| {
            let results = actual.iter().map(|actual| compare(&one, actual, &Accuracy::Exact));
            all_of(results).unwrap_err()
        };
        assert_eq!(outputs(&[&near, &less_near]).ulps, Some(9));
        let mixed = outputs(&[&near, &far, &one]);
        assert!(mixed.ulps.is_none() && mixed.message.contains("1.0000001"), "the first difference: {mixed:?}");
    }
}
