//! Expected value, rule, actual value: a verdict. Pure.

mod distance;
mod rule;
pub mod statistics;
#[cfg(test)]
mod tests;
pub mod unordered;
mod values;

pub use distance::Distance;
pub use rule::Accuracy;
pub use values::{Agreement, Difference, DifferenceKind, compare, compare_bounded};
