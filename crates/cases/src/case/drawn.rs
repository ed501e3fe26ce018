//! Tensors whose elements are drawn from a stream of random numbers, described so that any program can draw them again.
//!
//! `docs/archive.md` has the same rules for programs in other languages. Numbers are integers of 64 bits, which wrap.

use bytes::Bytes;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::proto::encode;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};

use crate::case::random::Random;

/// Largest refinement of a choice, as an exponent of two.
const MAX_REFINED: u8 = 62;

/// The elements of a tensor as draws from a stream. A complex element is two numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DrawnTensor {
    /// Type of the elements.
    pub(crate) element: ElementType,
    /// Number of elements.
    pub(crate) count: usize,
    /// State of the stream before the first draw.
    pub(crate) state: u64,
    /// Rule of the draws.
    pub(crate) draw: Draw,
    /// Exponent of the power of two that divides each number. Integers are not divided.
    pub(crate) scale: u8,
}

/// Rule for drawing numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draw {
    /// Independent draws of each number.
    Each(Choice),
    /// Consecutive numbers from this one on, in random order.
    Shuffled(i64),
}

/// Choice of a number: `low` plus a multiple of `step`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choice {
    pub(crate) low: i64,
    pub(crate) step: u64,
    /// Number of multiples, from 0 on.
    pub(crate) choices: u64,
    /// One in this many numbers is drawn; the others are 0.
    pub(crate) one_in: u64,
    /// Chooses again after a 0.
    pub(crate) redraws_zero: bool,
    /// Negates half of the numbers, on average.
    pub(crate) has_sign: bool,
    /// Exponent of a factor of two, if not 0. Numbers are multiplied by the factor, and half of them, on average, move towards 0 by a
    /// part of it.
    pub(crate) refined_by: u8,
}

impl Choice {
    /// Chooses among the integers of a closed range.
    pub(crate) fn between(low: i64, high: i64) -> Choice {
        let choices = high.abs_diff(low).saturating_add(1);
        Choice { low, step: 1, choices, one_in: 1, redraws_zero: false, has_sign: false, refined_by: 0 }
    }

    /// Returns true if a number can be drawn: there is a choice, and one other than 0 if zeros are drawn again.
    fn is_valid(&self) -> bool {
        let has_other = self.choices > 1 && self.step > 0;
        self.choices > 0 && self.one_in > 0 && self.refined_by <= MAX_REFINED && (has_other || !self.redraws_zero)
    }

    fn multiple(&self, random: &mut Random) -> i64 {
        self.low.wrapping_add_unsigned(random.below(self.choices).wrapping_mul(self.step))
    }

    fn draw(&self, random: &mut Random) -> i64 {
        if self.one_in > 1 && random.below(self.one_in) != 0 {
            return 0;
        }
        let mut number = self.multiple(random);
        while number == 0 && self.redraws_zero {
            number = self.multiple(random);
        }
        if self.has_sign && random.below(2) == 1 {
            number = number.wrapping_neg();
        }
        if self.refined_by == 0 {
            return number;
        }
        let factor = 1_i64 << self.refined_by;
        let part = if random.below(2) == 1 { random.between(0, factor - 1) } else { 0 };
        number.wrapping_mul(factor).wrapping_sub(number.signum().wrapping_mul(part))
    }

    /// Returns an upper bound for the magnitude of drawn numbers that do not wrap.
    fn largest(&self) -> u128 {
        let span = u128::from(self.choices.saturating_sub(1)) * u128::from(self.step);
        let last = i128::from(self.low).saturating_add_unsigned(span).unsigned_abs();
        last.max(self.low.unsigned_abs().into()).saturating_mul(1 << self.refined_by)
    }
}

impl Draw {
    /// Draws numbers.
    pub(crate) fn numbers(&self, count: usize, random: &mut Random) -> Vec<i64> {
        match self {
            Draw::Each(choice) => (0..count).map(|_| choice.draw(random)).collect(),
            Draw::Shuffled(first) => {
                random.permutation(count).into_iter().map(|at| first.wrapping_add_unsigned(at as u64)).collect()
            }
        }
    }
}

impl DrawnTensor {
    /// Returns true if elements can be drawn by the rule.
    pub(crate) fn is_valid(&self) -> bool {
        let can_draw = match &self.draw {
            Draw::Each(choice) => choice.is_valid(),
            Draw::Shuffled(_) => true,
        };
        can_draw && self.element.kind() != Kind::String
    }

    /// Returns true if the elements differ, and the type holds every number that may be drawn.
    pub(crate) fn is_exact(&self) -> bool {
        let largest = match &self.draw {
            Draw::Each(choice) if choice.choices == 1 => return false,
            Draw::Each(choice) => choice.largest(),
            Draw::Shuffled(first) => {
                let last = i128::from(*first) + self.count as i128 - 1;
                last.unsigned_abs().max(first.unsigned_abs().into())
            }
        };
        let component = self.element.component();
        let Some(format) = component.float_format() else { return self.scale == 0 };
        let unit = unit(self.scale);
        let ends = [unit, largest as f64 * unit];
        largest <= 1 << (format.mantissa_bits + 1) && ends.into_iter().all(|end| component.round(end) == end)
    }

    /// Returns the number of bytes in `raw_data`.
    pub(crate) fn length(&self) -> Option<usize> {
        let bits = self.count.checked_mul(usize::try_from(self.element.bits()).ok()?)?;
        Some(bits.div_ceil(8))
    }

    /// Draws the elements into a tensor.
    pub(crate) fn tensor(&self, buffer: TensorBuilder) -> Result<Tensor, TensorError> {
        let (random, unit) = (&mut Random::from_state(self.state), unit(self.scale));
        let mut numbers = |count| self.draw.numbers(count, random);
        match self.element.kind() {
            Kind::Float => {
                let numbers = numbers(buffer.len());
                buffer.floats(numbers.into_iter().map(|number| number as f64 * unit))
            }
            Kind::Complex => {
                let numbers: Vec<f64> = numbers(2 * buffer.len()).into_iter().map(|part| part as f64 * unit).collect();
                buffer.complexes(numbers.as_chunks::<2>().0.iter().map(|[re, im]| num_complex::Complex::new(*re, *im)))
            }
            Kind::Signed | Kind::Unsigned | Kind::Bool | Kind::String => {
                let numbers = numbers(buffer.len());
                buffer.integers(numbers.into_iter().map(i128::from))
            }
        }
    }

    /// Draws the elements as in `raw_data`.
    pub(crate) fn raw(&self) -> Result<Bytes, TensorError> {
        let tensor = self.tensor(TensorBuilder::unlimited(self.element, vec![self.count])?)?;
        Ok(encode::tensor(&tensor, "").raw_data.unwrap_or_default())
    }
}

/// Returns 2 to the power of minus `scale`.
fn unit(scale: u8) -> f64 {
    f64::from_bits((1023 - u64::from(scale)) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(draw: &Draw, count: usize) -> Vec<i64> {
        draw.numbers(count, &mut Random::from_state(0))
    }

    #[test]
    fn draws_follow_the_published_numbers_of_the_stream() {
        // The first outputs of SplitMix64 from state 0, as its authors publish them, are e220a8397b1dcdaf, 6e789e6aa1b965f4 and
        // 06c45d188009454f. Arithmetic without a limit of bits gave the numbers below.
        let plain = Choice::between(-32, 32);
        let all = Choice { low: -3, step: 2, choices: 4, one_in: 2, redraws_zero: true, has_sign: true, refined_by: 2 };
        for (choice, expected) in [
            (plain.clone(), vec![3, -32, -18, 32, -15, 23]),
            (Choice { step: 2, ..Choice::between(-31, 0) }, vec![-1, 9, -1, -7, 23, -11]),
            (Choice { one_in: 3, ..Choice::between(-8, 8) }, vec![0, 1, 0, 0, 1, 0, 0, 0, 0, 0, -6, 0]),
            (Choice { redraws_zero: true, ..Choice::between(-1, 1) }, vec![-1, -1, 1, 1, 1, 1]),
            (Choice { has_sign: true, ..Choice::between(1, 32) }, vec![16, 16, 28, 2, 4, 10]),
            (Choice { refined_by: 7, ..plain }, vec![384, -2304, -1920, -1152, -1024, -3328]),
            (all, vec![0, 10, 0, 10, 0, 0, 0, 0, 0, -11, 12, 3]),
            (Choice::between(i64::MIN, i64::MAX), vec![7_070_836_379_803_831_727, -1_263_085_514_660_420_108]),
        ] {
            assert_eq!(numbers(&Draw::Each(choice.clone()), expected.len()), expected, "{choice:?}");
        }
        assert_eq!(numbers(&Draw::Shuffled(-3), 6), [1, -1, 2, 0, -3, -2]);
    }

    #[test]
    fn a_type_holds_the_drawn_numbers_or_they_are_not_exact() {
        for element in ElementType::ALL.into_iter().filter(|element| element.kind() != Kind::String) {
            let count = 300;
            for (draw, scale) in [
                (Draw::Each(Choice::between(-8, 8)), 0),
                (Draw::Each(Choice::between(-32, 32)), 3),
                (Draw::Each(Choice { refined_by: 7, ..Choice::between(-32, 32) }), 10),
                (Draw::Shuffled(-150), 2),
                (Draw::Shuffled(-150), 0),
            ] {
                let drawn = DrawnTensor { element, count, state: 5, draw, scale };
                let tensor = drawn.tensor(TensorBuilder::unlimited(element, vec![count]).unwrap()).unwrap();
                assert_eq!(drawn.raw().unwrap().len(), drawn.length().unwrap(), "{element}");
                if element.is_float() && drawn.is_exact() {
                    let whole = numbers_of(&drawn).into_iter().map(|number| number as f64 / f64::from(1 << scale));
                    assert!(tensor.floats().into_iter().eq(whole), "{drawn:?}");
                }
            }
        }
        let is_exact = |element, draw, scale| DrawnTensor { element, count: 300, state: 5, draw, scale }.is_exact();
        let refined = || Draw::Each(Choice { refined_by: 7, ..Choice::between(-32, 32) });
        assert!(is_exact(ElementType::Float, refined(), 10) && is_exact(ElementType::Complex64, refined(), 10));
        assert!(!is_exact(ElementType::Float16, refined(), 10) && !is_exact(ElementType::Bfloat16, refined(), 10));
        assert!(is_exact(ElementType::Bfloat16, Draw::Shuffled(-150), 2));
        assert!(!is_exact(ElementType::Bfloat16, Draw::Shuffled(0), 2));
        assert!(is_exact(ElementType::Int4, Draw::Shuffled(-150), 0) && !is_exact(ElementType::Int32, refined(), 1));
        assert!(!is_exact(ElementType::Float, Draw::Each(Choice::between(1, 1)), 0), "no draw");
    }

    fn numbers_of(drawn: &DrawnTensor) -> Vec<i64> {
        drawn.draw.numbers(drawn.count, &mut Random::from_state(drawn.state))
    }

    #[test]
    fn a_choice_without_an_end_is_invalid() {
        let check = |choice: Choice, expected| {
            let (element, draw) = (ElementType::Float, Draw::Each(choice));
            let drawn = DrawnTensor { element, count: 1, state: 0, draw, scale: 0 };
            assert_eq!(drawn.is_valid(), expected, "{drawn:?}");
        };
        check(Choice::between(0, 1), true);
        check(Choice { choices: 0, ..Choice::between(0, 1) }, false);
        check(Choice { one_in: 0, ..Choice::between(0, 1) }, false);
        check(Choice { refined_by: 63, ..Choice::between(0, 1) }, false);
        check(Choice { redraws_zero: true, ..Choice::between(0, 0) }, false);
        check(Choice { redraws_zero: true, step: 0, ..Choice::between(0, 1) }, false);
    }
}
