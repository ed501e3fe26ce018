//! Expected value, rule, actual value: a verdict. Pure.

pub mod chance;
mod rule;
mod values;

pub use rule::Accuracy;
pub use values::{Agreement, Difference, DifferenceKind, compare, compare_bounded};
