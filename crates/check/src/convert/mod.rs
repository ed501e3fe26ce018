//! Conversions: what becomes of a node at another opset, up and down, and whole models.
//!
//! A node is brought from version to version of its operator. Where the version files alone say how (a type more, an attribute
//! more, another default), nothing is written for a pair; where its meaning moves, a rule in `rules` says what takes its place.

mod answer;
mod attributes;
mod behaviour;
mod draft;
mod enums;
mod model;
mod node;
mod patch;
mod rules;
mod settle;
mod wire;
mod write;

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod kept;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Fragment, Obstacle};
pub use behaviour::{Known, holds};
pub use draft::Names;
pub use model::{Conversion, PlacedEdit, Refusal, Target, convert, convert_inferred, convert_within};
pub use node::{answer, convert_node};
pub use write::{BrokenFile, ConvertedFile, WriteError};
