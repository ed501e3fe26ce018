//! Shapes of recurrent networks: `Y` with an entry per step, then the last states.

use crate::infer::{NodeView, Shape};
use crate::model::graph::Dim;

/// `[T, D, B, H]` and `[D, B, H]`, or `[B, T, D, H]` and `[B, D, H]` if `layout` is 1.
pub(super) fn recurrent(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let has_choice = view.spec.attributes.contains_key("layout");
    let is_batch_first = if has_choice { view.flag("layout") } else { Some(false) };
    let directions = match view.text("direction") {
        Some("bidirectional") => Dim::Size(2),
        Some(_) => Dim::Size(1),
        None => Dim::Unknown,
    };
    let hidden = view.int("hidden_size").map_or(Dim::Unknown, Dim::from_int);
    let hidden = hidden.or(&view.dim(2, 2).unwrap_or(Dim::Unknown));
    let dim = |axis| view.dim(0, axis).unwrap_or(Dim::Unknown);
    let (outputs, state) = match is_batch_first {
        Some(true) => {
            let (batch, steps) = (dim(0), dim(1));
            (vec![batch.clone(), steps, directions.clone(), hidden.clone()], vec![batch, directions, hidden])
        }
        Some(false) => {
            let (steps, batch) = (dim(0), dim(1));
            (vec![steps, directions.clone(), batch.clone(), hidden.clone()], vec![directions, batch, hidden])
        }
        None => (vec![Dim::Unknown; 4], vec![Dim::Unknown; 3]),
    };
    vec![Some(outputs), Some(state.clone()), Some(state)]
}
