//! Numbers of twice the precision of `f64`, for accumulations whose result is itself an `f64`.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unevaluated sum of two `f64`, of which the second is at most half a unit in the last place of the first.
///
/// What is not finite stays as `f64` arithmetic has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wide {
    high: f64,
    low: f64,
}

impl From<f64> for Wide {
    fn from(high: f64) -> Wide {
        Wide { high, low: 0.0 }
    }
}

impl Wide {
    /// The nearest `f64`.
    pub fn to_f64(self) -> f64 {
        self.high
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(self) -> Wide {
        if self.high < 0.0 { -self } else { self }
    }

    /// The sum of any two `f64`, exact where it is finite.
    fn exact_sum(a: f64, b: f64) -> Wide {
        let high = a + b;
        let of_b = high - a;
        Wide::finite(high, (a - (high - of_b)) + (b - of_b))
    }

    fn finite(high: f64, low: f64) -> Wide {
        if high.is_finite() { Wide { high, low } } else { Wide::from(high) }
    }
}

impl Add for Wide {
    type Output = Wide;

    fn add(self, other: Wide) -> Wide {
        let sum = Wide::exact_sum(self.high, other.high);
        let rest = Wide::exact_sum(self.low, other.low);
        let sum = Wide::exact_sum(sum.high, sum.low + rest.high);
        Wide::exact_sum(sum.high, sum.low + rest.low)
    }
}

impl Neg for Wide {
    type Output = Wide;

    fn neg(self) -> Wide {
        Wide { high: -self.high, low: -self.low }
    }
}

impl Sub for Wide {
    type Output = Wide;

    fn sub(self, other: Wide) -> Wide {
        self + -other
    }
}

impl Mul for Wide {
    type Output = Wide;

    fn mul(self, other: Wide) -> Wide {
        let high = self.high * other.high;
        let low = libm::fma(self.high, other.high, -high) + (self.high * other.low + self.low * other.high);
        let product = Wide::finite(high, low);
        Wide::exact_sum(product.high, product.low)
    }
}

impl Div for Wide {
    type Output = Wide;

    fn div(self, other: Wide) -> Wide {
        let first = self.high / other.high;
        if !first.is_finite() || !other.high.is_finite() {
            return Wide::from(first);
        }
        let rest = self - other * Wide::from(first);
        let second = rest.high / other.high;
        let rest = rest - other * Wide::from(second);
        Wide::exact_sum(first, second) + Wide::from(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_one_float_loses() {
        let tiny = libm::ldexp(1.0, -80);
        let sum = Wide::from(1.0) + Wide::from(tiny) - Wide::from(1.0);
        assert_eq!(sum.to_f64(), tiny);
        let ordered = [1e16, 1.0, -1e16].map(Wide::from).into_iter().fold(Wide::default(), Add::add);
        assert_eq!(ordered.to_f64(), 1.0);
    }

    #[test]
    fn products_and_quotients_undo_each_other() {
        let third = Wide::from(1.0) / Wide::from(3.0);
        assert!((third * Wide::from(3.0) - Wide::from(1.0)).to_f64().abs() <= libm::ldexp(1.0, -100));
        let x = 1.0 + f64::EPSILON;
        let square = Wide::from(x) * Wide::from(x) - Wide::from(1.0 + 2.0 * f64::EPSILON);
        assert_eq!(square.to_f64(), f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn what_is_not_finite_is_that_of_one_float() {
        let big = Wide::from(f64::MAX);
        assert_eq!((big + big).to_f64(), f64::INFINITY);
        assert_eq!((big * big).to_f64(), f64::INFINITY);
        assert_eq!((Wide::from(f64::INFINITY) + Wide::from(1.0)).to_f64(), f64::INFINITY);
        assert_eq!((Wide::from(f64::INFINITY) * Wide::from(-2.0)).to_f64(), f64::NEG_INFINITY);
        assert_eq!((Wide::from(1.0) / Wide::from(0.0)).to_f64(), f64::INFINITY);
        assert_eq!((Wide::from(1.0) / Wide::from(f64::INFINITY)).to_f64(), 0.0);
        assert!((Wide::from(f64::INFINITY) - Wide::from(f64::INFINITY)).to_f64().is_nan());
    }
}
