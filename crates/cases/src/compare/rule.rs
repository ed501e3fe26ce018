//! Accuracy rules for floating values.

use std::fmt;

use onnx_conformance_reference::dtype::{ElementType, FloatFormat};
use onnx_conformance_reference::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// Largest allowed distance of an element of a floating type from the expected one. All other types are exact, unless
/// they are bounded.
///
/// A case holds the bound of each element as a tensor. The rule of op.yaml, resolved for a type, holds the formula that
/// computes it from the element. The manifest of an exported case holds the type of the tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Accuracy<Bound = Tensor> {
    /// The same value: NaN equals NaN, and the sign of a zero is ignored.
    Exact,
    /// The same value, zeros with the same sign.
    ExactZeroSign,
    /// At most this many representable values away.
    Ulp(u64),
    /// At most this far away.
    Absolute(f64),
    /// At most this multiple of the type's unit roundoff times `1 + |expected|` away.
    Roundoffs(f64),
    /// Upstream's rule: at most `absolute + relative * |expected|` away.
    Close {
        /// rtol.
        relative: f64,
        /// atol.
        absolute: f64,
    },
    /// At most the bound of the element away.
    Bounded(Bound),
}

/// Relative tolerance of upstream's runner, its default rtol.
pub const UPSTREAM_RELATIVE: f64 = 1e-3;

/// Absolute tolerance of upstream's runner, its default atol.
pub const UPSTREAM_ABSOLUTE: f64 = 1e-7;

/// Default rule of upstream's runner.
pub const UPSTREAM: Accuracy = Accuracy::Close { relative: UPSTREAM_RELATIVE, absolute: UPSTREAM_ABSOLUTE };

impl<Bound> Accuracy<Bound> {
    /// Converts the bounds of the rule.
    pub fn try_map_bound<Other, Error>(
        &self,
        bound: impl FnOnce(&Bound) -> Result<Other, Error>,
    ) -> Result<Accuracy<Other>, Error> {
        Ok(match self {
            Accuracy::Exact => Accuracy::Exact,
            Accuracy::ExactZeroSign => Accuracy::ExactZeroSign,
            Accuracy::Ulp(max) => Accuracy::Ulp(*max),
            Accuracy::Absolute(distance) => Accuracy::Absolute(*distance),
            Accuracy::Roundoffs(multiple) => Accuracy::Roundoffs(*multiple),
            Accuracy::Close { relative, absolute } => Accuracy::Close { relative: *relative, absolute: *absolute },
            Accuracy::Bounded(bounds) => Accuracy::Bounded(bound(bounds)?),
        })
    }
}

/// Smallest relative tolerance of upstream's runner for bfloat16: two units in the last place.
const BFLOAT16_RELATIVE: f64 = 0.015_625;

impl Accuracy {
    /// Returns true if `actual` is close enough. Both are of the floating type `element`, as value and stored bits.
    pub(crate) fn holds(&self, element: ElementType, expected: (f64, u64), actual: (f64, u64)) -> bool {
        let ((want, want_bits), (got, got_bits)) = (expected, actual);
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        if matches!(self, Accuracy::ExactZeroSign) && want == 0.0 && got == 0.0 {
            return want_bits == got_bits;
        }
        if want == got {
            return true;
        }
        // No finite number is near an infinity. But rounding may turn one of the largest numbers into an infinity.
        if want.is_infinite() {
            return false;
        }
        if got.is_infinite() {
            return self.ulps_hold(element, want_bits, got_bits);
        }
        match self {
            // `compare_bounded` applies the bounds of elements.
            Accuracy::Exact | Accuracy::ExactZeroSign | Accuracy::Bounded(_) => false,
            Accuracy::Ulp(_) => self.ulps_hold(element, want_bits, got_bits),
            Accuracy::Absolute(_) | Accuracy::Roundoffs(_) | Accuracy::Close { .. } => {
                (got - want).abs() <= self.distance(element, want)
            }
        }
    }

    /// Returns true if the rule allows any distance.
    pub(crate) fn has_bound(&self) -> bool {
        match self {
            Accuracy::Exact | Accuracy::ExactZeroSign => false,
            Accuracy::Ulp(most) => *most > 0,
            Accuracy::Absolute(most) | Accuracy::Roundoffs(most) => *most > 0.0,
            Accuracy::Close { relative, absolute } => *relative > 0.0 || *absolute > 0.0,
            Accuracy::Bounded(_) => true,
        }
    }

    /// Returns the largest allowed distance from an expected value, for rules that have one.
    pub(crate) fn distance(&self, element: ElementType, expected: f64) -> f64 {
        match self {
            Accuracy::Exact | Accuracy::ExactZeroSign | Accuracy::Ulp(_) | Accuracy::Bounded(_) => 0.0,
            Accuracy::Absolute(distance) => *distance,
            Accuracy::Roundoffs(multiple) => {
                let roundoff = element.float_format().map_or(0.0, FloatFormat::unit_roundoff);
                multiple * roundoff * (1.0 + expected.abs())
            }
            Accuracy::Close { relative, absolute } => {
                let relative =
                    if element == ElementType::Bfloat16 { relative.max(BFLOAT16_RELATIVE) } else { *relative };
                absolute + relative * expected.abs()
            }
        }
    }

    fn ulps_hold(&self, element: ElementType, want: u64, got: u64) -> bool {
        match (self, ulps(element, want, got)) {
            (Accuracy::Ulp(most), Some(distance)) => distance <= *most,
            _ => false,
        }
    }
}

/// Counts the representable values between two elements; `None` for NaN.
pub(crate) fn ulps(element: ElementType, a: u64, b: u64) -> Option<u64> {
    let distance = element.ordered(a)?.checked_sub(element.ordered(b)?)?;
    u64::try_from(distance.unsigned_abs()).ok()
}

impl<Bound> fmt::Display for Accuracy<Bound> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accuracy::Exact => f.write_str("exact"),
            Accuracy::ExactZeroSign => f.write_str("exact, with the sign of zeros"),
            Accuracy::Ulp(most) => write!(f, "{most} ULP"),
            Accuracy::Absolute(distance) => write!(f, "|actual - expected| <= {distance:e}"),
            Accuracy::Roundoffs(multiple) => {
                write!(f, "|actual - expected| <= {multiple} unit roundoffs of 1 + |expected|")
            }
            Accuracy::Close { relative, absolute } => {
                write!(f, "|actual - expected| <= {absolute:e} + {relative:e} * |expected|")
            }
            Accuracy::Bounded(_) => f.write_str("the bound of each element"),
        }
    }
}
