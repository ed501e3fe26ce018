//! Double-double arithmetic: twice the precision of `f64`, for accumulations whose result is an `f64`.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unevaluated sum of two `f64`; the second is at most half an ULP of the first.
///
/// Infinities and NaN behave as in `f64` arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> DoubleDouble {
        DoubleDouble { high, low: 0.0 }
    }
}

impl DoubleDouble {
    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        self.high
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(self) -> DoubleDouble {
        if self.high < 0.0 { -self } else { self }
    }

    /// The sum of any two `f64`, exact if finite.
    fn exact_sum(a: f64, b: f64) -> DoubleDouble {
        let high = a + b;
        let part_of_b = high - a;
        DoubleDouble::finite(high, (a - (high - part_of_b)) + (b - part_of_b))
    }

    fn finite(high: f64, low: f64) -> DoubleDouble {
        if high.is_finite() { DoubleDouble { high, low } } else { DoubleDouble::from(high) }
    }
}

impl Add for DoubleDouble {
    type Output = DoubleDouble;

    fn add(self, other: DoubleDouble) -> DoubleDouble {
        let sum = DoubleDouble::exact_sum(self.high, other.high);
        let rest = DoubleDouble::exact_sum(self.low, other.low);
        let sum = DoubleDouble::exact_sum(sum.high, sum.low + rest.high);
        DoubleDouble::exact_sum(sum.high, sum.low + rest.low)
    }
}

impl Neg for DoubleDouble {
    type Output = DoubleDouble;

    fn neg(self) -> DoubleDouble {
        DoubleDouble { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = DoubleDouble;

    fn sub(self, other: DoubleDouble) -> DoubleDouble {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = DoubleDouble;

    fn mul(self, other: DoubleDouble) -> DoubleDouble {
        let high = self.high * other.high;
        let low = libm::fma(self.high, other.high, -high) + (self.high * other.low + self.low * other.high);
        let product = DoubleDouble::finite(high, low);
        DoubleDouble::exact_sum(product.high, product.low)
    }
}

impl Div for DoubleDouble {
    type Output = DoubleDouble;

    fn div(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        if !first.is_finite() || !other.high.is_finite() {
            return DoubleDouble::from(first);
        }
        let rest = self - other * DoubleDouble::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * DoubleDouble::from(second);
        DoubleDouble::exact_sum(first, second) + DoubleDouble::from(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_the_bits_that_one_float_loses() {
        let tiny = libm::ldexp(1.0, -80);
        let sum = DoubleDouble::from(1.0) + DoubleDouble::from(tiny) - DoubleDouble::from(1.0);
        assert_eq!(sum.to_f64(), tiny);
        let ordered = [1e16, 1.0, -1e16].map(DoubleDouble::from).into_iter().fold(DoubleDouble::default(), Add::add);
        assert_eq!(ordered.to_f64(), 1.0);
    }

    #[test]
    fn products_and_quotients_undo_each_other() {
        let third = DoubleDouble::from(1.0) / DoubleDouble::from(3.0);
        assert!((third * DoubleDouble::from(3.0) - DoubleDouble::from(1.0)).to_f64().abs() <= libm::ldexp(1.0, -100));
        let x = 1.0 + f64::EPSILON;
        let square = DoubleDouble::from(x) * DoubleDouble::from(x) - DoubleDouble::from(1.0 + 2.0 * f64::EPSILON);
        assert_eq!(square.to_f64(), f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn non_finite_results_equal_those_of_one_float() {
        let big = DoubleDouble::from(f64::MAX);
        assert_eq!((big + big).to_f64(), f64::INFINITY);
        assert_eq!((big * big).to_f64(), f64::INFINITY);
        assert_eq!((DoubleDouble::from(f64::INFINITY) + DoubleDouble::from(1.0)).to_f64(), f64::INFINITY);
        assert_eq!((DoubleDouble::from(f64::INFINITY) * DoubleDouble::from(-2.0)).to_f64(), f64::NEG_INFINITY);
        assert_eq!((DoubleDouble::from(1.0) / DoubleDouble::from(0.0)).to_f64(), f64::INFINITY);
        assert_eq!((DoubleDouble::from(1.0) / DoubleDouble::from(f64::INFINITY)).to_f64(), 0.0);
        assert!((DoubleDouble::from(f64::INFINITY) - DoubleDouble::from(f64::INFINITY)).to_f64().is_nan());
    }
}
