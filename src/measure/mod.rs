//! Measurements: what a version of a runtime did with every case that it was given, from its expectation file.

mod digests;
mod measurement;
mod measurements;

pub use digests::MeasuredDigests;
pub use measurement::{Measured, Measurement};
pub use measurements::Measurements;
