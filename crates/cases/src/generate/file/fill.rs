//! Fills of tensors: integers of a range, multiples of 1/8, positions, texts.

use serde::{Deserialize, Serialize};

use crate::generate::file::alternatives::Label;
use crate::generate::file::expression::Size;

/// Fill of a tensor.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "not a fill; write uniform, positive, nonzero, open_unit, non_ties, distinct, special, position, counted, ones, zeros, {range: [LOW, HIGH]}, {eighths: [LOW, HIGH]}, {indices: SIZE}, {addends: COUNT}, {factors: COUNT} or {texts: [LOW, HIGH]}"
)]
pub enum Fill {
    /// A fill with a name.
    NamedFill(NamedFill),
    /// Integers of a closed range, in any type.
    Range(Range),
    /// Eighths of the integers of a closed range.
    Eighths(Eighths),
    /// Positions in a dimension of size SIZE: 0 to SIZE - 1.
    Indices(Indices),
    /// Integers so small, and if necessary so rarely nonzero, that any sum of COUNT of them is exact in the element
    /// type.
    Addends(Addends),
    /// Integers so small, and if necessary so rarely nonzero, that any sum of COUNT products of two is exact in the
    /// element type.
    Factors(Factors),
    /// Texts of lengths in a closed range.
    Texts(Texts),
}

/// A fill with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NamedFill {
    /// Floats: multiples of 1/8 from -4 to 4, also of 2^-10 in `float` and of 2^-23 in `double`. Integers: -4 to 4, or
    /// 0 to 8 if unsigned.
    Uniform,
    /// The positive values of `uniform`.
    Positive,
    /// The nonzero values of `uniform`.
    Nonzero,
    /// Floats: the values of `uniform` strictly between -1 and 1. Integers: -1 to 1, or 0 and 1 if unsigned.
    OpenUnit,
    /// Floats: odd multiples of 1/8 between -4 and 4, never halfway between two integers. Integers: as `uniform`.
    NonTies,
    /// Each value once, in random order, as far as the type has enough values.
    Distinct,
    /// NaN, infinities, zeros of both signs, subnormals, and the ends of the range, in turn; for integers the ends.
    /// Types without such values are filled as by `uniform`.
    Special,
    /// Each element encodes its position, modulo a prime number of values. The type holds them exactly, and narrower
    /// types do not. No two tiles, rows or blocks of a usual size begin with the same value.
    Position,
    /// 0, 1, 2 and so on: each position once, as an index.
    Counted,
    /// All 1.
    Ones,
    /// All 0.
    Zeros,
}

/// `{range: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub(crate) range: (i64, i64),
}

/// `{eighths: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Eighths {
    pub(crate) eighths: (i64, i64),
}

/// `{indices: SIZE}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Indices {
    /// The size of the dimension.
    pub indices: Size,
}

/// `{addends: COUNT}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Addends {
    /// The number of terms in a sum.
    pub addends: Size,
}

/// `{factors: COUNT}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// The number of products in a sum.
    pub factors: Size,
}

/// `{texts: [LOW, HIGH]}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
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
    /// Returns the expression whose value the fill needs.
    pub(crate) fn expression(&self) -> Option<&Size> {
        match self {
            Fill::Indices(Indices { indices: size })
            | Fill::Addends(Addends { addends: size })
            | Fill::Factors(Factors { factors: size }) => Some(size),
            Fill::NamedFill(_) | Fill::Range(_) | Fill::Eighths(_) | Fill::Texts(_) => None,
        }
    }
}
