//! Index maps: for each element of a result, in row-major order, the flat position of its source element.

#![expect(clippy::indexing_slicing, reason = "shape, strides and index have one entry per axis")]

/// Iterator over the positions of a row-major walk over `shape`, where a step along axis `a` moves by `strides[a]`.
///
/// Strides may be zero (broadcasting) or negative (reversal); the walk begins at `offset`. Positions are
/// `offset + sum(index[a] * strides[a])`, and the caller keeps them within the source. If another axis of the source is
/// empty, strides may be too large for that: such positions wrap, but they are never read.
#[derive(Debug, Clone)]
pub struct StridedIter {
    shape: Vec<usize>,
    strides: Vec<isize>,
    index: Vec<usize>,
    position: isize,
    remaining: usize,
}

impl StridedIter {
    /// Walk over `shape` with the given strides, starting at `offset`.
    pub fn new(shape: &[usize], strides: &[isize], offset: isize) -> StridedIter {
        debug_assert_eq!(shape.len(), strides.len());
        StridedIter {
            remaining: if shape.contains(&0) { 0 } else { shape.iter().product() },
            index: vec![0; shape.len()],
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            position: offset,
        }
    }

    /// Walk that reads a tensor of `shape` as if it were broadcast to `target`.
    pub fn broadcast(shape: &[usize], target: &[usize]) -> StridedIter {
        let strides: Vec<isize> =
            super::shape::broadcast_strides(shape, target).into_iter().map(usize::cast_signed).collect();
        StridedIter::new(target, &strides, 0)
    }

    /// Walk that reads a tensor of `shape` with its axes in the order `permutation`.
    pub fn transposed(shape: &[usize], permutation: &[usize]) -> StridedIter {
        let own = super::shape::strides(shape);
        let target: Vec<usize> = permutation.iter().map(|&axis| shape[axis]).collect();
        let strides: Vec<isize> = permutation.iter().map(|&axis| own[axis].cast_signed()).collect();
        StridedIter::new(&target, &strides, 0)
    }
}

impl Iterator for StridedIter {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.remaining = self.remaining.checked_sub(1)?;
        let here = self.position.cast_unsigned();
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.shape[axis] {
                self.position = self.position.wrapping_add(self.strides[axis]);
                break;
            }
            self.index[axis] = 0;
            let back = self.strides[axis].wrapping_mul((self.shape[axis] - 1).cast_signed());
            self.position = self.position.wrapping_sub(back);
        }
        Some(here)
    }

    /// Skips `n` positions without visiting them.
    fn nth(&mut self, n: usize) -> Option<usize> {
        self.remaining = self.remaining.saturating_sub(n);
        if self.remaining == 0 {
            return None;
        }
        let mut carry = n;
        for ((index, &size), &stride) in self.index.iter_mut().zip(&self.shape).zip(&self.strides).rev() {
            let sum = *index + carry;
            let moved = (sum % size).cast_signed() - index.cast_signed();
            self.position = self.position.wrapping_add(stride.wrapping_mul(moved));
            *index = sum % size;
            carry = sum / size;
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for StridedIter {}

/// Calls `visit` with every multi-index of a shape, in row-major order.
pub fn for_each_index<E>(shape: &[usize], mut visit: impl FnMut(&[usize]) -> Result<(), E>) -> Result<(), E> {
    let mut index = vec![0; shape.len()];
    let count = if shape.contains(&0) { 0 } else { shape.iter().product() };
    for _ in 0..count {
        visit(&index)?;
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broadcast_walk_repeats() {
        assert_eq!(StridedIter::broadcast(&[2, 1], &[2, 3]).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
        assert_eq!(StridedIter::broadcast(&[3], &[2, 3]).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(StridedIter::broadcast(&[], &[2]).collect::<Vec<_>>(), [0, 0]);
        assert_eq!(StridedIter::broadcast(&[1], &[0]).count(), 0);
    }

    #[test]
    fn a_transposed_walk_swaps_axes() {
        assert_eq!(StridedIter::transposed(&[2, 3], &[1, 0]).collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
    }

    #[test]
    fn an_empty_walk_has_any_size_elsewhere() {
        assert_eq!(StridedIter::new(&[usize::MAX, usize::MAX, 0], &[0, 0, 1], 0).count(), 0);
    }

    #[test]
    fn strides_of_an_empty_tensor_may_be_beyond_any_memory() {
        let stride = isize::MAX;
        assert_eq!(StridedIter::new(&[3], &[stride], 0).count(), 3);
        assert_eq!(StridedIter::new(&[3, 2], &[stride, stride], 0).count(), 6);
        assert_eq!(for_each_index::<()>(&[usize::MAX, usize::MAX, 0], |_| Err(())), Ok(()));
    }

    #[test]
    fn a_walk_may_run_backwards() {
        assert_eq!(StridedIter::new(&[3], &[-1], 2).collect::<Vec<_>>(), [2, 1, 0]);
    }

    #[test]
    fn a_scalar_has_one_index() {
        let mut seen = Vec::new();
        for_each_index::<()>(&[], |index| {
            seen.push(index.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [Vec::<usize>::new()]);
    }
}
