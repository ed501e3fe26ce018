//! Contents of cases: filled values, models, expected outputs.

mod cases;
mod check;
mod draft;
mod error;
mod expected;
mod fill;
mod graphs;
mod ir;
mod large;
mod model;

pub use cases::cases;
pub use graphs::{
    FormFile, GraphFile, PatternFile, Rewritten, embedded_graphs, graph_cases, graph_ids, read_graphs, rewrites,
    rounded,
};
pub use ir::{IrFile, embedded_ir, ir_cases, ir_ids, read_ir};
