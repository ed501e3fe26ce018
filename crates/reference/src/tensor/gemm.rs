//! Matrix products in `f64`: the only, bounds-checked use of `matrixmultiply`, and the project's only unsafe code.

#![expect(clippy::indexing_slicing, reason = "each public function asserts that its matrices lie inside their slices")]

use std::ops::Range;

use crate::deadline::Deadline;
use crate::dtype::ElementType;
use crate::parallel::{threads, try_for_each_block};
use crate::tensor::error::TensorError;
use crate::tensor::sum::CompensatedSum;

/// Number of products between two checks of the clock: a few milliseconds.
const BLOCK: usize = 1 << 23;

/// Maximum number of terms added in one step. It is a multiple of the block size of `matrixmultiply`, so the number of
/// steps does not change the sum.
const DEPTH: usize = 1 << 13;

/// Maximum number of rows of a product that is computed without packing the second matrix: with few rows, packing takes longer
/// than the product.
pub const FEW_ROWS: usize = 8;

/// Minimum number of elements of the second matrix of such a product.
const LARGE: usize = 1 << 16;

/// Number of columns of such a product that one thread computes: a block of sums stays in the first cache.
const FEW_ROWS_COLUMNS: usize = 256;

/// Number of sums that a product of contiguous terms is split into.
const LANES: usize = 8;

/// Number of compensated sums that run on one thread.
const COMPENSATED_BLOCK: usize = 64;

/// Matrix view of a slice: element (row, column) is at `row * row_stride + column * column_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T = f64> {
    /// The elements.
    pub data: &'a [T],
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The step from one row to the next.
    pub row_stride: usize,
    /// The step from one column to the next.
    pub column_stride: usize,
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// Matrix with contiguous rows.
    pub fn row_major(data: &'a [T], rows: usize, columns: usize) -> Matrix<'a, T> {
        Matrix { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The transposed matrix over the same elements.
    #[must_use]
    pub fn transposed(self) -> Matrix<'a, T> {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// A range of rows.
    ///
    /// # Panics
    /// If the rows start beyond the slice, which is a bug of the caller.
    #[must_use]
    pub fn row_block(self, rows: Range<usize>) -> Matrix<'a, T> {
        Matrix { data: &self.data[rows.start * self.row_stride..], rows: rows.len(), ..self }
    }

    /// A range of columns.
    ///
    /// # Panics
    /// If the columns start beyond the slice, which is a bug of the caller.
    #[must_use]
    pub fn column_block(self, columns: Range<usize>) -> Matrix<'a, T> {
        Matrix { data: &self.data[columns.start * self.column_stride..], columns: columns.len(), ..self }
    }

    /// True if every element lies inside the slice.
    fn fits(&self) -> bool {
        if self.rows == 0 || self.columns == 0 {
            return true;
        }
        let last = (self.rows - 1)
            .checked_mul(self.row_stride)
            .zip((self.columns - 1).checked_mul(self.column_stride))
            .and_then(|(row, column)| row.checked_add(column));
        last.is_some_and(|last| last < self.data.len())
    }
}

/// Adds the product of two matrices to a third, whose rows are contiguous.
pub type MultiplyAdd<T = f64> = fn(Matrix<'_, T>, Matrix<'_, T>, &mut [T], &Deadline) -> Result<(), TensorError>;

/// Returns the multiplication for elements of a type: with compensated sums for `double`, since `f64` is not wider.
pub fn multiply_add_for(element: ElementType) -> MultiplyAdd {
    if element == ElementType::Double { multiply_add_compensated } else { multiply_add }
}

/// Adds the product of `a` and `b` to `out`, which is row-major.
///
/// Row blocks of `out` run on several threads. No sum is split, so the result does not depend on the number of threads.
///
/// # Panics
/// If the inner dimensions differ, or a slice is too short for its matrix: a bug of the caller, never caused by the
/// input.
pub fn multiply_add(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f64], deadline: &Deadline) -> Result<(), TensorError> {
    assert_eq!(a.columns, b.rows, "the inner dimensions differ");
    assert!(a.fits() && b.fits(), "a matrix reaches beyond its slice");
    assert_eq!(a.rows.checked_mul(b.columns), Some(out.len()), "the result has another size");
    if out.is_empty() || a.columns == 0 {
        return Ok(());
    }
    if a.rows <= FEW_ROWS && b.rows.saturating_mul(b.columns) >= LARGE && [b.row_stride, b.column_stride].contains(&1) {
        return multiply_add_few_rows(a, b, out, deadline);
    }
    let work = out.len().saturating_mul(a.columns);
    let threads = if work < 1 << 18 { 1 } else { threads() };
    let rows = a.rows.div_ceil(threads);
    if threads == 1 || rows < 4 {
        return blocks(a, b, out, deadline);
    }
    try_for_each_block(out, rows * b.columns, |index, out| {
        blocks(a.row_block(index * rows..index * rows + out.len() / b.columns), b, out, deadline)
    })
}

/// [`multiply_add`] for a large second matrix with contiguous rows or columns, which is read once. Column blocks of `out` run on
/// several threads.
fn multiply_add_few_rows(
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [f64],
    deadline: &Deadline,
) -> Result<(), TensorError> {
    let terms: Vec<Vec<f64>> = (0..a.rows)
        .map(|row| (0..a.columns).map(|column| a.data[row * a.row_stride + column * a.column_stride]).collect())
        .collect();
    let mut blocks = vec![0.0; out.len()];
    let size = a.rows * FEW_ROWS_COLUMNS;
    try_for_each_block(&mut blocks, size, |index, block| {
        check(deadline)?;
        let b = b.column_block(index * FEW_ROWS_COLUMNS..index * FEW_ROWS_COLUMNS + block.len() / a.rows);
        if b.row_stride == 1 {
            add_columns(&terms, b, block);
        } else {
            add_rows(&terms, b, block);
        }
        Ok(())
    })?;
    for (index, block) in blocks.chunks(size).enumerate() {
        let (first, width) = (index * FEW_ROWS_COLUMNS, block.len() / a.rows);
        for (out, sums) in out.chunks_mut(b.columns).zip(block.chunks(width)) {
            out[first..first + width].iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
        }
    }
    Ok(())
}

/// Adds each row of `b`, times its term of each row of the first matrix, to the rows of `out`.
fn add_rows(terms: &[Vec<f64>], b: Matrix<'_>, out: &mut [f64]) {
    for inner in 0..b.rows {
        let line = &b.data[inner * b.row_stride..][..b.columns];
        for (terms, out) in terms.iter().zip(out.chunks_mut(b.columns)) {
            let factor = terms[inner];
            out.iter_mut().zip(line).for_each(|(out, value)| *out += factor * value);
        }
    }
}

/// Adds the products of the columns of `b`, which are contiguous, with each row of the first matrix to the rows of `out`.
fn add_columns(terms: &[Vec<f64>], b: Matrix<'_>, out: &mut [f64]) {
    for column in 0..b.columns {
        let line = &b.data[column * b.column_stride..][..b.rows];
        for (terms, out) in terms.iter().zip(out.chunks_mut(b.columns)) {
            let mut lanes = [0.0; LANES];
            let (whole, rest) = terms.as_chunks::<LANES>();
            let (whole_line, rest_line) = line.as_chunks::<LANES>();
            for (terms, line) in whole.iter().zip(whole_line) {
                lanes.iter_mut().zip(terms).zip(line).for_each(|((lane, term), value)| *lane += term * value);
            }
            lanes.iter_mut().zip(rest).zip(rest_line).for_each(|((lane, term), value)| *lane += term * value);
            out[column] += lanes.iter().sum::<f64>();
        }
    }
}

/// [`multiply_add`] for `double` elements: since `f64` is not wider, each element of `out` is one compensated sum.
///
/// # Panics
/// In the same cases as [`multiply_add`].
pub fn multiply_add_compensated(
    a: Matrix<'_>,
    b: Matrix<'_>,
    out: &mut [f64],
    deadline: &Deadline,
) -> Result<(), TensorError> {
    assert_eq!(a.columns, b.rows, "the inner dimensions differ");
    assert!(a.fits() && b.fits(), "a matrix reaches beyond its slice");
    assert_eq!(a.rows.checked_mul(b.columns), Some(out.len()), "the result has another size");
    let columns = b.columns;
    try_for_each_block(out, COMPENSATED_BLOCK, |block, out| {
        for (index, out) in (block * COMPENSATED_BLOCK..).zip(out) {
            let (row, column) = (index / columns * a.row_stride, index % columns * b.column_stride);
            let mut sum = CompensatedSum::default();
            sum.add(*out);
            for inner in 0..a.columns {
                if (index + inner) % DEPTH == 0 {
                    check(deadline)?;
                }
                sum.add_product(a.data[row + inner * a.column_stride], b.data[column + inner * b.row_stride]);
            }
            *out = sum.value();
        }
        Ok(())
    })
}

/// [`multiply_add`] for integers, modulo 2^64; every integer type can wrap its result from that.
///
/// # Panics
/// In the same cases as [`multiply_add`].
pub fn multiply_add_wrapping(
    a: Matrix<'_, i64>,
    b: Matrix<'_, i64>,
    out: &mut [i64],
    deadline: &Deadline,
) -> Result<(), TensorError> {
    assert_eq!(a.columns, b.rows, "the inner dimensions differ");
    assert!(a.fits() && b.fits(), "a matrix reaches beyond its slice");
    assert_eq!(a.rows.checked_mul(b.columns), Some(out.len()), "the result has another size");
    if out.is_empty() {
        return Ok(());
    }
    let between_checks = (DEPTH / b.columns).max(1);
    try_for_each_block(out, b.columns, |row, out| {
        for inner in 0..a.columns {
            if inner % between_checks == 0 {
                check(deadline)?;
            }
            let factor = a.data[row * a.row_stride + inner * a.column_stride];
            let line = &b.data[inner * b.row_stride..];
            if b.column_stride == 1 {
                out.iter_mut().zip(line).for_each(|(out, b)| *out = out.wrapping_add(factor.wrapping_mul(*b)));
            } else {
                let line = line.iter().step_by(b.column_stride);
                out.iter_mut().zip(line).for_each(|(out, b)| *out = out.wrapping_add(factor.wrapping_mul(*b)));
            }
        }
        Ok(())
    })
}

fn check(deadline: &Deadline) -> Result<(), TensorError> {
    if deadline.is_over() { Err(TensorError::Deadline) } else { Ok(()) }
}

/// Computes the product in blocks of rows, columns and terms, and checks the clock before each.
fn blocks(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f64], deadline: &Deadline) -> Result<(), TensorError> {
    let depth = a.columns.min(DEPTH);
    let width = b.columns.min((BLOCK / depth).max(1));
    let height = (BLOCK / (depth * width)).max(1);
    for (index, out) in out.chunks_mut(height * b.columns).enumerate() {
        let a = a.row_block(index * height..index * height + out.len() / b.columns);
        for from in (0..b.columns).step_by(width) {
            let columns = from..b.columns.min(from + width);
            for inner in (0..a.columns).step_by(depth) {
                check(deadline)?;
                let inner = inner..a.columns.min(inner + depth);
                let b = b.row_block(inner.clone()).column_block(columns.clone());
                block(a.column_block(inner), b, out, columns.start);
            }
        }
    }
    Ok(())
}

/// Calls `matrixmultiply` for blocks of matrices that [`multiply_add`] has checked: adds the product to the columns of
/// `out` from `first` on.
fn block(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f64], first: usize) {
    let stride = usize::cast_signed;
    let width = out.len() / a.rows;
    let out = &mut out[first..];
    assert!(a.fits() && b.fits() && a.columns == b.rows, "a block reaches beyond its matrix");
    assert!((a.rows - 1) * width + b.columns <= out.len(), "the result reaches beyond its slice");
    #[expect(unsafe_code, reason = "matrixmultiply takes pointers; every extent has just been checked")]
    // SAFETY: `fits` holds for a and b. `out` holds a.rows rows at a distance of `width`, the last one with at least
    // b.columns elements. It is borrowed mutably, so it overlaps neither a nor b.
    unsafe {
        matrixmultiply::dgemm(
            a.rows,
            a.columns,
            b.columns,
            1.0,
            a.data.as_ptr(),
            stride(a.row_stride),
            stride(a.column_stride),
            b.data.as_ptr(),
            stride(b.row_stride),
            stride(b.column_stride),
            1.0,
            out.as_mut_ptr(),
            stride(width),
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_integers_are_exact() {
        let a: Vec<f64> = (0..6).map(f64::from).collect();
        let b: Vec<f64> = (0..12).map(f64::from).collect();
        let mut out = vec![0.0; 8];
        multiply_add(Matrix::row_major(&a, 2, 3), Matrix::row_major(&b, 3, 4), &mut out, &Deadline::never()).unwrap();
        assert_eq!(out, [20.0, 23.0, 26.0, 29.0, 56.0, 68.0, 80.0, 92.0]);
        let mut transposed = vec![0.0; 8];
        let bt: Vec<f64> = (0..4).flat_map(|c| (0..3).map(move |r| f64::from(r * 4 + c))).collect();
        multiply_add(
            Matrix::row_major(&a, 2, 3),
            Matrix::row_major(&bt, 4, 3).transposed(),
            &mut transposed,
            &Deadline::never(),
        )
        .unwrap();
        assert_eq!(out, transposed);
    }

    #[test]
    fn a_product_of_few_rows_is_that_of_many() {
        let (inner, columns) = (300, FEW_ROWS_COLUMNS + 7);
        let number = |index: usize| (index * 7919 % 1009) as f64 - 504.0;
        let a: Vec<f64> = (0..(FEW_ROWS + 1) * inner).map(number).collect();
        let b: Vec<f64> = (0..inner * columns).map(|index| number(index + 13)).collect();
        let transposed: Vec<f64> =
            (0..columns).flat_map(|column| b.iter().skip(column).step_by(columns).copied()).collect();
        let rows = Matrix::row_major(&b, inner, columns);
        let lines = Matrix::row_major(&transposed, columns, inner).transposed();
        let product = |a: Matrix<'_>, b: Matrix<'_>| {
            let mut out = vec![0.5; a.rows * columns];
            multiply_add(a, b, &mut out, &Deadline::never()).unwrap();
            out
        };
        let a = Matrix::row_major(&a, FEW_ROWS + 1, inner);
        let all = product(a, rows);
        for count in [1, 3, FEW_ROWS] {
            let few = a.row_block(0..count);
            assert_eq!(product(few, rows), all[..count * columns], "sums of integers are exact");
            assert_eq!(product(few, lines), all[..count * columns]);
        }
    }

    #[test]
    fn a_compensated_product_keeps_what_cancels() {
        let (a, b) = ([1e16, 1.0, -1e16, 3.0], [1.0, 2.0, 1.0, 0.5]);
        let mut out = [0.25];
        multiply_add_compensated(
            Matrix::row_major(&a, 1, 4),
            Matrix::row_major(&b, 4, 1),
            &mut out,
            &Deadline::never(),
        )
        .unwrap();
        assert_eq!(out, [3.75]);
    }

    #[test]
    fn products_of_integers_wrap_in_either_order_of_the_elements() {
        let (a, b) = ([i64::MAX, 3, 2, -1], [2, 1, 5, 7]);
        let product = |b: Matrix<'_, i64>| {
            let mut out = [1, 0, 0, 0];
            multiply_add_wrapping(Matrix::row_major(&a, 2, 2), b, &mut out, &Deadline::never()).unwrap();
            out
        };
        let plain = product(Matrix::row_major(&b, 2, 2));
        assert_eq!(plain, [14, i64::MAX.wrapping_add(21), -1, -5]);
        assert_eq!(product(Matrix::row_major(&[2, 5, 1, 7], 2, 2).transposed()), plain);
    }

    #[test]
    fn many_rows_equal_single_rows() {
        let (m, k, n) = (67, 70, 80);
        let a: Vec<f64> = (0..m * k).map(|i| (i % 17) as f64 - 8.0).collect();
        let b: Vec<f64> = (0..k * n).map(|i| (i % 13) as f64 - 6.0).collect();
        let mut out = vec![1.0; m * n];
        multiply_add(Matrix::row_major(&a, m, k), Matrix::row_major(&b, k, n), &mut out, &Deadline::never()).unwrap();
        for row in 0..m {
            for column in 0..n {
                let sum: f64 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
                assert_eq!(out[row * n + column], sum + 1.0);
            }
        }
    }

    #[test]
    fn a_product_of_many_blocks_is_one_product() {
        for (rows, inner, columns) in [(3, 2 * DEPTH + 5, 1030), (2, 3, BLOCK / 2), (BLOCK / 3, 3, 2)] {
            let a: Vec<f64> = (0..rows * inner).map(|index| (index % 7) as f64).collect();
            let b: Vec<f64> = (0..inner * columns).map(|index| (index % 5) as f64).collect();
            let mut out = vec![0.0; rows * columns];
            let (a, b) = (Matrix::row_major(&a, rows, inner), Matrix::row_major(&b, inner, columns));
            multiply_add(a, b, &mut out, &Deadline::never()).unwrap();
            for index in [0, columns - 1, columns, rows * columns / 2, rows * columns - 1] {
                let (row, column) = (index / columns, index % columns);
                let sum: f64 = (0..inner).map(|i| a.data[row * inner + i] * b.data[i * columns + column]).sum();
                assert_eq!(out[index], sum, "{rows} x {inner} x {columns} at {row}, {column}");
            }
            assert_eq!(multiply_add(a, b, &mut out, &Deadline::new(|| true)), Err(TensorError::Deadline));
        }
    }
}
