//! Backend tests of ONNX's releases since 1.10.0, packed for onnx-conformance; the project's `testdata/onnx` describes the
//! format.

mod files;

pub use files::{FILES, NEWEST, file};
