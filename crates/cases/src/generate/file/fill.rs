//! What a tensor is filled with: integers of a range, multiples of 1/8, positions, texts.

use serde::Deserialize;

use crate::generate::file::alternatives::Label;
use crate::generate::file::expression::Size;

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
    pub(crate) range: (i64, i64),
}

/// `{eighths: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Eighths {
    pub(crate) eighths: (i64, i64),
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
    pub(crate) texts: (i64, i64),
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

impl Fill {
    /// The expression that the fill needs the value of.
    pub(crate) fn expression(&self) -> Option<&Size> {
        match self {
            Fill::Indices(Indices { indices: size })
            | Fill::Addends(Addends { addends: size })
            | Fill::Factors(Factors { factors: size }) => Some(size),
            Fill::NamedFill(_) | Fill::Range(_) | Fill::Eighths(_) | Fill::Texts(_) => None,
        }
    }
}
