//! What no tensor can be made of.

use crate::dtype::ElementType;

/// A tensor that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The product of the dimensions is beyond what can be addressed.
    #[error("the number of elements of shape {0:?} overflows")]
    Overflow(Vec<usize>),
    /// Elements and shape disagree.
    #[error("shape {shape:?} of {element_type} takes {expected} {unit}, but there are {found}")]
    Length {
        /// The element type.
        element_type: ElementType,
        /// The shape.
        shape: Vec<usize>,
        /// What is counted: `bytes` or `elements`.
        unit: &'static str,
        /// How many the shape takes.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Text for a numeric type, or bytes for `string`.
    #[error("{0} elements are not stored this way")]
    Storage(ElementType),
    /// Texts beyond the bytes that a run may use.
    #[error("the tensors of this run are over the limit of {0} bytes")]
    Bytes(usize),
    /// The time for filling it is over.
    #[error("the time for this run is over")]
    Deadline,
}
