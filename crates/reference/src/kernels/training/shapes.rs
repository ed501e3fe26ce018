//! Shapes and types of losses, optimizers and random values.

use crate::dtype::ElementType;
use crate::infer::{List, NodeView, Shape, rules};
use crate::model::graph::Dim;
use crate::types::ValueType;

/// A loss: a scalar, or one for each label.
fn loss(view: &NodeView<'_, '_>) -> Option<Shape> {
    match view.text("reduction")? {
        "none" => view.shape(1),
        _ => Some(Vec::new()),
    }
}

pub(super) fn likelihood(view: &NodeView<'_, '_>) -> Option<Shape> {
    loss(view)
}

/// `SoftmaxCrossEntropyLoss`: the loss, and the logarithm of each score.
pub(super) fn cross_entropy(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    vec![loss(view), view.shape(0)]
}

/// The input that an output of an optimizer replaces: the tensors, then their states, without the gradients. `lists`:
/// the number of inputs for each optimized tensor.
fn replaced(view: &NodeView<'_, '_>, lists: usize, output: usize) -> Option<(usize, usize)> {
    let count = view.inputs.len().checked_sub(2)?.checked_div(lists)?;
    let (list, index) = (output.checked_div(count)?, output.checked_rem(count)?);
    // The gradients are the second list.
    let list = if list == 0 { 0 } else { list.checked_add(1)? };
    Some((list.checked_mul(count)?.checked_add(index)?.checked_add(2)?, index))
}

fn optimized(view: &NodeView<'_, '_>, lists: usize) -> Vec<Option<Shape>> {
    let count = view.inputs.len().saturating_sub(2).checked_div(lists).unwrap_or(0);
    let shape = |output: usize| {
        let (_, index) = replaced(view, lists, output)?;
        let group = (0..lists).map(|list| list.saturating_mul(count).saturating_add(index).saturating_add(2));
        rules::broadcast_inputs(view, group)
    };
    (0..view.output_count()).map(shape).collect()
}

fn optimized_type(view: &NodeView<'_, '_>, lists: usize, output: usize) -> Option<ValueType> {
    view.value_type(replaced(view, lists, output)?.0).cloned()
}

/// Optimizers with a gradient and one state for each tensor.
pub(super) fn optimized_with_state(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    optimized(view, 3)
}

/// `Adam`, with two states for each tensor.
pub(super) fn optimized_with_two_states(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    optimized(view, 4)
}

pub(super) fn type_with_state(view: &NodeView<'_, '_>, output: usize) -> Option<ValueType> {
    optimized_type(view, 3, output)
}

pub(super) fn type_with_two_states(view: &NodeView<'_, '_>, output: usize) -> Option<ValueType> {
    optimized_type(view, 4, output)
}

/// `Multinomial`: `[batch, sample_size]`.
pub(super) fn samples(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![view.dim(0, 0)?, view.int("sample_size").map_or(Dim::Unknown, Dim::from_int)])
}

/// The attribute `shape`.
pub(super) fn shape_attribute(view: &NodeView<'_, '_>) -> Option<Shape> {
    match view.ints("shape") {
        List::Given(sizes) => Some(sizes.into_iter().map(Dim::from_int).collect()),
        _ => None,
    }
}

/// The type that `dtype` names.
pub(super) fn type_by_attribute(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    rules::attribute_type(view, "dtype")
}

/// The type that `dtype` names, or that of the input.
pub(super) fn type_like_input(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    if view.attributes.is_open("dtype") {
        return None;
    }
    if view.attributes.has("dtype") {
        view.attributes.element("dtype").map(ValueType::Tensor)
    } else {
        view.value_type(0).cloned()
    }
}

/// `Dropout`: the mask is `bool` from version 10 on, and has the type of the input before.
pub(super) fn mask_type(view: &NodeView<'_, '_>, output: usize) -> Option<ValueType> {
    (output == 1 && view.since() >= 10).then_some(ValueType::Tensor(ElementType::Bool))
}

/// `Gradient`: the gradient by an input has its shape. The first inputs are the variables of the derivative.
pub(super) fn like_inputs(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    (0..view.output_count()).map(|position| view.shape(position)).collect()
}

pub(super) fn type_like_position(view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
    view.value_type(position).cloned()
}
