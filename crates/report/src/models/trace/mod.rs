//! Search for the nodes of a model that a runtime computes differently.

mod accuracy;
mod answer;
mod divided;
mod error;
mod reference;
mod report;
mod runs;
mod search;
#[cfg(test)]
mod tests;
mod whole;

pub use accuracy::{BoundAtZero, bound_at_zero};
pub use answer::{CaseFiles, Fault, Trace, TraceOutcome, Traced};
pub use error::TraceError;
pub(super) use reference::Seen;
pub use reference::{OtherOpsets, Reference};
pub use report::TraceReport;
pub use runs::TraceQuestion;
pub use search::trace_model;
pub(super) use whole::try_model;
pub use whole::{TriedModel, TriedResult};
