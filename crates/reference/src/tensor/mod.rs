//! Tensors: element type, shape and little-endian bytes; shapes, index maps, packing, matrix products and sums.

#[cfg(feature = "ndarray")]
mod array;
pub mod double_double;
mod error;
pub mod gemm;
pub mod index;
pub mod native;
pub mod packing;
pub mod read;
pub mod reservation;
pub mod shape;
pub mod storage;
pub mod sum;
pub mod write;

pub use error::TensorError;
pub use native::Native;
pub use storage::Tensor;
pub use write::TensorBuilder;
