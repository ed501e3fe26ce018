//! Models: graphs, nodes, attributes, subgraphs and functions, read from messages and checked before they run.

pub mod check;
pub mod graph;
mod read;
pub mod text;

pub use graph::{Attribute, Dim, Function, FunctionKey, Graph, Model, Node, Opsets, Parameter};
pub use read::{LoadLimits, ModelError, read_model};
