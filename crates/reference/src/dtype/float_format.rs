//! Layout of each floating-point type, and the only rounding from `f64` into it.

use super::{ElementType, ElementType as E};

/// Stored fraction bits of an `f64`.
const F64_MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
const F64_BIAS: i32 = f64::MAX_EXP - 1;
const F64_MIN_EXPONENT: i32 = f64::MIN_EXP - 1;

/// The layout of a binary floating-point type: a sign (unless [`Specials::Scale`]), an exponent and a mantissa, most
/// significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the stored mantissa; the leading one of a normal number is not stored.
    pub mantissa_bits: u32,
    /// Exponent bias: the exponent field minus the exponent.
    pub bias: i32,
    /// Encoding of infinities and NaN.
    pub specials: Specials,
}

/// Encoding of infinities and NaN in a floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// The top exponent holds the infinities and the NaNs, as in IEEE 754.
    Ieee,
    /// No infinity; NaN has all bits below the sign set ("FN").
    AllOnes,
    /// No infinity and no negative zero; the pattern of negative zero is the only NaN ("FNUZ").
    NegativeZero,
    /// Every pattern is a finite number.
    Absent,
    /// `float8e8m0`: powers of two without a sign or zero; all ones is NaN.
    Scale,
}

impl ElementType {
    /// The layout of a floating-point type, or of one component of a complex type.
    #[inline]
    pub const fn float_format(self) -> Option<FloatFormat> {
        let (exponent_bits, mantissa_bits, bias, specials) = match self {
            E::Double | E::Complex128 => (11, 52, 1023, Specials::Ieee),
            E::Float | E::Complex64 => (8, 23, 127, Specials::Ieee),
            E::Float16 => (5, 10, 15, Specials::Ieee),
            E::Bfloat16 => (8, 7, 127, Specials::Ieee),
            E::Float8e4m3fn => (4, 3, 7, Specials::AllOnes),
            E::Float8e4m3fnuz => (4, 3, 8, Specials::NegativeZero),
            E::Float8e5m2 => (5, 2, 15, Specials::Ieee),
            E::Float8e5m2fnuz => (5, 2, 16, Specials::NegativeZero),
            E::Float8e8m0 => (8, 0, 127, Specials::Scale),
            E::Float6e2m3 => (2, 3, 1, Specials::Absent),
            E::Float6e3m2 => (3, 2, 3, Specials::Absent),
            E::Float4e2m1 => (2, 1, 1, Specials::Absent),
            _ => return None,
        };
        Some(FloatFormat { exponent_bits, mantissa_bits, bias, specials })
    }
}

impl FloatFormat {
    /// True if the type has infinities.
    #[inline]
    pub const fn has_infinity(self) -> bool {
        matches!(self.specials, Specials::Ieee)
    }

    /// True if zero has a sign.
    #[inline]
    pub const fn has_negative_zero(self) -> bool {
        matches!(self.specials, Specials::Ieee | Specials::AllOnes | Specials::Absent)
    }

    /// The largest finite number.
    pub const fn max_finite(self) -> f64 {
        self.decode(self.max_magnitude())
    }

    /// True if the bits are a NaN.
    #[inline]
    pub const fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & self.magnitude_mask();
        match self.specials {
            Specials::Ieee => magnitude > self.max_magnitude() + 1,
            Specials::AllOnes | Specials::Scale => magnitude == self.magnitude_mask(),
            Specials::NegativeZero => magnitude == 0 && bits & self.sign_bit() != 0,
            Specials::Absent => false,
        }
    }

    /// The quiet NaN without a payload, negative if the type has signed NaNs; `None` if the type has no NaN.
    #[inline]
    pub const fn nan(self, negative: bool) -> Option<u64> {
        let sign = if negative { self.sign_bit() } else { 0 };
        match self.specials {
            Specials::Ieee => Some(sign | (self.max_magnitude() + 1) | (1 << (self.mantissa_bits - 1))),
            Specials::AllOnes | Specials::Scale => Some(sign | self.magnitude_mask()),
            Specials::NegativeZero => Some(self.sign_bit()),
            Specials::Absent => None,
        }
    }

    /// Half the distance from 1 to the next value: the largest relative error of one rounding.
    pub const fn unit_roundoff(self) -> f64 {
        match self.ulp(1.0) {
            Some(ulp) => ulp / 2.0,
            None => 0.0,
        }
    }

    /// The unit in the last place at `x`, with exponents unbounded above; `None` if `x` is not finite.
    pub const fn ulp(self, x: f64) -> Option<f64> {
        if !x.is_finite() {
            return None;
        }
        let exponent = exponent_of(x.abs());
        let lowest = self.min_exponent();
        let exponent = if exponent > lowest { exponent } else { lowest };
        Some(power_of_two(exponent - self.mantissa_bits.cast_signed()))
    }

    /// The value of the bits, exact; a NaN keeps its sign and loses its payload.
    #[inline]
    pub(super) const fn decode(self, bits: u64) -> f64 {
        let magnitude = bits & self.magnitude_mask();
        let value = if self.is_nan(bits) {
            f64::NAN
        } else if magnitude > self.max_magnitude() {
            f64::INFINITY
        } else if magnitude >> self.mantissa_bits == 0 && !matches!(self.specials, Specials::Scale) {
            magnitude as f64 * power_of_two(self.min_exponent() - self.mantissa_bits.cast_signed())
        } else {
            f64::from_bits(
                (magnitude << (F64_MANTISSA_BITS - self.mantissa_bits)) + (self.rebias() << F64_MANTISSA_BITS),
            )
        };
        if bits & self.sign_bit() == 0 { value } else { -value }
    }

    /// The nearest number of a type narrower than `f64`, ties to the even pattern.
    ///
    /// A number that exceeds the largest finite number *after* rounding becomes that number if `saturate` or if the
    /// type has neither infinity nor NaN, else infinity, else NaN. A NaN becomes the positive NaN whatever its sign,
    /// because processors disagree on the sign of the NaNs they produce. If the type has no NaN, it becomes negative
    /// zero: Cast does not specify this, and its node tests for `float4e2m1` expect it.
    #[inline]
    pub(super) const fn encode(self, x: f64, saturate: bool) -> u64 {
        if x.is_nan() {
            return match self.nan(false) {
                Some(nan) => nan,
                None => self.sign_bit(),
            };
        }
        let negative = x.is_sign_negative();
        let magnitude = self.round_magnitude(x.abs());
        let max = self.max_magnitude();
        let sign = if negative { self.sign_bit() } else { 0 };
        if magnitude <= max {
            return if magnitude == 0 && !self.has_negative_zero() { 0 } else { sign | magnitude };
        }
        match self.nan(negative) {
            Some(_) if !saturate && self.has_infinity() => sign | (max + 1),
            Some(nan) if !saturate => nan,
            _ => sign | max,
        }
    }

    /// Rank of the bits among the type's numbers: both zeros are 0, NaN has none.
    #[inline]
    pub(super) const fn ordered(self, bits: u64) -> Option<i128> {
        if self.is_nan(bits) {
            return None;
        }
        let magnitude = (bits & self.magnitude_mask()) as i128;
        Some(if bits & self.sign_bit() == 0 { magnitude } else { -magnitude })
    }

    /// The pattern nearest to `x >= 0`, ties to even, as if exponents continued above the largest finite number.
    #[inline]
    const fn round_magnitude(self, x: f64) -> u64 {
        let dropped = F64_MANTISSA_BITS - self.mantissa_bits;
        let short = self.min_exponent() - exponent_of(x);
        if short <= 0 {
            return round_shift(x.to_bits(), dropped) - (self.rebias() << self.mantissa_bits);
        }
        let shift = dropped + short.cast_unsigned();
        if shift > F64_MANTISSA_BITS + 1 {
            return 0;
        }
        let leading_one = 1 << F64_MANTISSA_BITS;
        round_shift(x.to_bits() & (leading_one - 1) | leading_one, shift)
    }

    /// The pattern of the largest finite number.
    #[inline]
    const fn max_magnitude(self) -> u64 {
        let mask = self.magnitude_mask();
        match self.specials {
            Specials::Ieee => mask - (1 << self.mantissa_bits),
            Specials::AllOnes | Specials::Scale => mask - 1,
            Specials::NegativeZero | Specials::Absent => mask,
        }
    }

    /// Mask of exponent and mantissa, which order the magnitudes when read as one integer.
    #[inline]
    const fn magnitude_mask(self) -> u64 {
        (1 << (self.exponent_bits + self.mantissa_bits)) - 1
    }

    #[inline]
    const fn sign_bit(self) -> u64 {
        match self.specials {
            Specials::Scale => 0,
            _ => 1 << (self.exponent_bits + self.mantissa_bits),
        }
    }

    /// The exponent of the smallest normal number.
    #[inline]
    const fn min_exponent(self) -> i32 {
        match self.specials {
            Specials::Scale => -self.bias,
            _ => 1 - self.bias,
        }
    }

    /// The bias of `f64` minus the bias of this type.
    #[inline]
    const fn rebias(self) -> u64 {
        (F64_BIAS - self.bias).cast_unsigned() as u64
    }
}

/// The exponent of `x >= 0`; subnormal numbers and zero give one that is below all others.
#[inline]
pub(super) const fn exponent_of(x: f64) -> i32 {
    (x.to_bits() >> F64_MANTISSA_BITS) as i32 - F64_BIAS
}

/// `2^exponent` for every exponent of an `f64`, subnormal numbers included.
#[inline]
pub(super) const fn power_of_two(exponent: i32) -> f64 {
    if exponent >= F64_MIN_EXPONENT {
        return f64::from_bits(((exponent + F64_BIAS).cast_unsigned() as u64) << F64_MANTISSA_BITS);
    }
    f64::from_bits(1 << (exponent - F64_MIN_EXPONENT + F64_MANTISSA_BITS.cast_signed()))
}

/// `value / 2^shift` to the nearest integer, ties to even, for a `value` below 2^63.
#[inline]
const fn round_shift(value: u64, shift: u32) -> u64 {
    if shift == 0 {
        return value;
    }
    let odd = (value >> shift) & 1;
    (value + (1 << (shift - 1)) - 1 + odd) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFINITY: f64 = f64::INFINITY;

    /// Floating types of at most 16 bits that have a zero.
    fn narrow_types() -> impl Iterator<Item = (ElementType, FloatFormat)> {
        let formats = ElementType::ALL.into_iter().filter_map(|t| Some((t, t.float_format()?)));
        formats.filter(|(t, format)| t.bits() <= 16 && format.specials != Specials::Scale)
    }

    /// The finite values from zero up; the index of a value is its bit pattern.
    fn finite_values(element: ElementType, format: FloatFormat) -> Vec<f64> {
        let values = (0..1_u64 << (element.bits() - 1)).map(|bits| element.decode_f64(bits));
        values.take_while(|v| v.is_finite()).inspect(|v| assert!(*v <= format.max_finite())).collect()
    }

    /// The index of the value nearest to `x`, ties to the even index, by search: `f64` represents every midpoint
    /// exactly.
    fn nearest(finite_values: &[f64], x: f64) -> usize {
        let above = finite_values.partition_point(|v| *v < x).min(finite_values.len() - 1);
        let below = above.saturating_sub(1);
        let middle = f64::midpoint(finite_values[below], finite_values[above]);
        if x < middle || (x == middle && below % 2 == 0) { below } else { above }
    }

    fn two_to(exponent: i32) -> f64 {
        libm::ldexp(1.0, exponent)
    }

    /// The expected rounding of `x`, derived from the list of values and from Cast's tables.
    fn expected(element: ElementType, finite_values: &[f64], x: f64, saturate: bool) -> f64 {
        let mut unbounded = finite_values.to_vec();
        let top = finite_values.len() - 1;
        unbounded.push(2.0 * finite_values[top] - finite_values[top - 1]);
        let place = nearest(&unbounded, x.abs());
        let magnitude = match finite_values.get(place) {
            Some(value) => *value,
            None => match element {
                E::Float16 | E::Bfloat16 => INFINITY,
                E::Float4e2m1 | E::Float6e2m3 | E::Float6e3m2 => finite_values[top],
                _ if saturate => finite_values[top],
                E::Float8e5m2 => INFINITY,
                _ => f64::NAN,
            },
        };
        magnitude.copysign(x)
    }

    fn check(element: ElementType, finite_values: &[f64], x: f64) {
        for x in [x, -x] {
            for (bits, saturate) in [(element.encode(x), false), (element.encode_saturating(x), true)] {
                let expected = expected(element, finite_values, x, saturate);
                let actual = element.decode_f64(bits);
                let same = actual == expected || (actual.is_nan() && expected.is_nan());
                assert!(same, "{x:e} as {element}, saturate {saturate}: {actual:e}, not {expected:e}");
            }
        }
    }

    #[test]
    fn reads_the_values_that_the_formats_documents_name() {
        let rows = [
            (E::Float16, 0x7BFF, 65504.0),
            (E::Float16, 0x0001, two_to(-24)),
            (E::Float16, 0x0400, two_to(-14)),
            (E::Float16, 0xBC01, -1.0 - two_to(-10)),
            (E::Float16, 0xFC00, -INFINITY),
            (E::Bfloat16, 0x7F7F, (2.0 - two_to(-7)) * two_to(127)),
            (E::Bfloat16, 0x0001, two_to(-133)),
            (E::Bfloat16, 0x7F80, INFINITY),
            (E::Float8e4m3fn, 0x7E, 448.0),
            (E::Float8e4m3fn, 0x01, two_to(-9)),
            (E::Float8e4m3fn, 0xB8, -1.0),
            (E::Float8e4m3fnuz, 0x7F, 240.0),
            (E::Float8e4m3fnuz, 0x01, two_to(-10)),
            (E::Float8e4m3fnuz, 0xC0, -1.0),
            (E::Float8e5m2, 0x7B, 57344.0),
            (E::Float8e5m2, 0x01, two_to(-16)),
            (E::Float8e5m2, 0xFC, -INFINITY),
            (E::Float8e5m2fnuz, 0x7F, 57344.0),
            (E::Float8e5m2fnuz, 0x01, two_to(-17)),
            (E::Float8e8m0, 0x00, two_to(-127)),
            (E::Float8e8m0, 0x7F, 1.0),
            (E::Float8e8m0, 0xFE, two_to(127)),
            (E::Float6e2m3, 0x1F, 7.5),
            (E::Float6e2m3, 0x08, 1.0),
            (E::Float6e2m3, 0x21, -0.125),
            (E::Float6e3m2, 0x1F, 28.0),
            (E::Float6e3m2, 0x04, 0.25),
            (E::Float6e3m2, 0x21, -0.0625),
        ];
        for (element, bits, value) in rows {
            assert_eq!(element.decode_f64(bits), value, "{element} {bits:#x}");
        }
        let float4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        assert_eq!(finite_values(E::Float4e2m1, E::Float4e2m1.float_format().unwrap()), float4);
    }

    #[test]
    fn counts_the_nans_of_each_type() {
        let rows = [
            (E::Float16, 2 * 1023),
            (E::Bfloat16, 2 * 127),
            (E::Float8e4m3fn, 2),
            (E::Float8e4m3fnuz, 1),
            (E::Float8e5m2, 6),
            (E::Float8e5m2fnuz, 1),
            (E::Float8e8m0, 1),
            (E::Float6e2m3, 0),
            (E::Float6e3m2, 0),
            (E::Float4e2m1, 0),
        ];
        for (element, count) in rows {
            let bits = 0..1_u64 << element.bits();
            assert_eq!(bits.filter(|b| element.decode_f64(*b).is_nan()).count(), count, "{element}");
        }
        for (element, nan, negative) in
            [(E::Float8e4m3fn, 0x7F, 0xFF), (E::Float8e4m3fnuz, 0x80, 0x80), (E::Float16, 0x7E00, 0xFE00)]
        {
            let format = element.float_format().unwrap();
            assert_eq!([format.nan(false), format.nan(true)], [Some(nan), Some(negative)], "{element}");
            assert_eq!([element.encode(f64::NAN), element.encode(-f64::NAN)], [nan; 2], "{element}");
        }
    }

    #[test]
    fn gives_every_pattern_back() {
        for element in ElementType::ALL.into_iter().filter(|t| t.is_float() && t.bits() <= 16) {
            for bits in 0..1_u64 << element.bits() {
                let value = element.decode_f64(bits);
                let reencoded = element.encode(value);
                assert!(reencoded == bits || value.is_nan(), "{element} {bits:#x} is {value:e} is {reencoded:#x}");
                assert_eq!(element.decode_f64(reencoded).is_nan(), value.is_nan(), "{element} {bits:#x}");
                let saturated =
                    if value.is_infinite() { value } else { element.decode_f64(element.encode_saturating(value)) };
                assert!(saturated == value || value.is_nan(), "{element} {bits:#x}");
            }
        }
    }

    #[test]
    fn rounds_to_nearest_even_around_every_midpoint() {
        for (element, format) in narrow_types().filter(|(t, _)| t.bits() <= 8) {
            let finite_values = finite_values(element, format);
            for pair in finite_values.windows(2) {
                let middle = f64::midpoint(pair[0], pair[1]);
                for x in [pair[0], pair[0].next_up(), middle.next_down(), middle, middle.next_up(), pair[1].next_down()]
                {
                    check(element, &finite_values, x);
                }
            }
        }
    }

    #[test]
    fn rounds_sixteen_bits_to_nearest_even_around_every_midpoint() {
        for (element, format) in narrow_types().filter(|(t, _)| t.bits() == 16) {
            let finite_values = finite_values(element, format);
            for (low, pair) in finite_values.windows(2).enumerate() {
                let middle = f64::midpoint(pair[0], pair[1]);
                let even = low + low % 2;
                for (x, place) in [(middle.next_down(), low), (middle, even), (middle.next_up(), low + 1)] {
                    assert_eq!(element.round(x), finite_values[place], "{x:e} as {element}");
                    assert_eq!(element.round(-x), -finite_values[place], "-{x:e} as {element}");
                    assert_eq!(element.encode_saturating(x), element.encode(x), "{x:e} as {element}");
                }
            }
        }
    }

    #[test]
    fn leaves_the_range_half_a_step_past_the_largest_number() {
        for (element, format) in narrow_types() {
            let finite_values = finite_values(element, format);
            let [.., second, top] = finite_values[..] else { unreachable!("every type has two numbers") };
            let edge = top + (top - second) / 2.0;
            for x in [top.next_up(), edge.next_down(), edge, edge.next_up(), 2.0 * top, 1e300, INFINITY] {
                check(element, &finite_values, x);
            }
            for x in [f64::MIN_POSITIVE, f64::from_bits(1)] {
                check(element, &finite_values, x);
            }
        }
    }

    #[test]
    fn obeys_casts_tables_for_special_values() {
        let (inf, nan) = (INFINITY, f64::NAN);
        let rows = [
            (
                E::Float8e4m3fn,
                [inf, -inf, 464.0, 464.1, -0.0, nan],
                [0x7F, 0xFF, 0x7E, 0x7F, 0x80, 0x7F],
                [0x7E, 0xFE, 0x7E, 0x7E, 0x80, 0x7F],
            ),
            (
                E::Float8e4m3fnuz,
                [inf, -inf, 247.9, 248.0, -0.0, nan],
                [0x80, 0x80, 0x7F, 0x80, 0, 0x80],
                [0x7F, 0xFF, 0x7F, 0x7F, 0, 0x80],
            ),
            (
                E::Float8e5m2,
                [inf, -inf, 61439.0, 61440.0, -0.0, nan],
                [0x7C, 0xFC, 0x7B, 0x7C, 0x80, 0x7E],
                [0x7B, 0xFB, 0x7B, 0x7B, 0x80, 0x7E],
            ),
            (
                E::Float8e5m2fnuz,
                [inf, -inf, 61439.0, 61440.0, -0.0, nan],
                [0x80, 0x80, 0x7F, 0x80, 0, 0x80],
                [0x7F, 0xFF, 0x7F, 0x7F, 0, 0x80],
            ),
            (
                E::Float6e2m3,
                [inf, -inf, 7.7, 1e9, -0.0, nan],
                [0x1F, 0x3F, 0x1F, 0x1F, 0x20, 0x20],
                [0x1F, 0x3F, 0x1F, 0x1F, 0x20, 0x20],
            ),
            (
                E::Float6e3m2,
                [inf, -inf, 25.0, 1e9, -0.0, nan],
                [0x1F, 0x3F, 0x1E, 0x1F, 0x20, 0x20],
                [0x1F, 0x3F, 0x1E, 0x1F, 0x20, 0x20],
            ),
            (E::Float4e2m1, [inf, -inf, 5.0, 1e9, -0.0, nan], [7, 15, 6, 7, 8, 8], [7, 15, 6, 7, 8, 8]),
            (
                E::Float16,
                [inf, -inf, 65519.9, 65520.0, -0.0, nan],
                [0x7C00, 0xFC00, 0x7BFF, 0x7C00, 0x8000, 0x7E00],
                [0x7C00, 0xFC00, 0x7BFF, 0x7C00, 0x8000, 0x7E00],
            ),
        ];
        for (element, inputs, rounded, saturated) in rows {
            assert_eq!(inputs.map(|x| element.encode(x)), rounded, "{element}");
            assert_eq!(inputs.map(|x| element.encode_saturating(x)), saturated, "{element}, saturating");
        }
    }

    #[test]
    fn underflow_keeps_the_sign_of_zero() {
        for (element, format) in narrow_types() {
            let zero = element.encode(-1e-300);
            assert_eq!(zero, if format.has_negative_zero() { 1 << (element.bits() - 1) } else { 0 }, "{element}");
        }
    }

    #[test]
    fn measures_a_step_by_the_exponent() {
        let half = E::Float16.float_format().unwrap();
        let rows = [(1.0, -10), (1.999, -10), (-2.0, -9), (0.0, -24), (1e-9, -24), (65504.0, 5), (131_072.0, 7)];
        for (x, exponent) in rows {
            assert_eq!(half.ulp(x), Some(two_to(exponent)), "{x}");
        }
        assert_eq!(half.ulp(INFINITY), None);
        assert_eq!(E::Double.float_format().unwrap().ulp(0.0), Some(f64::from_bits(1)));
    }
}
