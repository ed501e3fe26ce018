//! Findings: where a runtime differs from the standard's text, argued, each with the cases that show it.

mod file;
mod versions;

pub use file::{Finding, FindingError, Findings};
pub use versions::MeasuredVersions;
