//! Slice: strided parts of a tensor.

use crate::kernels::framework::arguments::axes;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::strides;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Slice", 1, |call| {
        let (starts, ends) = (call.ints("starts")?, call.ints("ends")?);
        slice(call, Bounds { starts, ends, axes: call.optional_ints("axes"), steps: None })
    }),
    Kernel::new("Slice", 10, |call| {
        let list = |index| call.optional_tensor(index)?.map(|tensor| call.budget.read_indices(tensor)).transpose();
        let (starts, ends) = (call.budget.read_indices(call.tensor(1)?)?, call.budget.read_indices(call.tensor(2)?)?);
        let (axes, steps) = (list(3)?, list(4)?);
        slice(call, Bounds { starts: &starts, ends: &ends, axes: axes.as_deref(), steps: steps.as_deref() })
    }),
];

/// Bounds of a slice, with an entry for each of its axes.
struct Bounds<'a> {
    starts: &'a [i64],
    ends: &'a [i64],
    /// If omitted, the first axes.
    axes: Option<&'a [i64]>,
    /// If omitted, 1 for each axis.
    steps: Option<&'a [i64]>,
}

/// Slice: `out[i] = data[start + i * step]` along each given axis, or along the first ones.
fn slice(call: &Call<'_>, Bounds { starts, ends, axes: named, steps }: Bounds<'_>) -> Result {
    let data = call.tensor(0)?;
    let axes = match named {
        Some(named) => axes(named, data.rank()).rule("C2")?,
        None => (0..starts.len()).collect(),
    };
    let same = starts.len() == ends.len() && starts.len() == axes.len() && axes.len() <= data.rank();
    if !same || steps.is_some_and(|steps| steps.len() != starts.len()) {
        return Err(broken(
            "C7",
            format!(
                "starts {starts:?}, ends {ends:?}, axes {axes:?} and steps {steps:?} do not fit shape {:?}",
                data.shape()
            ),
        ));
    }
    let mut shape = data.shape().to_vec();
    let mut moves: Vec<isize> = strides(&shape).into_iter().map(usize::cast_signed).collect();
    let mut offset = 0_isize;
    for (index, ((&axis, &start), &end)) in axes.iter().zip(starts).zip(ends).enumerate() {
        let step = steps.and_then(|steps| steps.get(index).copied()).unwrap_or(1);
        let (Some(size), Some(stride)) = (shape.get_mut(axis), moves.get_mut(axis)) else { continue };
        let range = Range::clamped(start, end, step, *size)?;
        *size = range.count;
        offset = offset.wrapping_add(stride.wrapping_mul(range.first));
        *stride = stride.wrapping_mul(range.step);
    }
    let buffer = call.allocate(data.element_type(), &shape)?;
    Ok(buffer.gather(data, StridedIter::new(&shape, &moves, offset))?.into())
}

/// Entries of one axis in a slice.
struct Range {
    first: isize,
    step: isize,
    count: usize,
}

impl Range {
    /// Resolves negative bounds from the back, then clamps them to the range for the direction.
    ///
    /// A negative step from before the first entry starts at the first (text of version 13). `NumPy` selects nothing.
    fn clamped(start: i64, end: i64, step: i64, size: usize) -> Result<Range> {
        let (size, step) = (size as i128, i128::from(step));
        let from_zero = |index: i64| if index < 0 { i128::from(index) + size } else { i128::from(index) };
        let (lowest, highest) = if step < 0 { (-1, size - 1) } else { (0, size) };
        let first = from_zero(start).max(lowest.max(0)).min(highest);
        let last = from_zero(end).clamp(lowest, highest);
        let distance = if step < 0 { first - last } else { last - first };
        let length = step.abs();
        if length == 0 {
            return Err(broken("C5", "a step is 0; use 1 to select every entry"));
        }
        let count = usize::try_from((distance.max(0) + length - 1) / length).unwrap_or(0);
        // One entry needs no step. For several, the step is smaller than the axis.
        let step = if count > 1 { isize::try_from(step).unwrap_or(0) } else { 0 };
        Ok(Range { first: isize::try_from(first).unwrap_or(0), step, count })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node};

    fn sliced(start: i64, end: i64, step: i64) -> OneNode {
        let one = |value| ints(&[1], &[value]);
        let data = floats(&[4], &[0.0, 1.0, 2.0, 3.0]);
        node("Slice", 13).input(data).input(one(start)).input(one(end)).input(one(0)).input(one(step))
    }

    #[test]
    fn ends_are_clamped_by_direction() {
        let rows: [(i64, i64, i64, &[f64]); 6] = [
            (i64::MIN, i64::MAX, i64::MAX, &[0.0]),
            (9, 20, 1, &[]),
            (i64::MAX, i64::MIN, -3, &[3.0, 0.0]),
            (3, -5, -2, &[3.0, 1.0]),
            (2, 0, i64::MIN, &[2.0]),
            (i64::MIN, i64::MIN, -1, &[0.0]),
        ];
        for (start, end, step, expected) in rows {
            assert_eq!(sliced(start, end, step).tensor().floats(), expected, "[{start}:{end}:{step}]");
        }
    }

    #[test]
    fn an_empty_axis_slices_both_ways() {
        for step in [1, -1] {
            let one = |value| ints(&[1], &[value]);
            let empty = node("Slice", 10).input(floats(&[0, 2], &[])).input(one(-1)).input(one(i64::MAX));
            assert_eq!(empty.input(one(0)).input(one(step)).tensor().shape(), [0, 2]);
        }
    }

    #[test]
    fn more_slices_than_axes_are_refused() {
        let two = || ints(&[2], &[0, 0]);
        let refused = node("Slice", 13).input(floats(&[2], &[0.0, 1.0])).input(two()).input(two()).error();
        assert!(refused.contains("do not fit") || refused.contains("more than once"), "{refused}");
    }
}
