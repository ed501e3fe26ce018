//! Slice: strided parts of a tensor.

use crate::infer::elements::{self, Elements};
use crate::infer::{List, NodeView, Shape, Size, rules};
use crate::kernels::framework::arguments::{axes, one_dimensional};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::strides;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Slice", 1, |call| {
        let (starts, ends) = (call.ints("starts")?, call.ints("ends")?);
        slice(call, Bounds { starts, ends, axes: call.optional_ints("axes"), steps: None })
    })
    .shape(sliced)
    .with_elements(sliced_elements),
    Kernel::new("Slice", 10, |call| {
        let list = |index| call.optional_tensor(index)?.map(|tensor| call.budget.read_indices(tensor)).transpose();
        for (index, name) in [(1, "starts"), (2, "ends"), (3, "axes"), (4, "steps")] {
            call.optional_tensor(index)?.map_or(Ok(()), |tensor| one_dimensional(tensor, name)).rule("C8")?;
        }
        let (starts, ends) = (call.budget.read_indices(call.tensor(1)?)?, call.budget.read_indices(call.tensor(2)?)?);
        let (axes, steps) = (list(3)?, list(4)?);
        slice(call, Bounds { starts: &starts, ends: &ends, axes: axes.as_deref(), steps: steps.as_deref() })
    })
    .shape(sliced)
    .with_elements(sliced_elements),
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
        let steps = steps.map(|steps| format!(", steps {steps:?}")).unwrap_or_default();
        return Err(broken(
            "C7",
            format!(
                "the lists must have equal lengths, of at most the {} axes of data: starts {starts:?}, ends {ends:?}, axes {axes:?}{steps}",
                data.rank()
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

/// Bounds of a slice as far as they are known, with an entry for each of its axes.
struct KnownBounds {
    axes: Vec<usize>,
    starts: Option<Elements>,
    ends: Option<Elements>,
    steps: Option<Elements>,
}

impl KnownBounds {
    /// Reads the bounds for a tensor of this rank; `None` if the axes are unknown.
    fn read(view: &NodeView<'_, '_>, rank: usize) -> Option<KnownBounds> {
        let read = |name: &str, position: usize| match view.ints(name) {
            List::Given(list) => Some(list.into_iter().map(|value| Some(Size::constant(value))).collect()),
            List::Unknown => None,
            List::Absent => view.elements(position),
        };
        let (starts, ends) = (read("starts", 1), read("ends", 2));
        let axes = match view.list("axes", 3) {
            List::Given(axes) => rules::front_axes(&axes, rank)?,
            List::Unknown => return None,
            List::Absent => (0..starts.as_ref().or(ends.as_ref())?.len().min(rank)).collect(),
        };
        let steps = if view.is_given(4) {
            view.elements(4)
        } else {
            // bounded: by the rank.
            Some(std::iter::repeat_n(Some(Size::constant(1)), axes.len()).collect())
        };
        Some(KnownBounds { axes, starts, ends, steps })
    }

    /// The start, end and step of an axis.
    fn of(&self, index: usize) -> Option<[Size; 3]> {
        let at = |list: Option<&Elements>| list?.get(index).cloned().flatten();
        Some([at(self.starts.as_ref())?, at(self.ends.as_ref())?, at(self.steps.as_ref())?])
    }
}

/// The number of entries of a slice of an axis of `size`: `ceil((end - start) / step)` of the clamped bounds.
fn entries(size: &Dim, [start, end, step]: [Size; 3]) -> Option<Dim> {
    let step = step.value()?;
    if let (Dim::Size(size), Some(start), Some(end)) = (size, start.value(), end.value()) {
        return Range::clamped(start, end, step, *size).ok().map(|range| Dim::Size(range.count));
    }
    let size = Size::from_dim(size)?;
    let distance = if step < 0 { backward(&size, &start, &end)? } else { forward(&size, &start, &end)? };
    let step = Size::constant(step.checked_abs().filter(|step| *step > 0)?);
    Some(distance.over_rounded_up(&step.dim()))
}

/// True if an end is so large that it means the end of an axis of any size.
fn is_open_end(end: &Size) -> bool {
    end.value().is_some_and(|end| end >= i64::from(i32::MAX))
}

/// The number of entries from the start to the end, both clamped.
fn forward(size: &Size, start: &Size, end: &Size) -> Option<Dim> {
    let from_the_back = |bound: &Size| bound.value().is_some_and(|value| value < 0);
    let from_the_front = |bound: &Size| bound.is_never_negative();
    if from_the_front(start) {
        let last = if is_open_end(end) {
            size.clone()
        } else if from_the_front(end) {
            Size::min(size, end)?
        } else {
            size.plus(Some(end).filter(|end| from_the_back(end))?)?
        };
        return rules::not_below_zero(last.minus(start)?);
    }
    let start = Some(start).filter(|start| from_the_back(start))?;
    if is_open_end(end) {
        return Some(Size::min(size, &start.times(&Size::constant(-1))?)?.dim());
    }
    let zero = Size::constant(0);
    let first = Size::max(&size.plus(start)?, &zero)?;
    let last = if from_the_front(end) {
        Size::min(size, end)?
    } else {
        Size::max(&size.plus(Some(end).filter(|end| from_the_back(end))?)?, &zero)?
    };
    rules::not_below_zero(last.minus(&first)?)
}

/// The size, if a slice that counts down selects every entry.
fn backward(size: &Size, start: &Size, end: &Size) -> Option<Dim> {
    let is_last = start.value() == Some(-1) || is_open_end(start);
    let is_before_first = end.value().is_some_and(|end| end <= -i64::from(i32::MAX));
    (is_last && is_before_first).then(|| size.clone().dim())
}

/// The shape of the data with the number of selected entries along each sliced axis.
fn sliced(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let Some(bounds) = KnownBounds::read(view, shape.len()) else { return rules::unknown(shape.len()) };
    for (index, &axis) in bounds.axes.iter().enumerate() {
        let size = shape.get_mut(axis)?;
        *size = bounds.of(index).and_then(|bounds| entries(size, bounds)).unwrap_or(Dim::Unknown);
    }
    Some(shape)
}

/// The selected elements of a vector, for constant bounds.
fn sliced_elements(view: &NodeView<'_, '_>) -> Option<Elements> {
    let all = elements::integers(view, 0).filter(|_| view.rank(0) == Some(1))?;
    let bounds = KnownBounds::read(view, 1)?;
    if bounds.axes.is_empty() {
        return Some(all);
    }
    let [start, end, step] = bounds.of(0)?;
    let range = Range::clamped(start.value()?, end.value()?, step.value()?, all.len()).ok()?;
    let at = |index: usize| {
        let offset = range.step.checked_mul(isize::try_from(index).ok()?)?;
        all.get(usize::try_from(range.first.checked_add(offset)?).ok()?).cloned().flatten()
    };
    // bounded: by the elements of the vector.
    Some((0..range.count).map(at).collect())
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
        assert!(refused.contains("must have equal lengths") || refused.contains("more than once"), "{refused}");
    }
}
