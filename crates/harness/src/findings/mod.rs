//! Findings: argued differences between a runtime and the standard, each with its proof and the cases that show it.

mod file;
mod proof;
#[cfg(test)]
mod tests;
mod tool_faults;
mod versions;

pub use file::{Finding, FindingError, Findings};
pub use proof::{Proof, Quote};
pub use tool_faults::{SeenIn, ToolFault, ToolFaults};
pub use versions::MeasuredVersions;
