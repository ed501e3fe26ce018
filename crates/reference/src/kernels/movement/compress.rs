//! Compress.

use crate::infer::{NodeView, Shape};
use crate::kernels::framework::arguments::one_dimensional;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::{around_axis, normalize_axis};

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("Compress", 9, compress).shape(compressed)];

/// Compress along an axis, or of the flat input: `out[i] = data[c]`, `c` the i-th index whose condition is true.
fn compress(call: &Call<'_>) -> Result {
    let (data, condition) = (call.tensor(0)?, call.tensor(1)?);
    one_dimensional(condition, "condition").rule("C4")?;
    if data.rank() == 0 {
        return Err(broken("C7", "the input is a scalar, but must have at least one axis"));
    }
    match call.optional_int("axis") {
        Some(axis) => compress_axis(call, data, normalize_axis(axis, data.rank()).rule("C8")?, condition),
        None => compress_axis(call, &data.with_shape(vec![data.len()])?, 0, condition),
    }
}

fn compress_axis(call: &Call<'_>, data: &Tensor, axis: usize, condition: &Tensor) -> Result {
    let size = data.shape().get(axis).copied().unwrap_or(0);
    let kept = true_indices(call, condition.stream(Tensor::bools))?;
    if let Some(outside) = kept.last().filter(|last| **last >= size) {
        return Err(broken(
            "C5",
            format!("condition selects entry {outside}, which is outside axis {axis} of shape {:?}", data.shape()),
        ));
    }
    Ok(entries(call, data, axis, &kept)?.into())
}

/// Returns the indices at which a condition is true.
pub(crate) fn true_indices(call: &Call<'_>, set: impl Iterator<Item = bool>) -> Result<Vec<usize>> {
    call.budget.collect(call.budget.timed(set).enumerate().filter(|(_, set)| *set).map(|(index, _)| index))
}

/// Selects entries of one axis by index.
pub(crate) fn entries(call: &Call<'_>, data: &Tensor, axis: usize, indices: &[usize]) -> Result<Tensor> {
    let mut shape = data.shape().to_vec();
    let (outer, inner) = around_axis(&shape, axis);
    let size = shape.get(axis).copied().unwrap_or(0);
    if let Some(size) = shape.get_mut(axis) {
        *size = indices.len();
    }
    let buffer = call.allocate(data.element_type(), &shape)?;
    let runs = (0..outer).flat_map(|row| {
        indices.iter().map(move |index| (0, (row * size + index) * inner..(row * size + index + 1) * inner))
    });
    Ok(buffer.gather_runs(&[data], runs)?)
}

/// As many entries of the axis, or of the flat input, as a constant condition selects.
fn compressed(view: &NodeView<'_, '_>) -> Option<Shape> {
    let condition = view.input(1).and_then(|fact| fact.constant.as_ref()?.as_tensor());
    // bounded: by the size of a constant.
    let set = condition.map(|tensor| tensor.bools().into_iter().filter(|set| *set).count());
    let selected = set.map_or(Dim::Unknown, Dim::Size);
    if view.attributes.is_open("axis") {
        return None;
    }
    if !view.attributes.has("axis") {
        return Some(vec![selected]);
    }
    let mut shape = view.shape(0)?;
    let axis = view.axis("axis", shape.len())?;
    *shape.get_mut(axis)? = selected;
    Some(shape)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, node, typed};

    #[test]
    fn a_long_condition_must_not_select_missing_entries() {
        let compressed = |condition: &[f64]| {
            let data = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
            let condition = typed(ElementType::Bool, &[condition.len()], condition);
            node("Compress", 11).input(data).input(condition).set("axis", 0)
        };
        assert_eq!(compressed(&[0.0, 0.0, 0.0]).tensor().shape(), [0, 2]);
        assert!(compressed(&[0.0, 0.0, 1.0]).error().contains("entry 2"));
    }
}
