//! The backend tests of ONNX's releases up to 1.9.0, packed as onnx-conformance reads them; `testdata/onnx` of the project says how.

mod files;

pub use files::{FILES, file};
