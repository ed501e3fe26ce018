//! Model checks: validity, the opsets at which a model keeps its meaning, and the edits that convert it to another opset.
//!
//! The crate opens no files and never panics on its input: bytes come through [`scan::Source`], time through
//! [`Deadline`](onnx_conformance_reference::deadline::Deadline).

#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod bounded;
pub mod convert;
pub mod facts;
pub mod finding;
pub mod findings;
pub mod infer;
pub mod limits;
pub mod rules;
pub mod scan;
pub mod settings;
mod shorten;
pub mod validity;

pub use limits::Limits;
pub use scan::{Folder, Source};
pub use validity::{Report, check};
