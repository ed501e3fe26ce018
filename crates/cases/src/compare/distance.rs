//! Distance of a wrong tensor from the expected one.

use std::fmt;

use onnx_conformance_reference::dtype::Kind;
use onnx_conformance_reference::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::compare::rule::ulps;

/// Largest difference, in representable values, of floats that differ in the last bits only.
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

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::dtype::ElementType;

    use super::*;

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
}
