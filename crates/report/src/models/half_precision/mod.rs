//! Conversion to half precision, with the nodes that lose too much kept in float.
//!
//! The original model runs on the built-in executor, in double if all its operators take it. Each node then runs alone
//! in half precision, on its values in this run, so an error is found at the node that makes it. Finally both models
//! run as a whole, and each value is compared.

mod alone;
mod compared;
mod difference;
mod prove;
mod question;
mod runs;
mod single;
mod wide;

#[cfg(test)]
mod tests;

pub use compared::{HalfReference, NodeError};
pub use prove::{HalfAnswer, HalfPrecisionError, half_precision};
pub use question::HalfQuestion;
