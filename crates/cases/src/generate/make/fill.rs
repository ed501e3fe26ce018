//! Fills of tensors without rounding: integers, and multiples of a power of two near zero.
//!
//! On average, every second float or double is a multiple of 1/8. The others lie on a grid. It is so fine that the next
//! narrower type cannot hold them, and so coarse that products of two, and sums of such products, are exact in double.
//! `addends` and `factors` are exact in the element type itself, and `position` encodes the position of each element.

use std::sync::Arc;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};

use crate::generate::file::fill::{Eighths, Fill, NamedFill, Range, Texts};
use crate::generate::file::literal::{LiteralError, tensor_builder};
use crate::generate::make::large::{SmallIntegers, long_text, positions, small_floats};
use crate::generate::plan::value_plan::FillPlan;
use crate::generate::random::Random;

/// Elements of filled string tensors.
const STRINGS: [&str; 8] = ["", "a", "b", "ab", "ONNX", "\u{fc}", "A", "x y"];

/// Makes the tensor of a plan, with random numbers from a stream.
pub(crate) fn filled(plan: &FillPlan, random: &mut Random) -> Result<Tensor, LiteralError> {
    let buffer = tensor_builder(plan.element, plan.shape.clone())?;
    let count = buffer.len();
    let tensor = match &plan.fill {
        Fill::NamedFill(NamedFill::Special) if has_ends(plan.element.kind()) => special(plan.element, buffer),
        Fill::NamedFill(named) => named_fill(*named, plan.element, buffer, random),
        Fill::Range(Range { range: (low, high) }) => {
            let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(*low, *high))).collect();
            buffer.integers(values)
        }
        Fill::Eighths(Eighths { eighths: (low, high) }) => {
            let values: Vec<f64> = (0..count).map(|_| random.between(*low, *high) as f64 / 8.0).collect();
            buffer.floats(values)
        }
        Fill::Indices(_) => {
            let last = plan.size.saturating_sub(1);
            let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(0, last.max(0)))).collect();
            buffer.integers(values)
        }
        Fill::Addends(_) => SmallIntegers::addends(plan.element, plan.size).fill(buffer, random),
        Fill::Factors(_) => SmallIntegers::factors(plan.element, plan.size).fill(buffer, random),
        Fill::Texts(Texts { texts: (low, high) }) => {
            let words: Vec<Arc<str>> = (0..count).map(|_| long_text(random.between(*low, *high), random)).collect();
            buffer.strings(words)
        }
    };
    Ok(tensor?)
}

/// Makes the tensor of a named fill.
fn named_fill(
    named: NamedFill,
    element: ElementType,
    buffer: TensorBuilder,
    random: &mut Random,
) -> Result<Tensor, TensorError> {
    if named == NamedFill::Position {
        return positions(element, buffer);
    }
    if named == NamedFill::Counted {
        let places = 0..buffer.len() as i128;
        return buffer.integers(places);
    }
    let count = buffer.len();
    match element.kind() {
        Kind::String => {
            let draw = |random: &mut Random| Arc::from(STRINGS[usize::try_from(random.between(0, 7)).unwrap_or(0)]);
            let strings: Vec<Arc<str>> = (0..count).map(|_| draw(random)).collect();
            buffer.strings(strings)
        }
        Kind::Bool => {
            let values: Vec<bool> = match named {
                NamedFill::Ones => vec![true; count],
                NamedFill::Zeros => vec![false; count],
                _ => (0..count).map(|_| random.below(2) == 1).collect(),
            };
            buffer.bools(values)
        }
        Kind::Complex => {
            let mut part = || eighths(named, random) as f64 / 8.0;
            let values: Vec<_> = (0..count).map(|_| num_complex::Complex::new(part(), part())).collect();
            buffer.complexes(values)
        }
        Kind::Float if named == NamedFill::Distinct => {
            let values = distinct_floats(element, count, random);
            buffer.floats(values)
        }
        Kind::Float if element == ElementType::Float8e8m0 => {
            let values: Vec<f64> = (0..count).map(|_| libm::exp2(random.between(-2, 2) as f64)).collect();
            buffer.floats(values)
        }
        Kind::Float => {
            let values: Vec<f64> = (0..count).map(|_| float(named, element, random)).collect();
            buffer.floats(values)
        }
        Kind::Signed | Kind::Unsigned => {
            let values: Vec<i128> = if named == NamedFill::Distinct {
                distinct_integers(element, count, random)
            } else {
                let (low, high) = integers(named, element);
                let skip_zero = named == NamedFill::Nonzero;
                let mut next = || loop {
                    let value = random.between(low, high);
                    if value != 0 || !skip_zero {
                        return i128::from(value);
                    }
                };
                (0..count).map(|_| next()).collect()
            };
            buffer.integers(values)
        }
    }
}

/// Draws a float: an eighth, or a number nearer to zero by less than an eighth.
fn float(named: NamedFill, element: ElementType, random: &mut Random) -> f64 {
    let eighths = eighths(named, random);
    let steps = match element {
        ElementType::Float => 1 << 7,
        ElementType::Double => 1 << 20,
        _ => 1,
    };
    if steps == 1 || matches!(named, NamedFill::Ones | NamedFill::Zeros) || random.below(2) == 0 {
        return eighths as f64 / 8.0;
    }
    // The offset is towards zero, so that the range keeps its ends.
    let back = random.between(0, steps - 1) as f64 / steps as f64;
    (eighths as f64 - (eighths.signum() as f64) * back) / 8.0
}

/// Draws a float in eighths.
fn eighths(named: NamedFill, random: &mut Random) -> i64 {
    match named {
        NamedFill::Positive => random.between(1, 32),
        NamedFill::OpenUnit => random.between(-7, 7),
        NamedFill::NonTies => 2 * random.between(-16, 15) + 1,
        NamedFill::Ones => 8,
        NamedFill::Zeros => 0,
        NamedFill::Nonzero => {
            let size = random.between(1, 32);
            if random.below(2) == 0 { size } else { -size }
        }
        NamedFill::Uniform | NamedFill::Distinct | NamedFill::Special | NamedFill::Position | NamedFill::Counted => {
            random.between(-32, 32)
        }
    }
}

/// Returns the closed range of integers.
fn integers(named: NamedFill, element: ElementType) -> (i64, i64) {
    let signed = element.kind() == Kind::Signed;
    let (low, high) = match named {
        NamedFill::Ones => (1, 1),
        NamedFill::Zeros => (0, 0),
        NamedFill::Positive => (1, 8),
        NamedFill::OpenUnit => (if signed { -1 } else { 0 }, 1),
        _ if signed => (-4, 4),
        _ => (0, 8),
    };
    let end = |value: i64| {
        let clamped = element.decode_i128(element.saturate(i128::from(value)));
        i64::try_from(clamped).unwrap_or(value)
    };
    (end(low), end(high))
}

/// Returns distinct values around zero, in random order. A type with fewer values repeats them.
fn distinct_floats(element: ElementType, count: usize, random: &mut Random) -> Vec<f64> {
    let order = random.permutation(count);
    if element.bits() >= 16 {
        let half = count as f64 / 2.0;
        return order.into_iter().map(|at| (at as f64 - half.floor()) / 4.0).collect();
    }
    let all = small_floats(element);
    order.into_iter().map(|at| all[at % all.len()]).collect()
}

fn distinct_integers(element: ElementType, count: usize, random: &mut Random) -> Vec<i128> {
    let half = if element.kind() == Kind::Signed { count as i128 / 2 } else { 0 };
    random.permutation(count).into_iter().map(|at| at as i128 - half).collect()
}

/// Returns true if numbers of a kind have a smallest and a largest value.
fn has_ends(kind: Kind) -> bool {
    matches!(kind, Kind::Float | Kind::Signed | Kind::Unsigned)
}

/// Fills with special values that implementations often get wrong, in turn.
fn special(element: ElementType, buffer: TensorBuilder) -> Result<Tensor, TensorError> {
    let count = buffer.len();
    match element.float_format() {
        Some(_) if element.is_float() => {
            let largest = element.max_finite().unwrap_or(1.0);
            let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.0, -1.0, largest, -largest];
            let mut bits: Vec<u64> = values.iter().map(|&value| element.encode(value)).collect();
            bits.push(1);
            buffer.bits((0..count).map(|at| bits[at % bits.len()]))
        }
        _ => {
            let (low, high) = (i128::from(i64::MIN), i128::from(u64::MAX));
            let ends = [low, high, -1, 0, 1].map(|value| element.decode_i128(element.saturate(value)));
            buffer.integers((0..count).map(|at| ends[at % ends.len()]))
        }
    }
}
