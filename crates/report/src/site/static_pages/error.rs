//! Errors while pages without JavaScript are made.

use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_reference::spec::LookupError;
use onnx_conformance_reference::spec::diff::DiffError;

/// An error while a page without JavaScript is made.
#[derive(Debug, thiserror::Error)]
pub enum StaticError {
    /// A version cannot be looked up.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Two versions cannot be compared.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// A measurement cannot be read.
    #[error(transparent)]
    Expectations(#[from] ExpectationError),
    /// The picture cannot be compressed.
    #[error("the picture cannot be compressed: {0}")]
    Picture(std::io::Error),
}
