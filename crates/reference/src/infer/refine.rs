//! Application of the rules of a node.

use crate::infer::{MAX_RANK, NodeView, ValueFact};
use crate::kernels::framework::registry;

/// Adds shapes and symbolic elements to the facts about a node's outputs, by the rules of its operator version.
pub fn refine(view: &NodeView<'_, '_>, outputs: &mut [ValueFact]) {
    let Some(kernel) = registry::find(&view.spec.version) else { return };
    for (output, shape) in outputs.iter_mut().zip(kernel.shapes(view)) {
        let shape = shape.filter(|shape| shape.len() <= MAX_RANK);
        output.shape = output.shape.take().or(shape);
    }
    if let Some(output) = outputs.first_mut()
        && let Some(elements) = kernel.elements(view)
    {
        output.set_elements(elements);
    }
}
