//! Fuzz targets for all code that reads user input. A target consists of a function of bytes, seeds, and a mutator that keeps
//! most of the structure of an input.

mod bug;
mod check;
mod model;
mod mutate;
mod pick;
mod seeds;
mod target;
mod text;
mod texts;

pub use bug::{Bug, Difference};
pub use onnx_conformance_cases::case::Random;
pub use target::{TARGETS, Target, check};
