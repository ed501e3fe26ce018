//! Shared base of all kernels: calls, budgets, errors, the table of kernels, lanes.

pub(crate) mod accumulate;
pub(crate) mod arguments;
pub mod budget;
pub mod call;
pub mod error;
pub(crate) mod lanes;
pub mod registry;
pub(crate) mod sparse;
