//! Expected value, rule, actual value: a verdict. Pure.

mod rule;
pub mod statistics;
#[cfg(test)]
mod tests;
pub mod unordered;
mod values;

pub use rule::Accuracy;
pub use values::{Agreement, Difference, DifferenceKind, compare, compare_bounded};
