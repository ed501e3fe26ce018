//! Runs a model: its nodes in order, in nested scopes, with function bodies, within limits.

mod run;

#[cfg(feature = "faults")]
pub use run::run_faulty;
pub use run::{Fault, RunError, Step, Trace, magnitudes, run, run_traced};
