//! Models: graphs, nodes, attributes, subgraphs and functions, read from messages and checked before they run.

pub mod check;
mod error;
pub mod graph;
mod read;
pub mod text;

pub use error::ModelError;
pub use graph::{Attribute, Dim, Function, FunctionKey, Graph, Model, Node, Opsets, Parameter};
pub use read::{LoadLimits, read_model};
