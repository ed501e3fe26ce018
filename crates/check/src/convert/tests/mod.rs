//! Tests of whole conversions: expected edits, and equal outputs of both models.

mod bodies;
mod expansions;
mod hostile;
mod ir;
mod parameters;
mod shapes;
mod support;
mod targets;
mod trees;
mod unknown_fields;

pub(super) use support::{assert_near, outputs};
