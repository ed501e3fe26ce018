//! Model execution: nodes in order, nested scopes, function bodies, limits.

mod run;

#[cfg(feature = "faults")]
pub use run::run_faulty;
pub use run::{Fault, RunError, Step, Trace, magnitudes, run, run_traced};
