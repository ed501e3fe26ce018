//! Validity: a model held against the rules, with all that it breaks.

mod report;

pub use report::{ModelFacts, Report, check, check_model};
