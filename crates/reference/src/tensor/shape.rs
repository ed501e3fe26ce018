//! Shapes: counting elements, broadcasting, axes, strides.

#![expect(clippy::indexing_slicing, reason = "an axis counts below the rank of the list that it indexes")]

use crate::tensor::error::TensorError;

/// The number of elements of a shape.
pub fn element_count(shape: &[usize]) -> Result<usize, TensorError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |count, &dim| count.checked_mul(dim))
        .ok_or_else(|| TensorError::Overflow(shape.to_vec()))
}

/// The row-major strides of a shape, in elements.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1usize; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1].saturating_mul(shape[axis + 1]);
    }
    strides
}

/// The numbers of elements in the axes before and after one, each capped at `usize::MAX`: a tensor with an empty axis
/// may exceed it.
pub fn around_axis(shape: &[usize], axis: usize) -> (usize, usize) {
    let volume = |dims: &[usize]| element_count(dims).unwrap_or(usize::MAX);
    (volume(shape.get(..axis).unwrap_or(shape)), volume(shape.get(axis + 1..).unwrap_or(&[])))
}

/// The result of ONNX's multidirectional broadcasting, or an error with both shapes if they do not broadcast.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, ShapeMismatch> {
    let rank = a.len().max(b.len());
    let dim = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |index| shape[index]);
    (0..rank)
        .map(|axis| match (dim(a, axis), dim(b, axis)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            _ => Err(ShapeMismatch { a: a.to_vec(), b: b.to_vec() }),
        })
        .collect()
}

/// Two shapes that do not broadcast.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("shapes {a:?} and {b:?} do not broadcast")]
pub struct ShapeMismatch {
    a: Vec<usize>,
    b: Vec<usize>,
}

/// The strides for reading a tensor of `shape` as `target`, to which it broadcasts: 0 along repeated axes.
pub fn broadcast_strides(shape: &[usize], target: &[usize]) -> Vec<usize> {
    let own = strides(shape);
    let lead = target.len().saturating_sub(shape.len());
    (0..target.len())
        .map(|axis| match axis.checked_sub(lead) {
            Some(index) if shape[index] != 1 => own[index],
            _ => 0,
        })
        .collect()
}

/// Converts an axis, which counts from the end if negative, to an index from 0 for this rank.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize, AxisError> {
    let signed = i64::try_from(rank).unwrap_or(i64::MAX);
    let from_zero = if axis < 0 { axis.checked_add(signed) } else { Some(axis) };
    from_zero
        .filter(|index| (0..signed).contains(index))
        .and_then(|index| usize::try_from(index).ok())
        .ok_or(AxisError { axis, rank })
}

/// An axis outside `[-rank, rank - 1]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("axis {axis} is outside [-{rank}, {rank} - 1]")]
pub struct AxisError {
    axis: i64,
    rank: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_aligns_at_the_last_axis() {
        type Row<'a> = (&'a [usize], &'a [usize], Option<&'a [usize]>);
        let rows: [Row<'_>; 7] = [
            (&[2, 3], &[3], Some(&[2, 3])),
            (&[2, 1], &[1, 4], Some(&[2, 4])),
            (&[], &[5], Some(&[5])),
            (&[0], &[1], Some(&[0])),
            (&[0], &[2], None),
            (&[2, 3], &[2], None),
            (&[3, 1, 2], &[4, 1], Some(&[3, 4, 2])),
        ];
        for (a, b, expected) in rows {
            assert_eq!(broadcast(a, b).ok().as_deref(), expected, "{a:?} with {b:?}");
        }
    }

    #[test]
    fn counting_refuses_overflow_except_for_empty_shapes() {
        assert!(element_count(&[usize::MAX, 2]).is_err());
        assert_eq!(element_count(&[usize::MAX, 2, 0]), Ok(0));
        assert_eq!(element_count(&[]), Ok(1));
    }

    #[test]
    fn axes_count_from_the_back() {
        assert_eq!(normalize_axis(-1, 3), Ok(2));
        assert_eq!(normalize_axis(-3, 3), Ok(0));
        for (axis, rank) in [(3, 3), (-4, 3), (0, 0), (i64::MIN, 3)] {
            assert!(normalize_axis(axis, rank).is_err(), "{axis} in rank {rank} was taken");
        }
    }
}
