//! Integer lists as arguments: axes, dimensions, indices.

use crate::kernels::framework::call::Result;
use crate::kernels::framework::error::invalid;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;

/// Normalizes axes to 0..rank, in the given order. Negative axes count from the back; duplicates are refused.
pub(crate) fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut axes = Vec::new();
    for &axis in list {
        let from_zero = normalize_axis(axis, rank)?;
        if axes.contains(&from_zero) {
            return Err(invalid(format!("axes {list:?} name axis {from_zero} of rank {rank} more than once")));
        }
        axes.push(from_zero);
    }
    Ok(axes)
}

/// Refuses negative entries, for versions that do not allow them.
pub(crate) fn non_negative(list: &[i64], what: &str) -> Result<()> {
    match list.iter().find(|value| **value < 0) {
        Some(value) => {
            Err(invalid(format!("{what} {list:?} contains {value}, but this version allows no negative entries")))
        }
        None => Ok(()),
    }
}

/// Converts sizes. Negative sizes are refused.
pub(crate) fn dimensions(list: &[i64], what: &str) -> Result<Vec<usize>> {
    non_negative(list, what)?;
    let size = |&value: &i64| usize::try_from(value).map_err(|_| invalid(format!("{what} contains {value}")));
    list.iter().map(size).collect()
}

/// Normalizes an index to 0..`size`. Negative indices count from the back.
pub(crate) fn index(index: i64, size: usize) -> Result<usize> {
    let from_zero = if index < 0 { size.checked_sub(distance(index)) } else { usize::try_from(index).ok() };
    from_zero.filter(|at| *at < size).ok_or_else(|| invalid(format!("index {index} is outside [-{size}, {size} - 1]")))
}

fn distance(index: i64) -> usize {
    usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX)
}

/// Returns the integer of a tensor that must have exactly one element.
pub(crate) fn single(tensor: &Tensor, what: &str) -> Result<i64> {
    if tensor.len() != 1 {
        return Err(invalid(format!("{what} has shape {:?}, but must have one element", tensor.shape())));
    }
    // bounded: one element.
    Ok(tensor.indices().first().copied().unwrap_or_default())
}

/// Refuses a tensor that is not 1-D.
pub(crate) fn one_dimensional(tensor: &Tensor, what: &str) -> Result<()> {
    match tensor.rank() {
        1 => Ok(()),
        _ => Err(invalid(format!("{what} has shape {:?}, but must be 1-D", tensor.shape()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_count_from_the_back() {
        for (at, expected) in [(0, Some(0)), (2, Some(2)), (3, None), (-1, Some(2)), (-3, Some(0)), (-4, None)] {
            assert_eq!(index(at, 3).ok(), expected, "{at}");
        }
        for at in [i64::MIN, i64::MAX, 0, -1] {
            assert!(index(at, 0).is_err(), "{at}");
        }
    }

    #[test]
    fn an_axis_named_twice_is_refused() {
        assert_eq!(axes(&[2, -3], 3).unwrap(), [2, 0]);
        assert!(axes(&[2, -1], 3).is_err());
        assert!(axes(&[3], 3).is_err());
    }
}
