//! Matrix products in `f64`: the one bounds-checked door to `matrixmultiply`, and the project's only unsafe code.

use std::ops::Range;

use rayon::prelude::*;

use crate::tensor::sum::Sum;

/// A matrix as it lies in a slice: element (row, column) at `row * row_stride + column * column_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// The elements.
    pub data: &'a [f64],
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The step from one row to the next.
    pub row_stride: usize,
    /// The step from one column to the next.
    pub column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A matrix whose rows lie one after the other.
    pub fn row_major(data: &'a [f64], rows: usize, columns: usize) -> Matrix<'a> {
        Matrix { data, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same elements with rows and columns exchanged.
    #[must_use]
    pub fn transposed(self) -> Matrix<'a> {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of the columns.
    ///
    /// # Panics
    /// Where they begin beyond the slice: a caller's mistake.
    #[must_use]
    pub fn column_block(self, columns: Range<usize>) -> Matrix<'a> {
        Matrix { data: &self.data[columns.start * self.column_stride..], columns: columns.len(), ..self }
    }

    /// Whether every element lies inside the slice.
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

/// Adds the product of `a` and `b` to `out`, which holds its rows one after the other.
///
/// Row blocks of `out` go to several threads; no sum is split, so the result is the same on any number of them.
///
/// # Panics
/// Where the inner dimensions differ, or a slice is too short for its matrix: a caller's mistake, never the input's.
pub fn multiply_add(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f64]) {
    assert_eq!(a.columns, b.rows, "the inner dimensions differ");
    assert!(a.fits() && b.fits(), "a matrix reaches beyond its slice");
    assert_eq!(a.rows.checked_mul(b.columns), Some(out.len()), "the result has another size");
    if out.is_empty() || a.columns == 0 {
        return;
    }
    let work = out.len().saturating_mul(a.columns);
    let threads = if work < 1 << 18 { 1 } else { rayon::current_num_threads() };
    let rows = a.rows.div_ceil(threads);
    if threads == 1 || rows < 4 {
        return block(a, b, out);
    }
    out.par_chunks_mut(rows * b.columns).enumerate().for_each(|(at, out)| {
        let part = Matrix { data: &a.data[at * rows * a.row_stride..], rows: out.len() / b.columns, ..a };
        block(part, b, out);
    });
}

/// [`multiply_add`] for elements of `double`, of which `f64` is no wider: each element of `out` is one compensated sum.
///
/// # Panics
/// Where [`multiply_add`] does.
pub fn multiply_add_compensated(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f64]) {
    assert_eq!(a.columns, b.rows, "the inner dimensions differ");
    assert!(a.fits() && b.fits(), "a matrix reaches beyond its slice");
    assert_eq!(a.rows.checked_mul(b.columns), Some(out.len()), "the result has another size");
    for (at, out) in out.iter_mut().enumerate() {
        let (row, column) = (at / b.columns * a.row_stride, at % b.columns * b.column_stride);
        let mut sum = Sum::default();
        sum.add(*out);
        for inner in 0..a.columns {
            sum.add_product(a.data[row + inner * a.column_stride], b.data[column + inner * b.row_stride]);
        }
        *out = sum.value();
    }
}

/// One call into `matrixmultiply` for matrices that [`multiply_add`] has checked.
fn block(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f64]) {
    let stride = usize::cast_signed;
    #[expect(unsafe_code, reason = "matrixmultiply takes pointers; multiply_add has checked every extent")]
    // SAFETY: `fits` holds for a and b, `out` is exactly a.rows x b.columns in row-major order, and it overlaps
    // neither, being borrowed mutably.
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
            stride(b.columns),
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
        multiply_add(Matrix::row_major(&a, 2, 3), Matrix::row_major(&b, 3, 4), &mut out);
        assert_eq!(out, [20.0, 23.0, 26.0, 29.0, 56.0, 68.0, 80.0, 92.0]);
        let mut transposed = vec![0.0; 8];
        let bt: Vec<f64> = (0..4).flat_map(|c| (0..3).map(move |r| f64::from(r * 4 + c))).collect();
        multiply_add(Matrix::row_major(&a, 2, 3), Matrix::row_major(&bt, 4, 3).transposed(), &mut transposed);
        assert_eq!(out, transposed);
    }

    #[test]
    fn a_compensated_product_keeps_what_cancels() {
        let (a, b) = ([1e16, 1.0, -1e16, 3.0], [1.0, 2.0, 1.0, 0.5]);
        let mut out = [0.25];
        multiply_add_compensated(Matrix::row_major(&a, 1, 4), Matrix::row_major(&b, 4, 1), &mut out);
        assert_eq!(out, [3.75]);
    }

    #[test]
    fn many_rows_give_what_one_row_gives() {
        let (m, k, n) = (67, 70, 80);
        let a: Vec<f64> = (0..m * k).map(|i| (i % 17) as f64 - 8.0).collect();
        let b: Vec<f64> = (0..k * n).map(|i| (i % 13) as f64 - 6.0).collect();
        let mut out = vec![1.0; m * n];
        multiply_add(Matrix::row_major(&a, m, k), Matrix::row_major(&b, k, n), &mut out);
        for row in 0..m {
            for column in 0..n {
                let sum: f64 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
                assert_eq!(out[row * n + column], sum + 1.0);
            }
        }
    }
}
