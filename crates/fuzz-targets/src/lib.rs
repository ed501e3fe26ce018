//! What is fuzzed: everything that reads what a user gives. A target is a function from bytes, seeds to begin with, and a
//! way to change one input into another that keeps most of its structure.

mod check;
mod model;
mod mutate;
mod pick;
mod seeds;
mod target;
mod text;
mod texts;

pub use onnx_conformance_cases::generate::Random;
pub use target::{TARGETS, Target, check};
