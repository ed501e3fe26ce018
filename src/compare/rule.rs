//! How exact a value must be.

use std::fmt;

use onnx_conformance_reference::dtype::{ElementType, FloatFormat};

/// How far an element of a floating type may be from the expected one. All other types are exact.
#[derive(Clone, Debug, PartialEq)]
pub enum Accuracy {
    /// The same value: NaN equals NaN, and the sign of a zero does not count.
    Exact,
    /// The same value, zeros with the same sign.
    ExactZeroSign,
    /// At most this many representable values away.
    Ulp(u64),
    /// At most this far away.
    Absolute(f64),
    /// At most this multiple of the type's unit roundoff away, times one and the expected value's size.
    Roundoffs(f64),
    /// Upstream's rule: at most `absolute + relative * |expected|` away.
    Close {
        /// rtol.
        relative: f64,
        /// atol.
        absolute: f64,
    },
}

/// The relative tolerance below which upstream's runner does not go for bfloat16: two units in the last place.
const BFLOAT16_RELATIVE: f64 = 0.015_625;

impl Accuracy {
    /// Whether `actual` is close enough, both of the floating type `element`, given as values and stored bits.
    pub(crate) fn holds(&self, element: ElementType, expected: (f64, u64), actual: (f64, u64)) -> bool {
        let ((want, want_bits), (got, got_bits)) = (expected, actual);
        if want.is_nan() || got.is_nan() {
            return want.is_nan() && got.is_nan();
        }
        if *self == Accuracy::ExactZeroSign && want == 0.0 && got == 0.0 {
            return want_bits == got_bits;
        }
        if want == got {
            return true;
        }
        // An infinity is no number that another could be near to; but rounding may reach it from the largest numbers.
        if want.is_infinite() {
            return false;
        }
        if got.is_infinite() {
            return self.ulps_hold(element, want_bits, got_bits);
        }
        match self {
            Accuracy::Exact | Accuracy::ExactZeroSign => false,
            Accuracy::Ulp(_) => self.ulps_hold(element, want_bits, got_bits),
            Accuracy::Absolute(_) | Accuracy::Roundoffs(_) | Accuracy::Close { .. } => {
                (got - want).abs() <= self.distance(element, want)
            }
        }
    }

    /// The largest distance allowed from an expected value, for rules that have one.
    pub(crate) fn distance(&self, element: ElementType, expected: f64) -> f64 {
        match self {
            Accuracy::Exact | Accuracy::ExactZeroSign | Accuracy::Ulp(_) => 0.0,
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

/// How many representable values lie between two elements; nothing for NaN.
pub(crate) fn ulps(element: ElementType, a: u64, b: u64) -> Option<u64> {
    let distance = element.ordered(a)?.checked_sub(element.ordered(b)?)?;
    u64::try_from(distance.unsigned_abs()).ok()
}

impl fmt::Display for Accuracy {
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
        }
    }
}
