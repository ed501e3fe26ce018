//! Gather, `GatherElements`, `GatherND`: elements by index.

use crate::infer::elements::{self, Elements};
use crate::infer::{NodeView, Shape, axis_of, rules};
use crate::kernels::framework::arguments::index;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::{around_axis, element_count, normalize_axis, strides};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Gather", 1, gather).shape(gathered).with_elements(gathered_elements),
    Kernel::new("GatherElements", 11, gather_elements).shape(like_indices),
    Kernel::new("GatherND", 11, |call| gather_nd(call, 0)).shape(gathered_nd),
    Kernel::new("GatherND", 12, |call| gather_nd(call, call.int("batch_dims")?)).shape(gathered_nd),
];

/// Gather along an axis: `out[i][q][k] = data[i][indices[q]][k]`, `i` before the axis and `k` after it.
fn gather(call: &Call<'_>) -> Result {
    let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C5")?;
    let size = data.shape().get(axis).copied().unwrap_or(0);
    let mut entries: Vec<usize> = call.budget.scratch(indices.len())?;
    for (entry, selected) in entries.iter_mut().zip(indices.stream(Tensor::indices)) {
        *entry = index(selected, size).rule("C4")?;
    }
    let mut shape = data.shape().to_vec();
    shape.splice(axis..=axis, indices.shape().iter().copied());
    let (outer, inner) = around_axis(data.shape(), axis);
    let buffer = call.allocate(data.element_type(), &shape)?;
    let runs = (0..outer).flat_map(|row| {
        entries.iter().map(move |entry| (0, (row * size + entry) * inner..(row * size + entry + 1) * inner))
    });
    Ok(buffer.gather_runs(&[data], runs)?.into())
}

/// `GatherElements`, for axis 0 of a matrix: `out[i][j] = data[indices[i][j]][j]`.
fn gather_elements(call: &Call<'_>) -> Result {
    let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
    let positions = element_positions(call, data.shape(), indices, ["C4", "C3", "C5"])?;
    Ok(call.gather(data, indices.shape(), positions)?.into())
}

/// Returns a position in a tensor of `shape` for each index: its own coordinates, except that the index replaces the
/// one along the attribute `axis`. The rules are those for the shape of the indices, for the indices, and for the axis.
pub(super) fn element_positions(
    call: &Call<'_>,
    shape: &[usize],
    indices: &Tensor,
    [shapes, within, axes]: [&str; 3],
) -> Result<Vec<usize>> {
    let axis = normalize_axis(call.int("axis")?, shape.len()).rule(axes)?;
    let fits = |(position, (own, size)): (usize, (&usize, &usize))| position == axis || own <= size;
    let inside = indices.rank() == shape.len() && indices.shape().iter().zip(shape).enumerate().all(fits);
    if !inside {
        let found = indices.shape();
        return Err(broken(
            shapes,
            format!("indices of shape {found:?} do not fit shape {shape:?} along another axis than {axis}"),
        ));
    }
    let size = shape.get(axis).copied().unwrap_or(0);
    let mut steps: Vec<isize> = strides(shape).into_iter().map(usize::cast_signed).collect();
    let step = steps.get_mut(axis).map_or(0, std::mem::take).cast_unsigned();
    let mut positions: Vec<usize> = call.budget.scratch(indices.len())?;
    let bases = StridedIter::new(indices.shape(), &steps, 0);
    for ((position, base), selected) in positions.iter_mut().zip(bases).zip(indices.stream(Tensor::indices)) {
        *position = base + index(selected, size).rule(within)? * step;
    }
    Ok(positions)
}

/// `GatherND`: `out[b][i] = data[b][indices[b][i][0], indices[b][i][1], ...]`, `b` over the batch axes.
fn gather_nd(call: &Call<'_>, batch_dims: i64) -> Result {
    let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
    if indices.shape().last() == Some(&0) {
        return Err(broken(
            "C4",
            format!(
                "indices of shape {:?} contain empty tuples; a tuple must have at least one index",
                indices.shape()
            ),
        ));
    }
    let tuples = tuple_positions(call, data.shape(), indices, batch_dims, ["C4", "C5"])?;
    let buffer = call.allocate(data.element_type(), &tuples.shape)?;
    let runs = tuples.starts.into_iter().map(|start| (0, start..start + tuples.run));
    Ok(buffer.gather_runs(&[data], runs)?.into())
}

/// Slices that the tuples of an index tensor select.
pub(super) struct Tuples {
    /// Shape of all selected slices.
    pub shape: Vec<usize>,
    /// First position of each slice.
    pub starts: Vec<usize>,
    /// Number of elements per slice.
    pub run: usize,
}

/// Returns the slices of a tensor of `shape` that the tuples in the last axis of `indices` select. The rules are about
/// the length of a tuple, and about its indices. Only `GatherND` has batches, from version 12 on.
pub(super) fn tuple_positions(
    call: &Call<'_>,
    shape: &[usize],
    indices: &Tensor,
    batch_dims: i64,
    [length, within]: [&str; 2],
) -> Result<Tuples> {
    let refuse = |why: &str| {
        let found = indices.shape();
        invalid(format!(
            "indices of shape {found:?} do not select from shape {shape:?} with batch_dims {batch_dims}: {why}"
        ))
    };
    let (&tuple, outer) = indices.shape().split_last().ok_or_else(|| refuse("they have no axis").rule("C7"))?;
    let batch = usize::try_from(batch_dims).ok().filter(|&batch| batch <= outer.len() && batch < shape.len().max(1));
    let batch = batch.ok_or_else(|| refuse("batch_dims must be below both ranks").rule("C6"))?;
    if outer.get(..batch) != shape.get(..batch) {
        return Err(refuse("the batches differ").rule("C6"));
    }
    let sizes =
        shape.get(batch..batch.saturating_add(tuple)).ok_or_else(|| refuse("the tuples are too long").rule(length))?;
    let slice = shape.get(batch + tuple..).unwrap_or(&[]);
    let run = element_count(slice)?;
    let result_shape = [outer, slice].concat();
    let count = element_count(outer)?;
    let mut starts: Vec<usize> = call.budget.scratch(count)?;
    let per_batch = element_count(outer.get(batch..).unwrap_or(&[]))?;
    let values = call.budget.read_indices(indices)?;
    let volume = element_count(sizes)?;
    for (tuple_index, start) in call.budget.timed(starts.iter_mut().enumerate()) {
        let components = values.get(tuple_index * tuple..(tuple_index + 1) * tuple).unwrap_or(&[]);
        let mut position = (tuple_index / per_batch).saturating_mul(volume);
        let mut inside = 0_usize;
        for (&value, &size) in components.iter().zip(sizes) {
            inside = inside.saturating_mul(size).saturating_add(index(value, size).rule(within)?);
        }
        position = position.saturating_add(inside);
        *start = position.saturating_mul(run);
    }
    Ok(Tuples { shape: result_shape, starts, run })
}

/// The shape of the data, with the shape of the indices in place of the axis.
fn gathered(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (dims, indices) = (view.shape(0)?, view.shape(1)?);
    let Some(axis) = view.axis("axis", dims.len()) else {
        let is_open = view.attributes.is_open("axis");
        return is_open.then(|| rules::unknown((dims.len() + indices.len()).checked_sub(1)?)).flatten();
    };
    Some([dims.get(..axis)?, &indices, dims.get(axis.checked_add(1)?..)?].concat())
}

/// The elements of a vector at constant indices.
fn gathered_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    let all = elements::integers(view, 0).filter(|_| view.rank(0) == Some(1))?;
    let indices = elements::integers(view, 1)?;
    let at = |index: i64| all.get(axis_of(index, Some(all.len()))?).cloned().flatten();
    Some(indices.into_iter().map(|index| at(index?.value()?)).collect())
}

/// The shape of the indices, whose rank is that of the data.
fn like_indices(view: &NodeView<'_, '_>) -> Option<Shape> {
    view.shape(1).or_else(|| rules::unknown(view.rank(0)?))
}

/// The shape of the indices without their last axis, then the axes of the data that no index of a tuple selects.
fn gathered_nd(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (dims, indices) = (view.shape(0)?, view.shape(1)?);
    let has_batches = view.spec.attributes.contains_key("batch_dims");
    let batch = if has_batches { usize::try_from(view.int("batch_dims")?).ok()? } else { 0 };
    let (Dim::Size(width), outer) = indices.split_last()? else { return None };
    let shared = dims.iter().take(batch);
    let unshared = std::iter::repeat(&Dim::Unknown);
    let outer = outer.iter().zip(shared.chain(unshared)).map(|(dim, same)| dim.clone().or(same));
    Some(outer.chain(dims.get(batch.checked_add(*width)?..)?.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use crate::testing::{floats, ints, node};

    fn matrix() -> crate::tensor::Tensor {
        floats(&[2, 3], &[0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
    }

    #[test]
    fn indices_outside_are_refused() {
        for index in [2, -3, i64::MIN, i64::MAX] {
            assert!(node("Gather", 11).input(matrix()).input(ints(&[], &[index])).error().contains("[-2, 2 - 1]"));
            let elements = node("GatherElements", 11).input(matrix()).input(ints(&[1, 1], &[index]));
            assert!(elements.error().contains("[-2, 2 - 1]"));
            let tuples = node("GatherND", 11).input(matrix()).input(ints(&[1], &[index]));
            assert!(tuples.error().contains("[-2, 2 - 1]"));
        }
        assert!(node("Gather", 13).input(floats(&[0], &[])).input(ints(&[1], &[0])).error().contains("index 0"));
    }

    #[test]
    fn indices_longer_than_the_other_axes_are_refused() {
        let wide = ints(&[3, 1], &[0, 0, 0]);
        assert!(node("GatherElements", 13).input(matrix()).input(wide).set("axis", 1).error().contains("do not fit"));
    }
}
