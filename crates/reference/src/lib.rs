//! The semantics of ONNX: element types, values, messages, models, the specs of every operator version, and an
//! executor.
//!
//! The crate knows no case, tolerance or expectation; it reads no file and never panics on its input.

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod deadline;
pub mod dtype;
pub mod executor;
pub mod kernels;
pub mod model;
pub mod proto;
pub mod spec;
pub mod tensor;
#[cfg(test)]
mod testing;
pub mod types;
pub mod value;
