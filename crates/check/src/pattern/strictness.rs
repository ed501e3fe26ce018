//! Strictness of a search: how much sizes and constants may differ from those of a pattern.

use std::fmt;
use std::str::FromStr;

/// Sizes that a value of a model may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// An axis of size 0 or 1 has this size in both, except that the first axis of a computed value, which is the batch, may have
    /// size 1 in the model.
    Batches,
    /// An axis of size 0 or 1 has this size in both.
    Ones,
    /// Like the previous level, and a size that is known in the pattern is known in the model.
    Known,
}

/// Constants that a model may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// Constants of the same kind: zero, one, another positive number, an infinity and so on.
    Kind,
    /// Like the previous level, and single elements are equal.
    Scalars,
    /// Equal constants.
    Equal,
}

/// Strictness of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strictness {
    /// The sizes.
    pub sizes: Sizes,
    /// The constants.
    pub constants: Constants,
}

/// A text that names no strictness.
#[derive(Debug, thiserror::Error)]
#[error("'{0}' is no strictness; write sizes and constants, as in ones/kind")]
pub struct UnknownStrictness(String);

impl Sizes {
    /// Returns the same for an axis that is not a batch.
    pub(super) fn without_batches(self) -> Sizes {
        if self == Sizes::Batches { Sizes::Ones } else { self }
    }
}

impl Strictness {
    /// All levels, from the most tolerant to the strictest.
    pub const ALL: [Strictness; 8] = [
        Strictness::new(Sizes::Batches, Constants::Kind),
        Strictness::new(Sizes::Ones, Constants::Kind),
        Strictness::new(Sizes::Known, Constants::Kind),
        Strictness::new(Sizes::Batches, Constants::Scalars),
        Strictness::new(Sizes::Ones, Constants::Scalars),
        Strictness::new(Sizes::Known, Constants::Scalars),
        Strictness::new(Sizes::Ones, Constants::Equal),
        Strictness::new(Sizes::Known, Constants::Equal),
    ];

    /// Makes a strictness of its parts.
    pub const fn new(sizes: Sizes, constants: Constants) -> Strictness {
        Strictness { sizes, constants }
    }
}

impl fmt::Display for Strictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = match self.sizes {
            Sizes::Batches => "batches",
            Sizes::Ones => "ones",
            Sizes::Known => "known",
        };
        let constants = match self.constants {
            Constants::Kind => "kind",
            Constants::Scalars => "scalars",
            Constants::Equal => "equal",
        };
        write!(f, "{sizes}/{constants}")
    }
}

impl FromStr for Strictness {
    type Err = UnknownStrictness;

    fn from_str(text: &str) -> Result<Strictness, UnknownStrictness> {
        let is_named = |strictness: &Strictness| strictness.to_string() == text;
        Strictness::ALL.into_iter().find(is_named).ok_or_else(|| UnknownStrictness(text.to_owned()))
    }
}
