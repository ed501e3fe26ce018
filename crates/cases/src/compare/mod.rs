//! Comparison of an actual value with the expected one by a rule. Pure functions.

mod bound;
mod distance;
pub(crate) mod element_name;
mod rule;
pub mod statistics;
#[cfg(test)]
mod tests;
pub mod unordered;
mod values;

pub use bound::{BoundShare, UsedBound};
pub use distance::Distance;
pub use rule::{Accuracy, UPSTREAM, UPSTREAM_ABSOLUTE, UPSTREAM_RELATIVE};
pub use values::{Agreement, Difference, DifferenceKind, all_of, compare, compare_bounded};
