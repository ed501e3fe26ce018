//! Conversion of a whole model from float to float16 or bfloat16.
//!
//! Each node computes in half precision if its operator version takes the type, and in float otherwise. The type of
//! every value follows from the nodes that produce it, so it is correct by construction. A value that is read in both
//! types has one Cast, after its producer.

mod build;
mod half_model;
mod node_types;
mod plan;
mod reason;
mod request;
mod sizes;
mod to_half;
mod weights;

#[cfg(test)]
mod exporter_tests;
#[cfg(test)]
mod tests;

pub use half_model::{FloatNode, HalfError, HalfModel, HalfNode, InnerNode, RoundedWeight};
pub use reason::FloatReason;
pub(super) use request::names_of;
pub use request::{HalfRequest, keepable_names};
pub use to_half::to_half;
