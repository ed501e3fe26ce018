//! The operators: a folder a field, a file a family, one function an operator, and beside it one row a change of its meaning.

pub mod framework;

mod attention;
mod control_flow;
mod elementwise;
mod image;
mod linear_algebra;
mod ml;
mod movement;
mod nn;
mod recurrent;
mod reduction;
mod sequence;
mod signal;
mod training;

/// The rows of every family, folder by folder.
pub(crate) const FAMILIES: &[&[&[framework::registry::Kernel]]] = &[
    elementwise::FAMILIES,
    movement::FAMILIES,
    reduction::FAMILIES,
    linear_algebra::FAMILIES,
    nn::FAMILIES,
    attention::FAMILIES,
    recurrent::FAMILIES,
    image::FAMILIES,
    signal::FAMILIES,
    control_flow::FAMILIES,
    sequence::FAMILIES,
    ml::FAMILIES,
    training::FAMILIES,
];
