//! The functions that compiled models call.

mod compiled;

pub use compiled::{Compiled, NotCompiled, abs, neg, relu};
