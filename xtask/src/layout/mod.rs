//! The layout of the YAML files that people write below `specs/`: one way to write a file, which a program writes.
//!
//! `parse` reads a document without resolving its scalars, `order` sorts its keys, `print` writes it.

mod order;
mod parse;
mod print;

pub(crate) use parse::{Node, Scalar, parse};
pub(crate) use print::print;
