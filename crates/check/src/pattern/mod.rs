//! Patterns: small graphs that are looked for in models.
//!
//! A model contains a pattern if some of its nodes have the same operator versions, connections and attributes, and if
//! their values have the same types, ranks and sources, and are used in the same way. Missing information is never a
//! match.

mod compare;
mod constant;
mod index;
mod search;
mod shape;
mod strictness;

#[cfg(test)]
mod tests;

pub use index::ModelIndex;
pub use search::Match;
pub use shape::Pattern;
pub use strictness::{Constants, Sizes, Strictness, UnknownStrictness};
