//! Conversions between an element's bits and the wide types that kernels compute in.
//!
//! The methods never fail, so a kernel's inner loop has nothing to unwrap. On a complex type they convert one
//! component. `string` holds no number: it reads as NaN or 0 and is written as 0.

use super::float_format::power_of_two;
use super::{ElementType, ElementType as E, Kind, RoundMode, round_e8m0};

impl ElementType {
    /// The element's value: exact, except that integers beyond 2^53 round to nearest even. `bool` is 0 or 1.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "an element's bits are no wider than its type")]
    pub const fn decode_f64(self, bits: u64) -> f64 {
        match self.component() {
            E::Double => f64::from_bits(bits),
            E::Float => f32::from_bits(bits as u32) as f64,
            E::Bfloat16 => f32::from_bits((bits as u16 as u32) << 16) as f64,
            other => match (other.kind(), other.float_format()) {
                (Kind::Float, Some(format)) => format.decode(bits),
                (Kind::Signed | Kind::Unsigned | Kind::Bool, _) => other.decode_i128(bits) as f64,
                _ => f64::NAN,
            },
        }
    }

    /// The value of an integer or `bool`, exact. A floating value is truncated toward zero; its NaN is 0.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a saturating truncation is what a float's integer part is")]
    pub const fn decode_i128(self, bits: u64) -> i128 {
        match self.kind() {
            Kind::Signed | Kind::Unsigned => self.decode_integer(bits),
            Kind::Bool => (bits as u8 != 0) as i128,
            Kind::Float | Kind::Complex => self.decode_f64(bits) as i128,
            Kind::String => 0,
        }
    }

    /// The nearest value of the element type, ties to even: `decode(encode(x))`.
    #[inline]
    pub const fn round(self, x: f64) -> f64 {
        self.decode_f64(self.encode(x))
    }

    /// `x` rounded once to the nearest element, ties to even; [`Self::truncate`] for integers and `bool`.
    ///
    /// Overflow gives infinity, or NaN if the type has no infinity, or the largest finite number if it has neither, as
    /// in Cast with `saturate` 0. Every NaN becomes the same NaN; `float4e2m1` and `float6*` have none and give
    /// negative zero. `float8e8m0` rounds up, Cast's default.
    #[inline]
    pub const fn encode(self, x: f64) -> u64 {
        self.encode_with(x, false)
    }

    /// `x` as Cast converts it with `saturate` 1, its default. The 8-bit floating-point types clamp overflow and
    /// infinities to their largest finite number; other types round as [`Self::encode`] does.
    ///
    /// Before version 24, Cast converts an infinity to NaN in the `fnuz` types, as [`Self::encode`] does.
    #[inline]
    pub const fn encode_saturating(self, x: f64) -> u64 {
        self.encode_with(
            x,
            matches!(self, E::Float8e4m3fn | E::Float8e4m3fnuz | E::Float8e5m2 | E::Float8e5m2fnuz | E::Float8e8m0),
        )
    }

    #[inline]
    const fn encode_with(self, x: f64, saturate: bool) -> u64 {
        match self.component() {
            E::Double if x.is_nan() => f64::NAN.to_bits(),
            E::Double => x.to_bits(),
            E::Float => round_f32(x),
            E::Float8e8m0 => round_e8m0(x, RoundMode::Up, saturate),
            other => match (other.kind(), other.float_format()) {
                (Kind::Float, Some(format)) => format.encode(x, saturate),
                _ => other.truncate(x),
            },
        }
    }

    /// The integer part of `x`, toward zero; for `bool`, `x != 0`; [`Self::encode`] for the floating types.
    ///
    /// Cast does not define values out of an integer type's range. Here they clamp to the range, and NaN gives 0.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a saturating truncation is meant")]
    pub const fn truncate(self, x: f64) -> u64 {
        match self.kind() {
            Kind::Signed | Kind::Unsigned => self.saturate(x as i128),
            Kind::Bool => (x != 0.0) as u64,
            Kind::Float | Kind::Complex => self.encode(x),
            Kind::String => 0,
        }
    }

    /// `value` modulo 2^width, in two's complement; for `bool`, `value != 0`; [`Self::encode_i128`] for the floating
    /// types.
    #[inline]
    pub const fn wrap(self, value: i128) -> u64 {
        match self.kind() {
            Kind::Signed | Kind::Unsigned => self.wrap_integer(value),
            Kind::Bool => (value != 0) as u64,
            Kind::Float | Kind::Complex => self.encode_i128(value),
            Kind::String => 0,
        }
    }

    /// `value` clamped to an integer type's range; for `bool`, `value != 0`; for the floating types one rounding that
    /// saturates as [`Self::encode_saturating`] does.
    #[inline]
    pub const fn saturate(self, value: i128) -> u64 {
        match self.kind() {
            Kind::Signed | Kind::Unsigned => self.wrap_integer(self.clamp_integer(value)),
            Kind::Float if self.bits() < 32 => self.encode_saturating(sticky_f64(value)),
            _ => self.wrap(value),
        }
    }

    /// `value` rounded once to the nearest element of a floating type, as by [`Self::encode`] but without a rounded
    /// `f64` in between; [`Self::wrap`] for the other types.
    #[inline]
    pub const fn encode_i128(self, value: i128) -> u64 {
        match self.component() {
            E::Double => (value as f64).to_bits(),
            E::Float => (value as f32).to_bits() as u64,
            other if other.is_float() => other.encode(sticky_f64(value)),
            other => other.wrap(value),
        }
    }

    /// Rank of the element among the values of its type: the difference of two ranks is their distance in ULPs. An
    /// integer is its own rank, both zeros have rank 0, and infinity follows the largest finite number. NaN and
    /// `string` have none.
    #[inline]
    pub const fn ordered(self, bits: u64) -> Option<i128> {
        match self.float_format() {
            Some(format) => format.ordered(bits),
            None if matches!(self.kind(), Kind::String) => None,
            None => Some(self.decode_i128(bits)),
        }
    }

    /// The largest finite value of a floating type, or of one component of a complex type.
    pub const fn max_finite(self) -> Option<f64> {
        match self.float_format() {
            Some(format) => Some(format.max_finite()),
            None => None,
        }
    }
}

/// The `f64` that rounds to the same element as `value` in every narrower floating type.
///
/// It is `value` truncated to 53 bits, with the last bit set if anything was cut off ("round to odd"). So truncation
/// neither creates nor breaks a tie of a type with at most 51 bits.
#[inline]
pub const fn sticky_f64(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let excess = (u128::BITS - magnitude.leading_zeros()).saturating_sub(f64::MANTISSA_DIGITS);
    let kept = magnitude >> excess;
    let sticky = (kept << excess != magnitude) as u128;
    let cut = (kept | sticky) as f64 * power_of_two(excess.cast_signed());
    if value < 0 { -cut } else { cut }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the hardware's rounding to nearest even is meant")]
const fn round_f32(x: f64) -> u64 {
    let bits = if x.is_nan() { f32::NAN.to_bits() } else { (x as f32).to_bits() };
    bits as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEGERS: [ElementType; 12] = [
        E::Uint2,
        E::Int2,
        E::Uint4,
        E::Int4,
        E::Uint8,
        E::Int8,
        E::Uint16,
        E::Int16,
        E::Uint32,
        E::Int32,
        E::Uint64,
        E::Int64,
    ];

    fn range(element: ElementType) -> (i128, i128) {
        (element.min_value().unwrap(), element.max_value().unwrap())
    }

    #[test]
    fn knows_the_ranges_of_the_integers() {
        let ranges = [
            (0, 3),
            (-2, 1),
            (0, 15),
            (-8, 7),
            (0, 0xFF),
            (-0x80, 0x7F),
            (0, 0xFFFF),
            (-0x8000, 0x7FFF),
            (0, i128::from(u32::MAX)),
            (i128::from(i32::MIN), i128::from(i32::MAX)),
            (0, i128::from(u64::MAX)),
            (i128::from(i64::MIN), i128::from(i64::MAX)),
        ];
        assert_eq!(INTEGERS.map(range), ranges);
        assert_eq!(range(E::Bool), (0, 1));
        assert_eq!([E::Float.min_value(), E::String.max_value()], [None; 2]);
    }

    #[test]
    fn stores_small_integers_in_a_sign_extended_byte() {
        let rows = [
            (E::Int4, -1, 0xFF),
            (E::Int2, -2, 0xFE),
            (E::Int8, -56, 0xC8),
            (E::Int8, 200, 0xC8),
            (E::Uint4, -1, 0x0F),
            (E::Uint2, 6, 2),
            (E::Int16, -1, 0xFFFF),
            (E::Int32, -1, 0xFFFF_FFFF),
            (E::Int64, -1, u64::MAX),
            (E::Uint64, -1, u64::MAX),
            (E::Int32, 1 << 31, 0x8000_0000),
            (E::Int64, i128::MAX, u64::MAX),
            (E::Bool, 256, 1),
            (E::Bool, 0, 0),
        ];
        for (element, value, bits) in rows {
            assert_eq!(element.wrap(value), bits, "{value} as {element}");
        }
        assert_eq!(E::Int4.decode_i128(0x0F), -1);
        assert_eq!(E::Uint4.decode_i128(0xF3), 3);
        assert_eq!(E::Int2.decode_f64(0xFE), -2.0);
    }

    #[test]
    fn wraps_every_small_integer_modulo_its_range() {
        for element in INTEGERS.into_iter().filter(|t| t.bits() <= 16) {
            let (min, max) = range(element);
            let period = 1_i128 << element.bits();
            for value in min..=max {
                let bits = element.wrap(value);
                assert_eq!(element.decode_i128(bits), value, "{element}");
                assert_eq!(element.truncate(element.decode_f64(bits)), bits, "{value} as {element}");
                for turns in [-3, -1, 1, 2, 1 << 40] {
                    assert_eq!(element.wrap(value + turns * period), bits, "{value} and {turns} turns as {element}");
                }
            }
        }
    }

    #[test]
    fn saturates_integers_at_both_ends() {
        for element in INTEGERS {
            let (min, max) = range(element);
            for (value, expected) in
                [(min - 1, min), (min, min), (max, max), (max + 1, max), (i128::MIN, min), (i128::MAX, max)]
            {
                assert_eq!(element.decode_i128(element.saturate(value)), expected, "{value} as {element}");
            }
        }
        assert_eq!(E::Bool.saturate(-7), 1);
    }

    #[test]
    fn truncates_toward_zero() {
        let rows = [
            (E::Int8, -1.9, -1),
            (E::Int8, 127.9, 127),
            (E::Int8, -0.5, 0),
            (E::Uint8, 255.9, 255),
            (E::Int32, 2_147_483_647.5, 2_147_483_647),
            (E::Int64, -9_223_372_036_854_775_808.0, i128::from(i64::MIN)),
            (E::Uint64, 18_446_744_073_709_549_568.0, 18_446_744_073_709_549_568),
            (E::Int64, 1e300, i128::from(i64::MAX)),
            (E::Uint8, f64::NEG_INFINITY, 0),
            (E::Int4, f64::NAN, 0),
            (E::Bool, -0.0, 0),
            (E::Bool, 0.1, 1),
            (E::Bool, f64::NAN, 1),
        ];
        for (element, x, expected) in rows {
            assert_eq!(element.decode_i128(element.truncate(x)), expected, "{x} as {element}");
            assert_eq!(element.encode(x), element.truncate(x), "{x} as {element}");
        }
    }

    #[test]
    fn rounds_wide_floats_at_ties_and_ends() {
        let edge = libm::ldexp(1.0, 128) - libm::ldexp(1.0, 103);
        let rows = [
            (1.0 + libm::ldexp(1.0, -24), 0x3F80_0000),
            ((1.0 + libm::ldexp(1.0, -24)).next_up(), 0x3F80_0001),
            (1.0 + 3.0 * libm::ldexp(1.0, -24), 0x3F80_0002),
            (libm::ldexp(1.0, -150), 0),
            (libm::ldexp(1.0, -150).next_up(), 1),
            (edge.next_down(), 0x7F7F_FFFF),
            (edge, 0x7F80_0000),
            (-1e300, 0xFF80_0000),
            (-0.0, 0x8000_0000),
            (-f64::NAN, 0x7FC0_0000),
        ];
        for (x, bits) in rows {
            assert_eq!(E::Float.encode(x), bits, "{x:e}");
            assert_eq!(E::Complex64.encode_saturating(x), bits, "{x:e}");
        }
        assert_eq!(E::Double.encode(-f64::NAN), 0x7FF8_0000_0000_0000);
        assert_eq!(E::Double.encode(-0.0), 1 << 63);
        assert_eq!(E::Float.max_finite(), Some(f64::from(f32::MAX)));
        assert_eq!(E::Double.max_finite(), Some(f64::MAX));
    }

    #[test]
    fn rounds_integers_to_floats_once() {
        let rows = [
            (E::Float, (1 << 60) + (1 << 36) + 1, 0x5D80_0001),
            (E::Float, (1 << 60) + (1 << 36), 0x5D80_0000),
            (E::Bfloat16, (1 << 60) + (1 << 52), 0x5D80),
            (E::Bfloat16, (1 << 60) + (1 << 52) + 1, 0x5D81),
            (E::Bfloat16, -(1 << 60) - 3 * (1 << 52) + 1, 0xDD81),
            (E::Double, (1 << 53) + 1, 0x4340_0000_0000_0000),
            (E::Double, (1 << 54) + 3, 0x4350_0000_0000_0001),
            (E::Float16, 65519, 0x7BFF),
            (E::Float16, 65520, 0x7C00),
            (E::Float16, -(1 << 100), 0xFC00),
            (E::Float, i128::MIN, 0xFF00_0000),
            (E::Float8e4m3fn, 464, 0x7E),
            (E::Float8e4m3fn, 465, 0x7F),
            (E::Float8e8m0, (1 << 60) + 1, 127 + 61),
            (E::Int8, 200, 0xC8),
        ];
        for (element, value, bits) in rows {
            assert_eq!(element.encode_i128(value), bits, "{value} as {element}");
        }
        assert_eq!(E::Float8e4m3fn.saturate(465), 0x7E);
        assert_eq!(E::Float8e4m3fn.saturate(i128::MIN), 0xFE);
        assert_eq!(E::Float16.saturate(65520), 0x7C00);
    }

    #[test]
    fn orders_the_elements_without_gaps() {
        for element in ElementType::ALL.into_iter().filter(|t| t.is_float() && t.bits() <= 16) {
            let mut places: Vec<_> = (0..1_u64 << element.bits())
                .filter_map(|bits| Some((element.ordered(bits)?, element.decode_f64(bits))))
                .collect();
            places.sort_by_key(|(place, _)| *place);
            for pair in places.windows(2) {
                let [(low, a), (high, b)] = [pair[0], pair[1]];
                assert!(high - low == i128::from(a < b), "{element}: {a} at {low}, {b} at {high}");
                assert!(a <= b, "{element}: {a} before {b}");
            }
        }
        let infinity = E::Double.ordered(f64::INFINITY.to_bits());
        assert_eq!(infinity, E::Double.ordered(f64::MAX.to_bits()).map(|place| place + 1));
        assert_eq!(E::Float.ordered(u64::from(f32::NAN.to_bits())), None);
        assert_eq!(E::Double.ordered((-0.0_f64).to_bits()), Some(0));
        assert_eq!(E::Int8.ordered(0x80), Some(-128));
        assert_eq!(E::String.ordered(0), None);
    }

    #[test]
    fn answers_for_every_type() {
        for element in ElementType::ALL {
            for x in [0.0, -1.5, 1e300, f64::NAN, f64::NEG_INFINITY] {
                let bits = [element.encode(x), element.encode_saturating(x), element.truncate(x)];
                let _ = bits.map(|b| (element.decode_f64(b), element.decode_i128(b), element.ordered(b)));
            }
            for value in [0, -1, i128::MIN, i128::MAX] {
                let bits = [element.wrap(value), element.saturate(value), element.encode_i128(value)];
                assert!(bits.iter().all(|b| element.size() >= 8 || b >> (8 * element.size()) == 0), "{element}");
            }
            let _ = (element.decode_f64(u64::MAX), element.decode_i128(u64::MAX), element.ordered(u64::MAX));
        }
    }
}
