//! Conversions of nodes and whole models to another opset, up and down.
//!
//! A node is converted one version of its operator at a time. If the version files determine the result (a new type, a new
//! attribute, another default), the pair of versions needs no code. If its meaning changes, a rule in `rules` defines the result.

mod answer;
mod attributes;
mod declare;
mod draft;
mod file_edits;
mod fix;
mod graph_edits;
pub mod half;
mod inline;
mod metadata;
mod model;
mod node;
mod patch;
mod rules;
mod settle;
mod silent;
mod wire;
mod write;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Fragment, Obstacle};
pub use declare::{declare_values, missing_declarations};
pub use draft::Names;
pub use file_edits::{EditedFile, FileEdits, InlineError, Strip, dimension_names, inline_external};
pub use fix::{Fixed, fix, left_to_the_user};
pub use graph_edits::{GraphEdits, GraphPath, ModelEdits};
pub use inline::{Inlined, inline_functions, inline_functions_except};
pub use model::{Conversion, PlacedEdit, Refusal, Target, convert, convert_inferred, convert_within};
pub use node::{answer, convert_node};
pub use silent::{NodeFactsRef, holds};
pub use write::{BrokenFile, ConvertedFile, WriteError};
