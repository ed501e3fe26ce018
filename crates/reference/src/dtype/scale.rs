//! Rounding to `float8e8m0`, the type of microscaling factors: 2^-127 to 2^127 and one NaN, no sign and no zero.

use super::float_format::{exponent_of, power_of_two};

const MAX_EXPONENT: i32 = 127;
const MIN_EXPONENT: i32 = -127;
const NAN: u64 = 0xFF;

/// Rounding of a number between two powers of two: Cast's `round_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoundMode {
    /// Rounds to the larger power, Cast's default.
    Up,
    /// Rounds to the smaller power.
    Down,
    /// Rounds to the nearer power; the midpoint rounds up.
    Nearest,
}

/// The bits of `x` as a `float8e8m0`, as Cast converts it since version 24.
///
/// A value that is zero or out of range before rounding becomes the nearer end of the range if `saturate`, else NaN.
/// Cast does not define negative numbers and negative zero: here the former give NaN, and the latter converts as zero.
#[inline]
pub const fn round_e8m0(x: f64, mode: RoundMode, saturate: bool) -> u64 {
    let (min, max) = (power_of_two(MIN_EXPONENT), power_of_two(MAX_EXPONENT));
    if x.is_nan() || x < 0.0 {
        return NAN;
    }
    if x < min || x > max {
        return match saturate {
            true if x < min => 0,
            true => code(MAX_EXPONENT),
            false => NAN,
        };
    }
    let exponent = exponent_of(x);
    let lower = power_of_two(exponent);
    let up = match mode {
        RoundMode::Up => x > lower,
        RoundMode::Down => false,
        RoundMode::Nearest => x >= 1.5 * lower,
    };
    code(exponent + up as i32)
}

const fn code(exponent: i32) -> u64 {
    (exponent - MIN_EXPONENT).cast_unsigned() as u64
}

#[cfg(test)]
mod tests {
    use super::super::ElementType;
    use super::*;
    use RoundMode::{Down, Nearest, Up};

    #[test]
    fn follows_the_two_columns_of_casts_table() {
        let (max, min) = (power_of_two(127), power_of_two(-127));
        let rows = [
            (0.0, 0x00, 0xFF),
            (f64::NAN, 0xFF, 0xFF),
            (f64::INFINITY, 0xFE, 0xFF),
            (max, 0xFE, 0xFE),
            (max.next_up(), 0xFE, 0xFF),
            (min, 0x00, 0x00),
            (min.next_down(), 0x00, 0xFF),
            (f64::MIN_POSITIVE / 2.0, 0x00, 0xFF),
        ];
        for (x, saturated, strict) in rows {
            assert_eq!(round_e8m0(x, Up, true), saturated, "{x:e} up, saturating");
            assert_eq!(round_e8m0(x, Nearest, false), strict, "{x:e} nearest, not saturating");
        }
    }

    #[test]
    fn rounds_between_every_two_powers_by_the_mode() {
        for code in 0..0xFE_u64 {
            let low = ElementType::Float8e8m0.decode_f64(code);
            let next = code + 1;
            let middle = low * 1.5;
            for (x, up, down, nearest) in [
                (low, code, code, code),
                (low.next_up(), next, code, code),
                (middle.next_down(), next, code, code),
                (middle, next, code, next),
                ((2.0 * low).next_down(), next, code, next),
            ] {
                for saturate in [true, false] {
                    let bits = [Up, Down, Nearest].map(|mode| round_e8m0(x, mode, saturate));
                    assert_eq!(bits, [up, down, nearest], "{x:e}");
                }
            }
        }
    }

    #[test]
    fn values_without_a_representation_become_nan() {
        for x in [-1.0, -f64::MIN_POSITIVE, f64::NEG_INFINITY, -f64::NAN] {
            assert_eq!(round_e8m0(x, Up, true), 0xFF, "{x:e}");
        }
        assert_eq!(round_e8m0(-0.0, Up, true), 0);
    }
}
