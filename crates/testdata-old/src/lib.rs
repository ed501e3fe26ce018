//! Backend tests of ONNX's releases up to 1.9.0, packed for onnx-conformance; the project's `testdata/onnx` describes the format.

mod files;

pub use files::{FILES, file};
