//! Fills of tensors without rounding: integers, and multiples of a power of two near zero.
//!
//! On average, half of the floats and doubles are multiples of 1/8. The others lie on a grid that is too fine for the
//! next narrower type, but coarse enough for exact products of two, and sums of such products, in double. `addends` and
//! `factors` are exact in the element type itself, and `position` encodes the position of each element.

use std::sync::Arc;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::shape::element_count;
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};

use crate::case::{Choice, Draw, DrawnTensor, Random};
use crate::generate::file::fill::{Eighths, Fill, NamedFill, Range, Texts};
use crate::generate::file::literal::{LiteralError, tensor_builder};
use crate::generate::make::large::{SmallIntegers, long_text, positions, small_floats};
use crate::generate::plan::value_plan::FillPlan;

/// Elements of filled string tensors.
const STRINGS: [&str; 8] = ["", "a", "b", "ab", "ONNX", "\u{fc}", "A", "x y"];

/// Makes the tensor of a plan from the random stream of this name.
pub(crate) fn filled(plan: &FillPlan, stream: &str) -> Result<Tensor, LiteralError> {
    let buffer = tensor_builder(plan.element, plan.shape.clone())?;
    if let Some(drawn) = drawn(plan, stream) {
        return Ok(drawn.tensor(buffer)?);
    }
    let random = &mut Random::new(stream);
    let count = buffer.len();
    let tensor = match (&plan.fill, draw(plan, count)) {
        (Fill::NamedFill(NamedFill::Position), _) => positions(plan.element, buffer),
        (Fill::NamedFill(NamedFill::Counted), _) => buffer.integers(0..count as i128),
        (Fill::NamedFill(NamedFill::Special), _) if has_ends(plan.element.kind()) => special(plan.element, buffer),
        // Eighths of an integer are truncated, and a range of complex numbers is real.
        (_, Some((draw, scale))) => {
            let unit = libm::exp2(-f64::from(scale));
            buffer.floats(draw.numbers(count, random).into_iter().map(|number| number as f64 * unit))
        }
        (Fill::Texts(Texts { texts: (low, high) }), None) => {
            let words: Vec<Arc<str>> = (0..count).map(|_| long_text(random.between(*low, *high), random)).collect();
            buffer.strings(words)
        }
        (Fill::NamedFill(_), None) if plan.element.kind() == Kind::String => {
            let text = |random: &mut Random| Arc::from(STRINGS[usize::try_from(random.between(0, 7)).unwrap_or(0)]);
            let strings: Vec<Arc<str>> = (0..count).map(|_| text(random)).collect();
            buffer.strings(strings)
        }
        (Fill::NamedFill(NamedFill::Distinct), None) => {
            let all = small_floats(plan.element);
            buffer.floats(random.permutation(count).into_iter().map(|at| all[at % all.len()]))
        }
        (_, None) => {
            let values: Vec<f64> = (0..count).map(|_| libm::exp2(random.between(-2, 2) as f64)).collect();
            buffer.floats(values)
        }
    };
    Ok(tensor?)
}

/// Returns the draws for the tensor of a plan, if all of its elements are drawn.
pub(crate) fn drawn(plan: &FillPlan, stream: &str) -> Option<DrawnTensor> {
    let count = element_count(&plan.shape).ok()?;
    let (draw, scale) = draw(plan, count)?;
    let has_fraction = plan.element.is_float() || scale == 0;
    let has_parts = matches!(plan.fill, Fill::NamedFill(_));
    let is_plain = if plan.element.kind() == Kind::Complex { has_parts } else { has_fraction };
    let state = Random::new(stream).state();
    is_plain.then_some(DrawnTensor { element: plan.element, count, state, draw, scale })
}

/// Returns the rule for drawing the numbers of a fill, and the exponent of the power of two that divides them. Returns
/// `None` for other fills.
fn draw(plan: &FillPlan, count: usize) -> Option<(Draw, u8)> {
    let element = plan.element;
    let (choice, scale) = match &plan.fill {
        _ if element.kind() == Kind::String => return None,
        Fill::NamedFill(named) => return named_draw(*named, element, count),
        Fill::Range(Range { range: (low, high) }) => (Choice::between(*low, *high), 0),
        Fill::Eighths(Eighths { eighths: (low, high) }) => (Choice::between(*low, *high), 3),
        Fill::Indices(_) => (Choice::between(0, plan.size.saturating_sub(1).max(0)), 0),
        Fill::Addends(_) => (SmallIntegers::addends(element, plan.size).choice(element.kind()), 0),
        Fill::Factors(_) => (SmallIntegers::factors(element, plan.size).choice(element.kind()), 0),
        Fill::Texts(_) => return None,
    };
    Some((Draw::Each(choice), scale))
}

/// Returns the rule of a named fill, except for strings.
fn named_draw(named: NamedFill, element: ElementType, count: usize) -> Option<(Draw, u8)> {
    let half = i64::try_from(count / 2).ok()?;
    let (choice, scale) = match (element.kind(), named) {
        (_, NamedFill::Position | NamedFill::Counted) | (Kind::String, _) => return None,
        (kind, NamedFill::Special) if has_ends(kind) => return None,
        (Kind::Bool, NamedFill::Ones) => (Choice::between(1, 1), 0),
        (Kind::Bool, NamedFill::Zeros) => (Choice::between(0, 0), 0),
        (Kind::Bool, _) => (Choice::between(0, 1), 0),
        (Kind::Complex, _) => (eighths(named), 3),
        // Values around zero. A type with fewer values repeats them.
        (Kind::Float, NamedFill::Distinct) if element.bits() >= 16 => return Some((Draw::Shuffled(-half), 2)),
        (Kind::Signed, NamedFill::Distinct) => return Some((Draw::Shuffled(-half), 0)),
        (Kind::Unsigned, NamedFill::Distinct) => return Some((Draw::Shuffled(0), 0)),
        (Kind::Float, NamedFill::Distinct) => return None,
        (Kind::Float, _) if element == ElementType::Float8e8m0 => return None,
        (Kind::Float, _) => {
            // Offsets are towards zero, so that the range keeps its ends.
            let refined_by = match element {
                _ if matches!(named, NamedFill::Ones | NamedFill::Zeros) => 0,
                ElementType::Float => 7,
                ElementType::Double => 20,
                _ => 0,
            };
            (Choice { refined_by, ..eighths(named) }, 3 + refined_by)
        }
        (Kind::Signed | Kind::Unsigned, _) => {
            let (low, high) = integers(named, element);
            (Choice { redraws_zero: named == NamedFill::Nonzero, ..Choice::between(low, high) }, 0)
        }
    };
    Some((Draw::Each(choice), scale))
}

/// Returns the draw of a number of eighths.
fn eighths(named: NamedFill) -> Choice {
    match named {
        NamedFill::Positive => Choice::between(1, 32),
        NamedFill::OpenUnit => Choice::between(-7, 7),
        // Odd numbers from -31 to 31.
        NamedFill::NonTies => Choice { step: 2, ..Choice::between(-31, 0) },
        NamedFill::Ones => Choice::between(8, 8),
        NamedFill::Zeros => Choice::between(0, 0),
        NamedFill::Nonzero => Choice { has_sign: true, ..Choice::between(1, 32) },
        NamedFill::Uniform | NamedFill::Distinct | NamedFill::Special | NamedFill::Position | NamedFill::Counted => {
            Choice::between(-32, 32)
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
