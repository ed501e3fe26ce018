//! Products of stacks of matrices: `out[s][i][j] = sum over k of a[s][i][k] * b[s][k][j]`, in the caller's number type.

#![expect(clippy::indexing_slicing, reason = "blocks of columns end at the number of columns")]

use std::ops::Range;

use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::tensor::gemm::{FEW_ROWS, Matrix, MultiplyAdd};
use crate::tensor::index::StridedIter;
use crate::tensor::shape::{broadcast, element_count};

/// Ids of the rules about the shapes of two factors, from the op.yaml of the operator.
pub(super) struct Rules {
    pub(super) scalars: &'static str,
    pub(super) inner: &'static str,
    pub(super) stacks: &'static str,
}

/// Shapes of a product of two stacks of matrices, by the rules of `numpy.matmul`.
#[derive(Debug)]
pub(super) struct MatMulShape {
    /// Stack of each factor, and the stack of the result that both broadcast to.
    a_stack: Vec<usize>,
    b_stack: Vec<usize>,
    pub(super) stack: Vec<usize>,
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) columns: usize,
    /// Shape of the result, without the dimension that a vector factor lacks.
    pub(super) shape: Vec<usize>,
}

impl MatMulShape {
    pub(super) fn new(a: &[usize], b: &[usize], rules: &Rules) -> Result<MatMulShape> {
        let refuse =
            |rule: &str, why: &str| broken(rule, format!("shapes {a:?} and {b:?} have no matrix product: {why}"));
        let (a_stack, rows, a_inner) = match *a {
            [] => return Err(refuse(rules.scalars, "the first is a scalar")),
            [inner] => (&[][..], None, inner),
            [ref stack @ .., rows, inner] => (stack, Some(rows), inner),
        };
        let (b_stack, inner, columns) = match *b {
            [] => return Err(refuse(rules.scalars, "the second is a scalar")),
            [inner] => (&[][..], inner, None),
            [ref stack @ .., inner, columns] => (stack, inner, Some(columns)),
        };
        if a_inner != inner {
            return Err(refuse(rules.inner, &format!("rows have {a_inner} elements, but columns {inner}")));
        }
        let stack = broadcast(a_stack, b_stack).rule(rules.stacks)?;
        let shape = stack.iter().copied().chain(rows).chain(columns).collect();
        let (rows, columns) = (rows.unwrap_or(1), columns.unwrap_or(1));
        Ok(MatMulShape { a_stack: a_stack.to_vec(), b_stack: b_stack.to_vec(), stack, rows, inner, columns, shape })
    }

    /// Returns the shape of the result with the dimensions that vectors lack.
    pub(super) fn full_shape(&self) -> Vec<usize> {
        self.stack.iter().copied().chain([self.rows, self.columns]).collect()
    }

    /// Multiplies each pair of matrices of the stacks. `transpose` marks factors that are stored transposed. The second
    /// factor, usually the weights, is read in blocks.
    pub(super) fn multiply<T: Copy + Default>(
        &self,
        call: &Call<'_>,
        transpose: [bool; 2],
        arithmetic: &Arithmetic<'_, T>,
    ) -> Result<Vec<T>> {
        let mut out: Vec<T> = call.budget.scratch(element_count(&self.full_shape())?)?;
        if out.is_empty() {
            return Ok(out);
        }
        let [a_size, b_size] = [self.rows * self.inner, self.inner * self.columns];
        for (out, (a_at, b_at)) in out.chunks_exact_mut(self.rows * self.columns).zip(self.pairs()) {
            call.budget.count_work(out.len().saturating_mul(self.inner))?;
            let budget = call.budget.nested();
            let a = (arithmetic.read[0])(&budget, a_at * a_size..(a_at + 1) * a_size)?;
            let a = if transpose[0] {
                Matrix::row_major(&a, self.inner, self.rows).transposed()
            } else {
                Matrix::row_major(&a, self.rows, self.inner)
            };
            let pair = MatrixPair { shape: self, a, b_start: b_at * b_size, arithmetic };
            match (transpose[1], arithmetic.sums_split) {
                (true, _) => pair.multiply_by_columns_of_transposed(call, out)?,
                (false, true) => pair.multiply_by_rows(call, out)?,
                (false, false) => pair.multiply_by_columns(call, out)?,
            }
        }
        Ok(out)
    }

    /// Computes some columns of the result. Their rows are not contiguous in `out` unless they are all columns.
    fn compute_columns<T: Copy + Default>(
        &self,
        budget: &Budget,
        columns: Range<usize>,
        out: &mut [T],
        compute: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<()> {
        if columns.len() == self.columns {
            return compute(out);
        }
        let mut part: Vec<T> = budget.scratch(self.rows * columns.len())?;
        compute(&mut part)?;
        for (out, part) in out.chunks_mut(self.columns).zip(part.chunks(columns.len())) {
            out[columns.clone()].copy_from_slice(part);
        }
        Ok(())
    }

    /// Returns the matrix of each stack for each matrix of the result.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        StridedIter::broadcast(&self.a_stack, &self.stack).zip(StridedIter::broadcast(&self.b_stack, &self.stack))
    }
}

/// Two matrices to multiply: the first as a whole, the second by its start in its tensor.
struct MatrixPair<'p, T> {
    shape: &'p MatMulShape,
    a: Matrix<'p, T>,
    b_start: usize,
    arithmetic: &'p Arithmetic<'p, T>,
}

impl<T: Copy + Default> MatrixPair<'_, T> {
    /// Reads the second matrix in blocks of rows. Each block adds to every sum.
    fn multiply_by_rows(&self, call: &Call<'_>, out: &mut [T]) -> Result<()> {
        let MatMulShape { inner, columns, .. } = *self.shape;
        for rows in self.blocks(inner, columns) {
            let budget = call.budget.nested();
            let from = self.b_start + rows.start * columns;
            let block = self.read_second(&budget, from..from + rows.len() * columns)?;
            let block = Matrix::row_major(&block, rows.len(), columns);
            (self.arithmetic.multiply_add)(self.a.column_block(rows), block, out, budget.deadline())?;
        }
        Ok(())
    }

    /// Reads the second matrix in blocks of columns, so that each sum is computed in one step.
    fn multiply_by_columns(&self, call: &Call<'_>, out: &mut [T]) -> Result<()> {
        let MatMulShape { inner, columns: width, .. } = *self.shape;
        for columns in self.blocks(width, inner) {
            let budget = call.budget.nested();
            let mut block: Vec<T> = budget.scratch(inner * columns.len())?;
            for (row, block) in block.chunks_exact_mut(columns.len()).enumerate() {
                let from = self.b_start + row * width;
                let line = self.read_second(&budget.nested(), from + columns.start..from + columns.end)?;
                block.copy_from_slice(&line);
            }
            let block = Matrix::row_major(&block, inner, columns.len());
            self.shape.compute_columns(&budget, columns, out, |part| {
                Ok((self.arithmetic.multiply_add)(self.a, block, part, budget.deadline())?)
            })?;
        }
        Ok(())
    }

    /// Reads a transposed second matrix in blocks of columns, which are contiguous.
    fn multiply_by_columns_of_transposed(&self, call: &Call<'_>, out: &mut [T]) -> Result<()> {
        let MatMulShape { inner, columns: width, .. } = *self.shape;
        for columns in self.blocks(width, inner) {
            let budget = call.budget.nested();
            let from = self.b_start + columns.start * inner;
            let block = self.read_second(&budget, from..from + columns.len() * inner)?;
            let block = Matrix::row_major(&block, columns.len(), inner).transposed();
            self.shape.compute_columns(&budget, columns, out, |part| {
                Ok((self.arithmetic.multiply_add)(self.a, block, part, budget.deadline())?)
            })?;
        }
        Ok(())
    }

    /// Splits `lines` of the second matrix, of `length` elements each, into blocks.
    fn blocks(&self, lines: usize, length: usize) -> impl Iterator<Item = Range<usize>> {
        let block = if self.shape.rows <= FEW_ROWS { CACHED_BLOCK } else { BLOCK };
        let step = (block / length.max(1)).max(64);
        (0..lines).step_by(step).map(move |from| from..lines.min(from + step))
    }

    fn read_second(&self, budget: &Budget, range: Range<usize>) -> Result<Vec<T>> {
        (self.arithmetic.read[1])(budget, range)
    }
}

/// Elements of a second factor that are read at a time.
const BLOCK: usize = 1 << 21;

/// The same for a product of few rows, which reads each element once more: as many as a cache holds.
const CACHED_BLOCK: usize = 1 << 18;

/// Reads a range of a factor's elements as numbers, counted by the budget.
pub(super) type Read<'r, T> = &'r dyn Fn(&Budget, Range<usize>) -> Result<Vec<T>>;

/// Arithmetic of a product.
pub(super) struct Arithmetic<'r, T> {
    /// Reads the first and the second factor.
    pub(super) read: [Read<'r, T>; 2],
    /// Adds the product of two matrices to a third.
    pub(super) multiply_add: MultiplyAdd<T>,
    /// True if a sum may be computed in several steps. A compensated sum would lose its correction between them.
    pub(super) sums_split: bool,
}
