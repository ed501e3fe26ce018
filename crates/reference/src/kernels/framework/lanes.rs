//! Lanes of a tensor: groups of elements whose indices differ only along some axes.

#![expect(clippy::indexing_slicing, reason = "positions are sums of an index below each dimension times its stride")]

use crate::deadline::Deadline;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::KernelError;
use crate::parallel::{try_for_each_block, try_map};
use crate::tensor::index::StridedIter;
use crate::tensor::shape::{element_count, strides};

/// Minimum number of elements for parallel lanes.
const PARALLEL: usize = 1 << 16;

/// Elements of a lane between two checks of the clock.
const BLOCK: usize = 1 << 14;

/// Positions of the elements of each lane.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// Position of the first element of each lane, in row-major order of the other axes.
    starts: Positions,
    /// Offset of each element of a lane from its first, in row-major order of the lane's axes.
    offsets: Positions,
    deadline: Deadline,
}

/// Positions in a tensor: evenly spaced, or listed.
#[derive(Debug)]
enum Positions {
    Even { count: usize, step: usize },
    Listed(Vec<usize>),
}

impl Positions {
    /// Computes the positions of a walk along some axes.
    fn new(call: &Call<'_>, dims: &[usize], steps: &[usize]) -> Result<Positions> {
        let count = element_count(dims)?;
        let axes: Vec<(usize, usize)> =
            dims.iter().copied().zip(steps.iter().copied()).filter(|(dim, _)| *dim != 1).collect();
        let is_even = axes.windows(2).all(|pair| pair[0].1 == pair[1].0.saturating_mul(pair[1].1));
        if is_even || count == 0 {
            return Ok(Positions::Even { count, step: axes.last().map_or(0, |(_, step)| *step) });
        }
        let steps: Vec<isize> = steps.iter().copied().map(usize::cast_signed).collect();
        call.budget.collect(StridedIter::new(dims, &steps, 0)).map(Positions::Listed)
    }

    fn len(&self) -> usize {
        match self {
            Positions::Even { count, .. } => *count,
            Positions::Listed(positions) => positions.len(),
        }
    }

    fn at(&self, index: usize) -> usize {
        match self {
            // If another axis is empty, a step may exceed any memory. Nothing is read then.
            Positions::Even { step, .. } => index.wrapping_mul(*step),
            Positions::Listed(positions) => positions[index],
        }
    }
}

impl Lanes {
    /// Splits `shape` along the axes for which `along` is true.
    pub(crate) fn new(call: &Call<'_>, shape: &[usize], along: &[bool]) -> Result<Lanes> {
        let steps = strides(shape);
        let positions = |inside: bool| -> Result<Positions> {
            let chosen = || (0..shape.len()).filter(|&axis| along[axis] == inside);
            let dims: Vec<usize> = chosen().map(|axis| shape[axis]).collect();
            let steps: Vec<usize> = chosen().map(|axis| steps[axis]).collect();
            Positions::new(call, &dims, &steps)
        };
        Ok(Lanes { starts: positions(false)?, offsets: positions(true)?, deadline: call.budget.deadline().clone() })
    }

    /// Splits `shape` along one axis.
    pub(crate) fn along(call: &Call<'_>, shape: &[usize], axis: usize) -> Result<Lanes> {
        let along: Vec<bool> = (0..shape.len()).map(|index| index == axis).collect();
        Lanes::new(call, shape, &along)
    }

    /// Splits `shape` along the axes from `axis` on.
    pub(crate) fn from_axis(call: &Call<'_>, shape: &[usize], axis: usize) -> Result<Lanes> {
        let along: Vec<bool> = (0..shape.len()).map(|index| index >= axis).collect();
        Lanes::new(call, shape, &along)
    }

    /// Returns the number of elements per lane.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the position in the tensor of each element of a lane.
    pub(crate) fn positions(&self, lane: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.starts.at(lane);
        (0..self.len()).map(move |index| start + self.offsets.at(index))
    }

    /// Computes one result per lane from the lane's elements in order.
    pub(crate) fn fold<T, R>(
        &self,
        call: &Call<'_>,
        values: &[T],
        fold: impl Fn(Lane<'_, T>) -> R + Sync,
    ) -> Result<Vec<R>>
    where
        T: Copy + Sync,
        R: Send,
    {
        let lane = |start: usize| {
            call.budget.count_work(self.len())?;
            Ok(fold(Lane { values, lanes: self, start: self.starts.at(start), next: 0 }))
        };
        let count = self.starts.len();
        call.budget.count(count, size_of::<Result<R, KernelError>>())?;
        if values.len() < PARALLEL { (0..count).map(lane).collect() } else { try_map(count, lane) }
    }

    /// Applies `change` in place to the elements of each lane. It also gets the lane's number.
    pub(crate) fn change<T>(
        &self,
        call: &Call<'_>,
        values: &mut [T],
        change: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()>
    where
        T: Copy + Default + Send + Sync,
    {
        if values.is_empty() {
            return Ok(());
        }
        let change = |lane: usize, chunk: &mut [T]| {
            call.budget.count_work(chunk.len())?;
            change(lane, chunk);
            Ok::<_, KernelError>(())
        };
        if self.lie_in_order() {
            return self.for_each_lane(values, change);
        }
        let mut gathered: Vec<T> = call.budget.scratch(values.len())?;
        for (lane, chunk) in gathered.chunks_exact_mut(self.len()).enumerate() {
            call.budget.count_work(chunk.len())?;
            chunk.iter_mut().zip(self.positions(lane)).for_each(|(slot, position)| *slot = values[position]);
        }
        self.for_each_lane(&mut gathered, change)?;
        for (lane, chunk) in gathered.chunks_exact(self.len()).enumerate() {
            call.budget.count_work(chunk.len())?;
            chunk.iter().zip(self.positions(lane)).for_each(|(value, position)| values[position] = *value);
        }
        Ok(())
    }

    /// Calls `change` with the number and the elements of each lane of contiguous ones, on several threads if there are many elements.
    fn for_each_lane<T: Send>(
        &self,
        values: &mut [T],
        change: impl Fn(usize, &mut [T]) -> Result<()> + Sync,
    ) -> Result<()> {
        if values.len() < PARALLEL {
            values.chunks_exact_mut(self.len()).enumerate().try_for_each(|(lane, chunk)| change(lane, chunk))
        } else {
            try_for_each_block(values, self.len(), change)
        }
    }

    /// True if each lane is contiguous and the lanes follow each other.
    fn lie_in_order(&self) -> bool {
        let lies = |positions: &Positions, by: usize| match positions {
            Positions::Even { count, step } => *count <= 1 || *step == by,
            Positions::Listed(_) => false,
        };
        lies(&self.offsets, 1) && lies(&self.starts, self.len())
    }
}

/// Iterator over the elements of one lane. After the deadline it ends early; the executor checks it after each kernel.
#[derive(Debug)]
pub(crate) struct Lane<'a, T> {
    values: &'a [T],
    lanes: &'a Lanes,
    start: usize,
    next: usize,
}

impl<T> Clone for Lane<'_, T> {
    fn clone(&self) -> Self {
        Lane { ..*self }
    }
}

impl<T: Copy> Iterator for Lane<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let (index, count) = (self.next, self.lanes.len());
        if index >= count || index % BLOCK == BLOCK - 1 && self.lanes.deadline.is_over() {
            self.next = count;
            return None;
        }
        self.next += 1;
        Some(self.values[self.start + self.lanes.offsets.at(index)])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.lanes.len() - self.next;
        (left, Some(left))
    }
}

impl<T: Copy> ExactSizeIterator for Lane<'_, T> {}

/// Returns the index of the largest or smallest element. Ties go to the first, or to the last. A NaN precedes all
/// numbers, as in `numpy.argmax` and `numpy.argmin`.
pub(crate) fn extreme<T: Copy + PartialOrd>(
    mut values: impl Iterator<Item = T>,
    largest: bool,
    last: bool,
) -> Option<usize> {
    let mut best = values.next()?;
    let mut place = 0;
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    for (index, value) in values.enumerate() {
        let (value_is_nan, best_is_nan) = (is_nan(value), is_nan(best));
        let better = match (value_is_nan, best_is_nan) {
            (false, false) => (if largest { value > best } else { value < best }) || last && value == best,
            (true, true) => last,
            _ => value_is_nan,
        };
        if better {
            (best, place) = (value, index + 1);
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, node};

    #[test]
    fn an_empty_tensor_may_have_lanes_beyond_any_memory() {
        let huge = usize::MAX >> 1;
        for shape in [[0, 3, huge], [3, 0, huge], [3, huge, 0], [huge, 3, 0]] {
            for axis in 0..3 {
                // A huge tensor is refused. An empty one has an empty result, or one with that many lanes.
                let data = floats(&shape, &[]);
                drop(node("ArgMin", 13).input(data.clone()).set("axis", axis).run());
                drop(node("ReduceProd", 13).input(data.clone()).set("axes", &[axis][..]).run());
                drop(node("Softmax", 13).input(data).set("axis", axis).run());
            }
        }
        let sums = node("ReduceProd", 13).input(floats(&[3, 0, huge], &[])).set("axes", &[1, 2][..]).tensor();
        assert_eq!(sums.floats(), [1.0; 3]);
    }

    #[test]
    fn the_first_or_last_of_equals_is_chosen_and_nan_before_all() {
        let nan = f64::NAN;
        let rows: [(&[f64], bool, bool, usize); 6] = [
            (&[1.0, 3.0, 3.0], true, false, 1),
            (&[1.0, 3.0, 3.0], true, true, 2),
            (&[2.0, 1.0, 1.0], false, false, 1),
            (&[1.0, nan, 5.0, nan], true, false, 1),
            (&[1.0, nan, 5.0, nan], false, true, 3),
            (&[f64::NEG_INFINITY, f64::NEG_INFINITY], true, false, 0),
        ];
        for (values, largest, last, expected) in rows {
            assert_eq!(extreme(values.iter().copied(), largest, last), Some(expected), "{values:?}");
        }
        assert_eq!(extreme([0.0; 0].into_iter(), true, false), None);
    }
}
