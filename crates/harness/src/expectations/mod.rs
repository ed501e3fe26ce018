//! Expectations: the known outcomes of a runtime's cases, and the differences of a run from them.

mod answers;
mod condition;
mod doubts;
mod entries_by_id;
mod entry;
mod file;
mod gate;
mod grouping;
mod matcher;
mod problems;
#[cfg(test)]
mod properties;
mod sharing;
mod text;
mod update;

pub use answers::{Answers, Complete, OperatorAnswers, refusals_name};
pub use condition::{Condition, ConditionError, Processors, Versions, version_key};
pub use doubts::Doubts;
pub use entry::{Entry, EntryFault};
pub use file::{
    ExpectationError, Expectations, HeaderFault, Provenance, with_accepted, with_adapter, with_provenance,
    with_rewrites, with_strict, with_suite,
};
pub use gate::{Conclusion, GateResult, Scope};
pub use matcher::{ExpectationMatcher, Verdict};
pub use problems::{EntryProblem, ExpectationProblem};
pub use update::{
    KeptAnswers, WholeRun, answered_part, first_expectations, first_measurement, tool_measurement, updated_expectations,
};
