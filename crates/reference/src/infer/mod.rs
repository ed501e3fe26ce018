//! Inference before a model runs: facts about values, and the rules for shapes and types, which are next to each kernel
//! in the kernel table.
//!
//! [`refine`] applies the rules of one node. The walk over a model, its subgraphs and its functions belongs to the
//! check crate.

mod attributes;
pub mod elements;
mod fact;
mod refine;
pub mod rules;
pub mod size;
mod view;

pub use attributes::{Attributes, CallAttributes, graphs_of};
pub use fact::{MAX_CONSTANT, MAX_RANK, ValueFact, tensor_fact};
pub use refine::refine;
pub use size::Size;
pub use view::{List, NodeView, Shape, axis_of};
