//! Operator kernels: a folder per field, a file per family, a function per operator, a row per change of meaning.

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

/// Kernel rows of every family, by field.
pub(crate) const FAMILIES: &[(&str, &[&[framework::registry::Kernel]])] = &[
    ("elementwise", elementwise::FAMILIES),
    ("movement", movement::FAMILIES),
    ("reduction", reduction::FAMILIES),
    ("linear algebra", linear_algebra::FAMILIES),
    ("neural network", nn::FAMILIES),
    ("attention", attention::FAMILIES),
    ("recurrent", recurrent::FAMILIES),
    ("image", image::FAMILIES),
    ("signal", signal::FAMILIES),
    ("control flow", control_flow::FAMILIES),
    ("sequence", sequence::FAMILIES),
    ("classical learning", ml::FAMILIES),
    ("training", training::FAMILIES),
];
