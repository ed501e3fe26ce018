//! What cases contain: values, models, expected outputs, violations.

pub(crate) mod again;
pub(crate) mod expected;
mod ir;
pub(crate) mod large;
pub(crate) mod model;
pub(crate) mod value;
pub(crate) mod violation;

pub use ir::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
