//! Expected value, rule, actual value: a verdict. Pure.

pub mod chance;
pub mod order;
mod rule;
#[cfg(test)]
mod tests;
mod values;

pub use rule::Accuracy;
pub use values::{Agreement, Difference, DifferenceKind, compare, compare_bounded};
