//! Runs a model: its nodes in order, in nested scopes, with function bodies, within limits.

mod run;

pub use run::{RunError, magnitudes, run};
