//! The knowledge of shape inference about the outputs of a model.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Inferred knowledge about every output of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Completeness {
    /// Nothing is known about an output.
    Nothing,
    /// The types are known.
    Type,
    /// The types and ranks are known.
    Rank,
    /// The types and all sizes are known.
    Shape,
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Completeness::Nothing => "nothing",
            Completeness::Type => "type",
            Completeness::Rank => "rank",
            Completeness::Shape => "shape",
        })
    }
}
