//! The element types of ONNX, and conversion from wide values.
//!
//! An element is passed as its *bits*: a `u64` that holds the little-endian value of the bytes that a
//! [`crate::tensor::Tensor`] stores for it. A sub-byte type uses the low bits of one byte, whose upper bits are zero
//! or, for `int4` and `int2`, copies of the sign.

mod convert;
mod element;
mod float_format;
mod integer;
mod scale;

pub use convert::sticky_f64;
pub use element::{ElementType, Kind, UnknownElementType};
pub use float_format::{FloatFormat, Specials};
pub use scale::{RoundMode, round_e8m0};
