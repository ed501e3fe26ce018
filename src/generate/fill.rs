//! Filling tensors with numbers that stay clear of rounding: integers, and multiples of a power of two near zero.
//!
//! Every second float or double, on average, is a multiple of 1/8; the others lie on a grid so fine that the next narrower type
//! cannot hold them, and so coarse that products of two, and sums of such products, are exact in double. `addends` and
//! `factors` are exact in the element type itself, and `position` tells each element by its place.

use std::sync::Arc;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::{Tensor, TensorBuilder, TensorError};
use serde::Deserialize;

use crate::generate::choice::Label;
use crate::generate::expression::Size;
use crate::generate::large::{Small, long_text, positions};
use crate::generate::literal::room;
use crate::generate::random::Random;

/// What a tensor is filled with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "no fill is written so; it is uniform, positive, nonzero, open_unit, non_ties, distinct, special, position, counted, ones, zeros, {range: [LOW, HIGH]}, {eighths: [LOW, HIGH]}, {indices: SIZE}, {addends: COUNT}, {factors: COUNT} or {texts: [LOW, HIGH]}"
)]
pub enum Fill {
    /// A range of its own name.
    NamedFill(NamedFill),
    /// Integers of a closed range, whatever the type.
    Range(Range),
    /// Eighths of the integers of a closed range.
    Eighths(Eighths),
    /// Positions in a dimension of a size: 0 to SIZE - 1.
    Indices(Indices),
    /// Integers so small, and where need be so few, that any sum of that many is exact in the element type.
    Addends(Addends),
    /// Integers so small, and where need be so few, that any sum of that many products of two is exact in the element type.
    Factors(Factors),
    /// Texts of lengths in a closed range.
    Texts(Texts),
}

/// A fill that is known by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NamedFill {
    /// Floats: multiples of 1/8 from -4 to 4, in `float` also of 2^-10, in `double` of 2^-23. Integers: -4 to 4, unsigned
    /// ones 0 to 8.
    Uniform,
    /// The positive ones of `uniform`.
    Positive,
    /// Those of `uniform` that are not 0.
    Nonzero,
    /// Floats: those of `uniform` strictly between -1 and 1. Integers: -1 to 1, unsigned ones 0 and 1.
    OpenUnit,
    /// Floats: odd multiples of 1/8 between -4 and 4, which lie halfway between no two integers. Integers: as `uniform`.
    NonTies,
    /// Each value once, in an order of its own, as far as the type has so many.
    Distinct,
    /// NaN, infinities, zeros of both signs, subnormals, and the ends of the range, in turn; of integers the ends. Types
    /// that have none are filled as by `uniform`.
    Special,
    /// Each element tells its place: counted through a prime number of values that the type holds exactly and narrower types
    /// do not, so that no tile, row or block of a usual size begins twice with the same.
    Position,
    /// 0, 1, 2 and so on: each place once, as an index.
    Counted,
    /// All 1.
    Ones,
    /// All 0.
    Zeros,
}

/// `{range: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Range {
    range: (i64, i64),
}

/// `{eighths: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Eighths {
    eighths: (i64, i64),
}

/// `{indices: SIZE}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Indices {
    /// The size of the dimension.
    pub indices: Size,
}

/// `{addends: COUNT}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Addends {
    /// How many are added up.
    pub addends: Size,
}

/// `{factors: COUNT}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// How many products are added up.
    pub factors: Size,
}

/// `{texts: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Texts {
    texts: (i64, i64),
}

impl Default for Fill {
    fn default() -> Fill {
        Fill::NamedFill(NamedFill::Uniform)
    }
}

impl Label for Fill {
    fn label(&self) -> String {
        match self {
            Fill::NamedFill(named) => format!("{named:?}").to_lowercase(),
            Fill::Range(Range { range: (low, high) }) => format!("{low}:{high}"),
            Fill::Eighths(Eighths { eighths: (low, high) }) => format!("{low}:{high}_8"),
            Fill::Indices(Indices { indices }) => format!("below:{indices}"),
            Fill::Addends(Addends { addends }) => format!("addends:{addends}"),
            Fill::Factors(Factors { factors }) => format!("factors:{factors}"),
            Fill::Texts(Texts { texts: (low, high) }) => format!("texts:{low}:{high}"),
        }
    }
}

/// The strings that tensors of strings are filled with.
const STRINGS: [&str; 8] = ["", "a", "b", "ab", "ONNX", "\u{fc}", "A", "x y"];

impl Fill {
    /// A tensor of this type and shape. `size` gives the value of the fill's own expression.
    pub fn tensor(
        &self,
        element: ElementType,
        shape: &[usize],
        random: &mut Random,
        size: impl Fn(&Size) -> Result<i64, String>,
    ) -> Result<Tensor, String> {
        let buffer = room(element, shape.to_vec())?;
        let count = buffer.len();
        let text = |error: TensorError| error.to_string();
        match self {
            Fill::NamedFill(NamedFill::Special) if has_ends(element.kind()) => special(element, buffer).map_err(text),
            Fill::NamedFill(named) => named.tensor(element, buffer, random).map_err(text),
            Fill::Range(Range { range: (low, high) }) => {
                let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(*low, *high))).collect();
                buffer.integers(values).map_err(text)
            }
            Fill::Eighths(Eighths { eighths: (low, high) }) => {
                let values: Vec<f64> = (0..count).map(|_| random.between(*low, *high) as f64 / 8.0).collect();
                buffer.floats(values).map_err(text)
            }
            Fill::Indices(Indices { indices }) => {
                let last = size(indices)?.saturating_sub(1);
                let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(0, last.max(0)))).collect();
                buffer.integers(values).map_err(text)
            }
            Fill::Addends(Addends { addends }) => {
                Small::addends(element, size(addends)?).fill(buffer, random).map_err(text)
            }
            Fill::Factors(Factors { factors }) => {
                Small::factors(element, size(factors)?).fill(buffer, random).map_err(text)
            }
            Fill::Texts(Texts { texts: (low, high) }) => {
                let words: Vec<Arc<str>> = (0..count).map(|_| long_text(random.between(*low, *high), random)).collect();
                buffer.strings(words).map_err(text)
            }
        }
    }
}

impl NamedFill {
    fn tensor(self, element: ElementType, buffer: TensorBuilder, random: &mut Random) -> Result<Tensor, TensorError> {
        if self == NamedFill::Position {
            return positions(element, buffer);
        }
        if self == NamedFill::Counted {
            let places = 0..buffer.len() as i128;
            return buffer.integers(places);
        }
        let count = buffer.len();
        match element.kind() {
            Kind::String => {
                let pick = |random: &mut Random| Arc::from(STRINGS[usize::try_from(random.between(0, 7)).unwrap_or(0)]);
                let strings: Vec<Arc<str>> = (0..count).map(|_| pick(random)).collect();
                buffer.strings(strings)
            }
            Kind::Bool => {
                let values: Vec<bool> = match self {
                    NamedFill::Ones => vec![true; count],
                    NamedFill::Zeros => vec![false; count],
                    _ => (0..count).map(|_| random.below(2) == 1).collect(),
                };
                buffer.bools(values)
            }
            Kind::Complex => {
                let mut part = || self.eighths(random) as f64 / 8.0;
                let values: Vec<_> = (0..count).map(|_| num_complex::Complex::new(part(), part())).collect();
                buffer.complexes(values)
            }
            Kind::Float if self == NamedFill::Distinct => {
                let values = distinct_floats(element, count, random);
                buffer.floats(values)
            }
            Kind::Float if element == ElementType::Float8e8m0 => {
                let values: Vec<f64> = (0..count).map(|_| libm::exp2(random.between(-2, 2) as f64)).collect();
                buffer.floats(values)
            }
            Kind::Float => {
                let values: Vec<f64> = (0..count).map(|_| self.float(element, random)).collect();
                buffer.floats(values)
            }
            Kind::Signed | Kind::Unsigned => {
                let values: Vec<i128> = if self == NamedFill::Distinct {
                    distinct_integers(element, count, random)
                } else {
                    let (low, high) = self.integers(element);
                    let skip_zero = self == NamedFill::Nonzero;
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

    /// A float: an eighth, or one nearer to zero by less than an eighth.
    fn float(self, element: ElementType, random: &mut Random) -> f64 {
        let eighths = self.eighths(random);
        let steps = match element {
            ElementType::Float => 1 << 7,
            ElementType::Double => 1 << 20,
            _ => 1,
        };
        if steps == 1 || matches!(self, NamedFill::Ones | NamedFill::Zeros) || random.below(2) == 0 {
            return eighths as f64 / 8.0;
        }
        // From the eighth towards zero, so that the ends of the range stay its ends.
        let back = random.between(0, steps - 1) as f64 / steps as f64;
        (eighths as f64 - (eighths.signum() as f64) * back) / 8.0
    }

    /// A float in eighths.
    fn eighths(self, random: &mut Random) -> i64 {
        match self {
            NamedFill::Positive => random.between(1, 32),
            NamedFill::OpenUnit => random.between(-7, 7),
            NamedFill::NonTies => 2 * random.between(-16, 15) + 1,
            NamedFill::Ones => 8,
            NamedFill::Zeros => 0,
            NamedFill::Nonzero => {
                let size = random.between(1, 32);
                if random.below(2) == 0 { size } else { -size }
            }
            NamedFill::Uniform
            | NamedFill::Distinct
            | NamedFill::Special
            | NamedFill::Position
            | NamedFill::Counted => random.between(-32, 32),
        }
    }

    /// The closed range of integers.
    fn integers(self, element: ElementType) -> (i64, i64) {
        let signed = element.kind() == Kind::Signed;
        let (low, high) = match self {
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
}

/// Every value once, around zero; where the type has fewer, they begin again.
fn distinct_floats(element: ElementType, count: usize, random: &mut Random) -> Vec<f64> {
    let order = random.permutation(count);
    if element.bits() >= 16 {
        let half = count as f64 / 2.0;
        return order.into_iter().map(|at| (at as f64 - half.floor()) / 4.0).collect();
    }
    let all = small_floats(element);
    order.into_iter().map(|at| all[at % all.len()]).collect()
}

/// The values of a type of at most 8 bits that are not far from 0.
pub(super) fn small_floats(element: ElementType) -> Vec<f64> {
    let all = (0..1u64 << element.bits()).map(|bits| element.decode_f64(bits));
    let is_small =
        |value: &f64| value.is_finite() && value.abs() <= 16.0 && !(*value == 0.0 && value.is_sign_negative());
    all.filter(is_small).collect()
}

fn distinct_integers(element: ElementType, count: usize, random: &mut Random) -> Vec<i128> {
    let half = if element.kind() == Kind::Signed { count as i128 / 2 } else { 0 };
    random.permutation(count).into_iter().map(|at| at as i128 - half).collect()
}

/// Whether numbers of a kind have a least and a greatest.
fn has_ends(kind: Kind) -> bool {
    matches!(kind, Kind::Float | Kind::Signed | Kind::Unsigned)
}

/// The values at which implementations go wrong, in turn.
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
