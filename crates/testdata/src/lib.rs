//! The backend tests of ONNX's releases from 1.10.0 on, packed as onnx-conformance reads them; `testdata/onnx` of the project says how.

mod files;

pub use files::{FILES, file};
