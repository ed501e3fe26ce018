//! Sizes declared by a model: multiplied with overflow checks, and limited before any allocation of that size.

/// Maximum number of elements of a tensor that is allocated because a model asks for it.
pub const MAX_ELEMENTS: usize = 1 << 20;

/// Maximum number of items of a list that is allocated because a model asks for it.
pub const MAX_ITEMS: usize = 1 << 16;

/// Error: a size declared by a model exceeds the limit or overflows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {limit} {what}, the limit, would be created")]
pub struct OverLimit {
    limit: usize,
    what: &'static str,
}

/// The number of elements of a shape, at most [`MAX_ELEMENTS`].
///
/// ```
/// use onnx_conformance_check::bounded::elements;
///
/// assert_eq!(elements(&[2, 3]), Ok(6));
/// assert_eq!(elements(&[]), Ok(1));
/// assert!(elements(&[1 << 40]).is_err() && elements(&[usize::MAX, 2]).is_err());
/// ```
pub fn elements(shape: &[usize]) -> Result<usize, OverLimit> {
    let over = OverLimit { limit: MAX_ELEMENTS, what: "elements" };
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    count.filter(|count| *count <= MAX_ELEMENTS).ok_or(over)
}

/// The length of a list as a size, at most [`MAX_ITEMS`]; a negative length is 0.
///
/// ```
/// use onnx_conformance_check::bounded::items;
///
/// assert_eq!(items(3_i64), Ok(3));
/// assert_eq!(items(-1_i64), Ok(0));
/// assert!(items(1_i64 << 40).is_err());
/// ```
pub fn items(count: impl Into<i128>) -> Result<usize, OverLimit> {
    let count = usize::try_from(count.into().max(0)).unwrap_or(usize::MAX);
    if count <= MAX_ITEMS { Ok(count) } else { Err(OverLimit { limit: MAX_ITEMS, what: "items" }) }
}

/// A list of `count` equal items, at most [`MAX_ITEMS`].
///
/// ```
/// use onnx_conformance_check::bounded::repeated;
///
/// assert_eq!(repeated(0, 2), Ok(vec![0, 0]));
/// assert!(repeated(0, usize::MAX).is_err());
/// ```
pub fn repeated<T: Clone>(item: T, count: usize) -> Result<Vec<T>, OverLimit> {
    let count = items(i128::try_from(count).unwrap_or(i128::MAX))?;
    // bounded: by MAX_ITEMS.
    Ok(std::iter::repeat_n(item, count).collect())
}

/// `count` zeros for a tensor of a shape, at most [`MAX_ELEMENTS`].
pub fn zeros(shape: &[usize]) -> Result<Vec<f64>, OverLimit> {
    // bounded: by MAX_ELEMENTS.
    Ok(std::iter::repeat_n(0.0, elements(shape)?).collect())
}
