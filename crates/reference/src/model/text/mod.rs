//! ONNX's text syntax: the parser and the printer.
//!
//! The parser accepts the syntax that `onnx.parser` reads and `onnx.printer` writes: models, graphs, functions and
//! nodes, with subgraphs and tensors as attributes. Two extensions: a number of a narrow floating type may be written
//! with a decimal point (an integer is a bit pattern, as in ONNX; a model is printed with these), and lists may contain
//! tensors, types and graphs. A tensor must have as many values as its shape requires, within the range of its type,
//! and nothing may follow the last construct.

mod attribute;
mod literal;
mod print;
mod print_value;
mod scanner;
mod structure;

pub use print::{print_model, print_node};
pub use print_value::{PrintError, print_name, print_tensor};
pub use scanner::TextError;
pub use structure::{parse_function, parse_graph, parse_model, parse_nodes, parse_value_type};
