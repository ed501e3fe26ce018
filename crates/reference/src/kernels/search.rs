//! Entries found by their values: `NonZero`, `OneHot`, Compress, and Unique, which stands in a file of its own.

use crate::dtype::ElementType;
use crate::kernels::arguments::one_dimensional;
use crate::kernels::call::{Call, Result};
use crate::kernels::error::invalid;
use crate::kernels::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::shape::{around_axis, normalize_axis, strides};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("NonZero", 9, non_zero),
    Kernel::new("OneHot", 9, |call| one_hot(call, Negative::Outside)),
    Kernel::new("OneHot", 11, |call| one_hot(call, Negative::FromTheBack)),
    Kernel::new("Compress", 9, compress),
];

/// The indices of all elements that are not zero, one axis a row; a string is zero when it is empty.
fn non_zero(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let found = match data.element_type() {
        ElementType::String => places_of(call, data.strings().iter().map(|text| !text.is_empty()))?,
        _ => places_of(call, data.stream(Tensor::bools))?,
    };
    let shape = data.shape();
    let indices = strides(shape)
        .into_iter()
        .zip(shape)
        .flat_map(|(stride, &size)| found.iter().map(move |&at| (at / stride % size) as i128));
    Ok(call.integers(ElementType::Int64, &[shape.len(), found.len()], indices)?.into())
}

/// The places where a condition holds.
fn places_of(call: &Call<'_>, set: impl Iterator<Item = bool>) -> Result<Vec<usize>> {
    call.budget.collect(call.budget.timed(set).enumerate().filter(|(_, set)| *set).map(|(at, _)| at))
}

/// What a negative index of `OneHot` means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Negative {
    /// No class, as any index beyond the depth.
    Outside,
    /// A class counted from the last one.
    FromTheBack,
}

/// Along a new axis of `depth` entries, the on value at each index and the off value elsewhere.
fn one_hot(call: &Call<'_>, negative: Negative) -> Result {
    let (indices, depth, values) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    if values.len() != 2 {
        return Err(invalid(format!("values has shape {:?}, but must hold the off and the on value", values.shape())));
    }
    let axis = normalize_axis(call.int("axis")?, indices.rank() + 1)?;
    let classes = depth
        .single_integer()
        .and_then(|depth| usize::try_from(depth).ok())
        .ok_or_else(|| invalid(format!("depth {depth:?} must be one number, not below 0")))?;
    let mut shape = indices.shape().to_vec();
    shape.insert(axis, classes);
    let buffer = call.allocate(values.element_type(), &shape)?;
    let (outer, inner) = if buffer.is_empty() { (0, 0) } else { around_axis(&shape, axis) };
    let class = |index: i128| match negative {
        Negative::FromTheBack if index < 0 => index + classes as i128,
        _ => index,
    };
    let chosen = call.budget.collect(indices.stream(Tensor::integers).map(class))?;
    let chosen = &chosen;
    let positions = (0..outer).flat_map(|row| {
        (0..classes).flat_map(move |class| {
            let own = chosen.get(row * inner..(row + 1) * inner).unwrap_or(&[]);
            own.iter().map(move |&chosen| usize::from(chosen == class as i128))
        })
    });
    Ok(buffer.take(values, positions)?.into())
}

/// The entries of an axis, or of the flat input, where the condition is true.
fn compress(call: &Call<'_>) -> Result {
    let (data, condition) = (call.tensor(0)?, call.tensor(1)?);
    one_dimensional(condition, "condition")?;
    match call.optional_int("axis") {
        Some(axis) => compress_axis(call, data, normalize_axis(axis, data.rank())?, condition),
        None => compress_axis(call, &data.with_shape(vec![data.len()])?, 0, condition),
    }
}

fn compress_axis(call: &Call<'_>, data: &Tensor, axis: usize, condition: &Tensor) -> Result {
    let size = data.shape().get(axis).copied().unwrap_or(0);
    let kept = places_of(call, condition.stream(Tensor::bools))?;
    if let Some(outside) = kept.last().filter(|last| **last >= size) {
        return Err(invalid(format!("condition selects entry {outside} of axis {axis} of shape {:?}", data.shape())));
    }
    Ok(entries(call, data, axis, &kept)?.into())
}

/// The entries of one axis, by their indices.
pub(super) fn entries(call: &Call<'_>, data: &Tensor, axis: usize, indices: &[usize]) -> Result<Tensor> {
    let mut shape = data.shape().to_vec();
    let (outer, inner) = around_axis(&shape, axis);
    let size = shape.get(axis).copied().unwrap_or(0);
    if let Some(size) = shape.get_mut(axis) {
        *size = indices.len();
    }
    let buffer = call.allocate(data.element_type(), &shape)?;
    let runs = (0..outer)
        .flat_map(|row| indices.iter().map(move |at| (0, (row * size + at) * inner..(row * size + at + 1) * inner)));
    Ok(buffer.select_runs(&[data], runs)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OneNode, floats, ints, node, strings, typed};

    #[test]
    fn a_scalar_has_no_axis_to_index() {
        for (value, count) in [(7.0, 1), (0.0, 0)] {
            assert_eq!(node("NonZero", 9).input(floats(&[], &[value])).tensor().shape(), [0, count]);
        }
    }

    #[test]
    fn nonzero_knows_every_kind() {
        let found = |data: Tensor| node("NonZero", 13).input(data).tensor();
        assert_eq!(found(floats(&[2, 2], &[f64::NAN, -0.0, 0.0, 1e-45])), ints(&[2, 2], &[0, 1, 0, 1]));
        assert_eq!(found(strings(&[3], &["", "0", ""])), ints(&[1, 1], &[1]));
        assert_eq!(found(typed(ElementType::Bool, &[2], &[0.0, 1.0])), ints(&[1, 1], &[1]));
        assert_eq!(found(floats(&[2, 0], &[])), ints(&[2, 0], &[]));
    }

    fn hot(opset: i64, indices: Tensor, depth: Tensor) -> OneNode {
        node("OneHot", opset).input(indices).input(depth).input(ints(&[2], &[2, 5]))
    }

    #[test]
    fn negative_indices_count_from_the_back_since_eleven() {
        let rows: [(i64, &[i64]); 3] =
            [(9, &[5, 2, 2, 2, 2, 2, 2, 2]), (11, &[5, 2, 2, 5, 2, 2, 2, 2]), (28, &[5, 2, 2, 5, 2, 2, 2, 2])];
        for (opset, expected) in rows {
            let classes = hot(opset, ints(&[4], &[0, -1, 2, -3]), ints(&[], &[2])).tensor();
            assert_eq!((classes.shape(), classes.indices().as_slice()), (&[4, 2][..], expected), "{opset}");
        }
    }

    #[test]
    fn numbers_that_are_no_integers_are_truncated() {
        let classes = hot(11, floats(&[2], &[1.9, -0.9]), floats(&[1], &[2.5])).set("axis", 0).tensor();
        assert_eq!(classes, ints(&[2, 2], &[2, 5, 5, 2]));
        let text = node("OneHot", 9).input(ints(&[], &[1])).input(ints(&[], &[2])).input(strings(&[2], &["off", "on"]));
        assert_eq!(text.tensor(), strings(&[2], &["off", "on"]));
    }

    #[test]
    fn one_hot_axes_and_depths_have_limits() {
        assert!(hot(11, ints(&[1], &[0]), ints(&[], &[-1])).error().contains("not below 0"));
        assert!(hot(11, ints(&[1], &[0]), ints(&[2], &[1, 2])).error().contains("one number"));
        assert!(hot(11, ints(&[1], &[0]), ints(&[], &[2])).set("axis", 2).error().contains("axis 2"));
        assert_eq!(hot(11, ints(&[1], &[0]), ints(&[], &[0])).set("axis", -2).tensor().shape(), [0, 1]);
    }

    #[test]
    fn a_condition_may_be_short_but_not_select_what_is_not_there() {
        let data = || typed(ElementType::Uint8, &[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let keep = |condition: &[f64]| {
            node("Compress", 11).input(data()).input(typed(ElementType::Bool, &[condition.len()], condition))
        };
        assert_eq!(keep(&[0.0, 1.0, 1.0]).tensor().floats(), [2.0, 3.0]);
        assert_eq!(keep(&[0.0, 1.0]).set("axis", -1).tensor(), typed(ElementType::Uint8, &[2, 1], &[2.0, 4.0]));
        assert_eq!(keep(&[1.0]).set("axis", 0).tensor().floats(), [1.0, 2.0]);
        assert_eq!(keep(&[0.0, 0.0, 0.0]).set("axis", 0).tensor().shape(), [0, 2]);
        assert!(keep(&[0.0, 0.0, 1.0]).set("axis", 0).error().contains("entry 2"));
    }
}
