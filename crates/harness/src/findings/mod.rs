//! Findings: where a runtime differs from the standard, argued, each with its proof and the cases that show it.

mod file;
mod proof;
#[cfg(test)]
mod tests;
mod versions;

pub use file::{Finding, FindingError, Findings};
pub use proof::{Proof, Quote};
pub use versions::MeasuredVersions;
