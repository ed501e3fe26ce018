//! Contents of cases: filled values, models, expected outputs.

mod cases;
mod check;
mod draft;
mod error;
mod expected;
mod fill;
mod ir;
mod large;
mod model;

pub use cases::cases;
pub use ir::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
