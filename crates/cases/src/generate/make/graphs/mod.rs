//! Cases of several nodes: graphs that optimizers rewrite, and near misses that they must not rewrite.

mod context;
mod draft;
mod file;
mod form;
mod make;
mod model;
mod rewrite;

pub use file::{FormFile, PatternFile};
pub use make::{GraphFile, embedded_graphs, graph_cases, graph_ids, read_graphs};
pub use rewrite::{Rewritten, rewrites, rounded};
