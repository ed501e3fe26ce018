//! Errors of creating a tensor.

use crate::dtype::ElementType;

/// Error of creating a tensor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of elements cannot be addressed.
    #[error("the number of elements of shape {0:?} overflows")]
    Overflow(Vec<usize>),
    /// The shape does not match the number of elements.
    #[error("shape {shape:?} of {element_type} takes {expected} {unit}, but there are {found}")]
    Length {
        /// The element type.
        element_type: ElementType,
        /// The shape.
        shape: Vec<usize>,
        /// The unit of the counts: `bytes` or `elements`.
        unit: &'static str,
        /// The number that the shape needs.
        expected: usize,
        /// The actual number.
        found: usize,
    },
    /// Strings for a numeric type, or bytes for `string`.
    #[error("{0} elements are not stored this way")]
    Storage(ElementType),
    /// The strings exceed the bytes that a run may use.
    #[error("the tensors of this run are over the limit of {0} bytes")]
    Bytes(usize),
    /// The deadline passed while the tensor was filled.
    #[error("the time limit of the run is exceeded")]
    Deadline,
}
