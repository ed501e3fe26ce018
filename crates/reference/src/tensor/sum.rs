//! Sums and products that carry their rounding errors: nearly as accurate as twice the precision of `f64`.
//!
//! For `double` inputs `f64` is not wider, so every accumulation over them uses this module. An infinite or NaN result
//! is that of plain additions.

/// Running sum by Neumaier's method.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompensatedSum {
    total: f64,
    lost: f64,
}

impl CompensatedSum {
    /// Adds one term.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let total = self.total + value;
        self.lost +=
            if self.total.abs() >= value.abs() { (self.total - total) + value } else { (value - total) + self.total };
        self.total = total;
    }

    /// Adds the product of two numbers, including its rounding error.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let product = a * b;
        self.add(product);
        self.lost += a.mul_add(b, -product);
    }

    /// The sum so far, rounded once.
    #[inline]
    #[must_use]
    pub fn value(self) -> f64 {
        let value = self.total + self.lost;
        if self.total.is_finite() && value.is_finite() { value } else { self.total }
    }
}

/// The sum of the values.
pub fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut sum = CompensatedSum::default();
    values.for_each(|value| sum.add(value));
    sum.value()
}

/// The sum of the products of pairs.
pub fn dot(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut sum = CompensatedSum::default();
    pairs.for_each(|(a, b)| sum.add_product(a, b));
    sum.value()
}

/// Running product that carries the rounding error of each step.
#[derive(Clone, Copy, Debug)]
pub struct CompensatedProduct {
    total: f64,
    lost: f64,
}

impl Default for CompensatedProduct {
    fn default() -> CompensatedProduct {
        CompensatedProduct { total: 1.0, lost: 0.0 }
    }
}

impl CompensatedProduct {
    /// Multiplies by one factor.
    #[inline]
    pub fn multiply(&mut self, value: f64) {
        let total = self.total * value;
        let dropped = self.total.mul_add(value, -total);
        self.lost = self.lost.mul_add(value, dropped);
        self.total = total;
    }

    /// The product so far, rounded once.
    #[inline]
    #[must_use]
    pub fn value(self) -> f64 {
        let value = self.total + self.lost;
        if self.total.is_finite() && value.is_finite() { value } else { self.total }
    }
}

/// The product of the values.
pub fn product(values: impl Iterator<Item = f64>) -> f64 {
    let mut product = CompensatedProduct::default();
    values.for_each(|value| product.multiply(value));
    product.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_leaves_the_small_terms() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100].into_iter()), 2.0);
        assert_eq!(sum([].into_iter()), 0.0);
        assert_eq!(sum(std::iter::repeat_n(0.1, 10)), 1.0);
    }

    #[test]
    fn products_keep_their_rounding_errors() {
        let e = libm::ldexp(1.0, -30);
        assert_eq!(dot([(1.0 + e, 1.0 + e), (-1.0, 1.0 + 2.0 * e)].into_iter()), libm::ldexp(1.0, -60));
        assert_eq!(product([1.0 + e, 1.0 + e, 1.0 - e, 1.0 - e].into_iter()), 1.0 - 2.0 * libm::ldexp(1.0, -60));
        assert_eq!(product([].into_iter()), 1.0);
    }

    #[test]
    fn infinities_and_nan_follow_plain_arithmetic() {
        let inf = f64::INFINITY;
        assert_eq!(sum([1.0, inf, 2.0].into_iter()), inf);
        assert!(sum([inf, 1.0, -inf].into_iter()).is_nan());
        assert!(sum([f64::NAN, 1.0].into_iter()).is_nan());
        assert_eq!(sum([f64::MAX, f64::MAX].into_iter()), inf);
        assert_eq!(dot([(-inf, 2.0), (1.0, 1.0)].into_iter()), -inf);
        assert_eq!(dot([(1e200, 1e200)].into_iter()), inf);
        assert_eq!(product([-inf, 2.0].into_iter()), -inf);
        assert!(product([inf, 0.0].into_iter()).is_nan());
    }
}
