//! Tensors cut into lanes: the elements that differ only in their indices along some axes.

use rayon::prelude::*;

use crate::kernels::call::{Call, Result};
use crate::tensor::index::Walk;
use crate::tensor::shape::{element_count, strides};

/// Below this many elements, the lanes stay on one thread.
const PARALLEL: usize = 1 << 16;

/// Where the elements of each lane lie.
#[derive(Debug)]
pub(super) struct Lanes {
    /// The position of the first element of each lane, in the row-major order of the other axes.
    starts: Vec<usize>,
    /// The distance of each element of a lane from its first, in the row-major order of the lane's axes.
    offsets: Vec<usize>,
}

impl Lanes {
    /// Cuts `shape` along the axes for which `along` is true.
    pub(super) fn new(call: &Call<'_>, shape: &[usize], along: &[bool]) -> Result<Lanes> {
        let steps = strides(shape);
        let positions = |inside: bool| -> Result<Vec<usize>> {
            let chosen = || (0..shape.len()).filter(|&axis| along[axis] == inside);
            let dims: Vec<usize> = chosen().map(|axis| shape[axis]).collect();
            let steps: Vec<isize> = chosen().map(|axis| steps[axis].cast_signed()).collect();
            let mut positions: Vec<usize> = call.budget.scratch(element_count(&dims)?)?;
            if !positions.is_empty() {
                positions.iter_mut().zip(Walk::new(&dims, &steps, 0)).for_each(|(slot, position)| *slot = position);
            }
            Ok(positions)
        };
        Ok(Lanes { starts: positions(false)?, offsets: positions(true)? })
    }

    /// Cuts `shape` along one axis.
    pub(super) fn along(call: &Call<'_>, shape: &[usize], axis: usize) -> Result<Lanes> {
        let along: Vec<bool> = (0..shape.len()).map(|at| at == axis).collect();
        Lanes::new(call, shape, &along)
    }

    /// Cuts `shape` along the axes from `axis` on.
    pub(super) fn from(call: &Call<'_>, shape: &[usize], axis: usize) -> Result<Lanes> {
        let along: Vec<bool> = (0..shape.len()).map(|at| at >= axis).collect();
        Lanes::new(call, shape, &along)
    }

    /// The number of elements of a lane.
    pub(super) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// The position in the tensor of each element of a lane.
    pub(super) fn positions(&self, lane: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.starts[lane];
        self.offsets.iter().map(move |offset| start + offset)
    }

    /// One result a lane, each computed from the lane's elements in order.
    pub(super) fn fold<T, R>(&self, values: &[T], fold: impl Fn(Lane<'_, T>) -> R + Sync) -> Vec<R>
    where
        T: Copy + Sync,
        R: Send,
    {
        let lane = |&start: &usize| fold(Lane { values, start, offsets: self.offsets.iter() });
        if values.len() < PARALLEL {
            self.starts.iter().map(lane).collect()
        } else {
            self.starts.par_iter().map(lane).collect()
        }
    }

    /// Replaces the elements of each lane, given the lane's number, by what `change` makes of them in place.
    pub(super) fn change<T>(
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
        let mut gathered: Vec<T> = call.budget.scratch(values.len())?;
        let chunks = gathered.chunks_exact_mut(self.len()).zip(&self.starts);
        for (chunk, start) in chunks {
            chunk.iter_mut().zip(&self.offsets).for_each(|(slot, offset)| *slot = values[start + offset]);
        }
        if values.len() < PARALLEL {
            gathered.chunks_exact_mut(self.len()).enumerate().for_each(|(lane, chunk)| change(lane, chunk));
        } else {
            gathered.par_chunks_exact_mut(self.len()).enumerate().for_each(|(lane, chunk)| change(lane, chunk));
        }
        for (chunk, start) in gathered.chunks_exact(self.len()).zip(&self.starts) {
            chunk.iter().zip(&self.offsets).for_each(|(value, offset)| values[start + offset] = *value);
        }
        Ok(())
    }
}

/// The elements of one lane, in order.
#[derive(Debug)]
pub(super) struct Lane<'a, T> {
    values: &'a [T],
    start: usize,
    offsets: std::slice::Iter<'a, usize>,
}

impl<T> Clone for Lane<'_, T> {
    fn clone(&self) -> Self {
        Lane { values: self.values, start: self.start, offsets: self.offsets.clone() }
    }
}

impl<T: Copy> Iterator for Lane<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.offsets.next().map(|offset| self.values[self.start + offset])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

impl<T: Copy> ExactSizeIterator for Lane<'_, T> {}

/// The place of the largest element, or of the smallest: the first of equals, or the last. A NaN is before all numbers,
/// as `numpy.argmax` and `numpy.argmin` have it.
pub(super) fn extreme<T: Copy + PartialOrd>(
    mut values: impl Iterator<Item = T>,
    largest: bool,
    last: bool,
) -> Option<usize> {
    let mut best = values.next()?;
    let mut place = 0;
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    for (at, value) in values.enumerate() {
        let (value_is_nan, best_is_nan) = (is_nan(value), is_nan(best));
        let better = match (value_is_nan, best_is_nan) {
            (false, false) => (if largest { value > best } else { value < best }) || last && value == best,
            (true, true) => last,
            _ => value_is_nan,
        };
        if better {
            (best, place) = (value, at + 1);
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

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
