//! Inference: the type of every value of a model, and its shape and value where that is cheap and certain.

mod bodies;
mod control;
mod declared;
mod digest;
mod execute;
mod inferred;
mod memo;
mod microsoft;
mod roles;
mod shared;
mod single;
mod symbols;
mod types;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use bodies::function_name;
pub use bodies::{
    Bodies, Body, BodyId, BodySource, Definition, Imports, NodeId, NodePath, SubgraphStep, ValueId, ValueSite,
};
pub(crate) use declared::{Contradiction, contradiction, declared, shape_text};
pub use inferred::{Inferred, infer, infer_facts};
pub use microsoft::runtime_with_kernel;
pub(crate) use single::{output_facts, output_types};
