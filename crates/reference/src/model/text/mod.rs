//! ONNX's own text syntax, read into messages.
//!
//! It is the syntax that `onnx.parser` reads and `onnx.printer` writes: models, graphs, functions and nodes, with
//! subgraphs and tensors as attributes. Beyond that, the numbers of narrow floating types may be written with a point
//! (an integer is their bits, as in ONNX), and lists may hold tensors, types and graphs. A tensor must hold as many
//! values as its shape says, within the range of its type, and nothing may follow the last construct.

mod attribute;
mod literal;
mod scanner;
mod structure;

pub use scanner::TextError;
pub use structure::{parse_function, parse_graph, parse_model, parse_nodes, parse_value_type};
