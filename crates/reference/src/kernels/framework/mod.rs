//! What every kernel builds on: its call, its budget, the table of kernels, and walks that families share.

pub(crate) mod accumulate;
pub(crate) mod arguments;
pub mod budget;
pub mod call;
pub mod error;
pub(crate) mod lanes;
pub mod registry;
pub(crate) mod sparse;
