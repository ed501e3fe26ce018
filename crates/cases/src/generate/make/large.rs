//! Fills of large tensors: sums that are exact in any order, elements that encode their positions, long texts.

use std::sync::Arc;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};

use crate::case::{Choice, Random};

/// Integers from `-most` to `most`, or from 0 in an unsigned type. One in `one_in` is random, the others are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SmallIntegers {
    most: i64,
    one_in: i64,
}

impl SmallIntegers {
    /// Largest value, which people still read with ease.
    const LARGEST: i64 = 8;

    /// Returns integers whose sums of `count` terms are exact in any order.
    pub(crate) fn addends(element: ElementType, count: i64) -> SmallIntegers {
        let (whole, count) = (SmallIntegers::whole_numbers(element), count.max(1));
        let most = (whole / count).clamp(1, SmallIntegers::LARGEST);
        // Uses half of the range, since the number of nonzero values is random.
        SmallIntegers { most, one_in: (2 * count * most / whole).max(1) }
    }

    /// Returns integers whose sums of `count` products of two are exact in any order.
    pub(crate) fn factors(element: ElementType, count: i64) -> SmallIntegers {
        let (whole, count) = (SmallIntegers::whole_numbers(element), count.max(1));
        let most = (whole / count).isqrt().clamp(1, SmallIntegers::LARGEST);
        let both = (2 * count).saturating_mul(most * most) / whole;
        let root = both.isqrt();
        SmallIntegers { most, one_in: if root * root == both { root.max(1) } else { root + 1 } }
    }

    /// Returns the number up to which the type holds every integer. Sums of integers are computed in 32 bits.
    fn whole_numbers(element: ElementType) -> i64 {
        let bits = element.float_format().filter(|_| element.is_float()).map_or(31, |format| format.mantissa_bits + 1);
        1 << bits.min(53)
    }

    /// Returns the draw of a number of this kind.
    pub(crate) fn choice(self, kind: Kind) -> Choice {
        let low = if kind == Kind::Unsigned { 0 } else { -self.most };
        Choice { one_in: self.one_in.unsigned_abs(), ..Choice::between(low, self.most) }
    }
}

/// Returns a text of `length` bytes: letters, some of which take two or three bytes.
pub(crate) fn long_text(length: i64, random: &mut Random) -> Arc<str> {
    let mut text = String::new();
    let mut left = length.max(0);
    while left > 0 {
        let letter = match random.between(0, 15) {
            0 if left >= 2 => '\u{e9}',
            1 if left >= 3 => '\u{20ac}',
            2 => ' ',
            place => char::from(b'a' + u8::try_from(place).unwrap_or(0)),
        };
        left -= i64::try_from(letter.len_utf8()).unwrap_or(1);
        text.push(letter);
    }
    text.into()
}

/// Fills with elements that encode their positions.
pub(crate) fn positions(element: ElementType, buffer: TensorBuilder) -> Result<Tensor, TensorError> {
    let places = 0..buffer.len() as i128;
    match element.kind() {
        Kind::String => buffer.strings(places.map(|at| Arc::from(at.to_string())).collect::<Vec<Arc<str>>>()),
        // The parity of the bits set in the position: a sequence without a period.
        Kind::Bool => buffer.bools(places.map(|at| at.count_ones() % 2 == 1)),
        Kind::Complex => buffer.complexes(places.map(|at| num_complex::Complex::new(at as f64, -(at as f64)))),
        Kind::Float if element.bits() >= 16 => {
            let whole = i128::from(SmallIntegers::whole_numbers(element));
            let prime = largest_prime(2 * whole);
            let low = if prime < whole { 0 } else { -whole };
            // Steps so wide that no narrower type holds the values.
            let step = match element {
                ElementType::Double => 1_048_577.0,
                ElementType::Bfloat16 => 1_048_576.0,
                _ => 1.0,
            };
            buffer.floats(places.map(|at| (at % prime + low) as f64 * step))
        }
        Kind::Float => {
            let all = small_floats(element);
            buffer.floats(places.map(|at| all[usize::try_from(at).unwrap_or(0) % all.len()]))
        }
        Kind::Signed | Kind::Unsigned => {
            let end = |value: i128| element.decode_i128(element.saturate(value));
            let (low, high) = (end(i128::from(i64::MIN)), end(i128::from(u64::MAX)));
            // Steps so wide that neither a narrower type nor a float of the same width holds the values.
            let (prime, step) = match element.bits() {
                32 => (largest_prime(1 << 17), (1 << 13) + 1),
                64 => (largest_prime(1 << 22), (1 << 40) + 1),
                narrow => (largest_prime(1 << narrow), 1),
            };
            let number = |at: i128| at % prime * step;
            let (first, sign) = match element.bits() {
                0..32 => (low, 1),
                _ if low == 0 => (high, -1),
                _ => (0, 1),
            };
            buffer.integers(places.map(|at| first + sign * number(at)))
        }
    }
}

/// Returns the values of a type of at most 8 bits with a small magnitude.
pub(crate) fn small_floats(element: ElementType) -> Vec<f64> {
    let all = (0..1u64 << element.bits()).map(|bits| element.decode_f64(bits));
    let is_small =
        |value: &f64| value.is_finite() && value.abs() <= 16.0 && !(*value == 0.0 && value.is_sign_negative());
    all.filter(is_small).collect()
}

/// Returns the largest prime number up to `most`, or 1.
fn largest_prime(most: i128) -> i128 {
    let is_prime = |number: &i128| (2..=number.isqrt()).all(|by| number % by != 0);
    (2..=most.min(1 << 24)).rev().find(is_prime).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Draw;

    const COUNT: usize = 4096;

    fn tensor_builder(element: ElementType, count: usize) -> TensorBuilder {
        TensorBuilder::unlimited(element, vec![count]).unwrap()
    }

    #[test]
    fn sums_of_addends_and_of_products_are_exact_in_any_order() {
        for element in [ElementType::Float16, ElementType::Bfloat16, ElementType::Float, ElementType::Double] {
            let whole = SmallIntegers::whole_numbers(element) as f64;
            for seed in 0..20 {
                let mut random = Random::new(&format!("{element} {seed}"));
                let mut draw = |small: SmallIntegers| -> Vec<f64> {
                    let numbers = Draw::Each(small.choice(element.kind())).numbers(COUNT, &mut random);
                    numbers.into_iter().map(|number| number as f64).collect()
                };
                let (a, b) = (draw(SmallIntegers::factors(element, 4096)), draw(SmallIntegers::factors(element, 4096)));
                let products: f64 = a.iter().zip(&b).map(|(a, b)| (a * b).abs()).sum();
                let addends: f64 = draw(SmallIntegers::addends(element, 4096)).into_iter().map(f64::abs).sum();
                assert!(products <= whole && addends <= whole, "{element}: {products} {addends} of {whole}");
                assert!(
                    products >= whole.min(1e4) / 8.0 && addends >= whole.min(1e4) / 8.0,
                    "{element}: {products} {addends}"
                );
            }
        }
        let unsigned = Draw::Each(SmallIntegers::factors(ElementType::Uint8, 10).choice(Kind::Unsigned));
        assert!(unsigned.numbers(99, &mut Random::new("u")).iter().all(|number| (0..=8).contains(number)));
    }

    #[test]
    fn every_element_encodes_its_position_and_fits_no_narrower_type() {
        for (element, period, narrower) in [
            (ElementType::Int4, 13, None),
            (ElementType::Uint8, 251, None),
            (ElementType::Int16, 65_521, None),
            (ElementType::Int32, 131_071, Some(ElementType::Float)),
            (ElementType::Uint64, 4_194_301, Some(ElementType::Int64)),
            (ElementType::Int64, 4_194_301, Some(ElementType::Double)),
            (ElementType::Float16, 4093, None),
            (ElementType::Bfloat16, 509, Some(ElementType::Float16)),
            (ElementType::Float, 16_777_213, Some(ElementType::Float16)),
            (ElementType::Double, 16_777_213, Some(ElementType::Float)),
        ] {
            let count = (period + 10).min(1 << 18);
            let tensor = positions(element, tensor_builder(element, count)).unwrap();
            let bits: Vec<u64> = (0..count).map(|at| tensor.bits_at(at)).collect();
            let distinct: std::collections::BTreeSet<u64> = bits.iter().copied().collect();
            assert_eq!(distinct.len(), count.min(period), "{element}");
            if let Some(narrower) = narrower {
                let number = tensor.integers().get(count / 2 + 1).copied().unwrap_or(0);
                let via = if element.is_float() {
                    let value = tensor.floats()[count - 3];
                    narrower.round(value) == value
                } else if let Some(format) = narrower.float_format().filter(|_| narrower.is_float()) {
                    // An odd number larger than the mantissa holds is between two floats.
                    number % 2 == 0 || number.unsigned_abs() < 1 << (format.mantissa_bits + 1)
                } else {
                    narrower.decode_i128(narrower.saturate(number)) == number
                };
                assert!(!via, "{element} through {narrower}");
            }
        }
    }

    #[test]
    fn texts_have_the_requested_lengths() {
        let mut random = Random::new("texts");
        let texts: Vec<Arc<str>> = (15..300).map(|length| long_text(length, &mut random)).collect();
        assert!(texts.iter().zip(15..).all(|(text, length)| text.len() == length));
        assert!(texts.iter().any(|text| !text.is_ascii()));
    }
}
