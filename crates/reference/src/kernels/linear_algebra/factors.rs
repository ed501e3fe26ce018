//! Products of stacks of matrices: their shapes, and floating factors as they lie in their tensors.

use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::invalid;
use crate::tensor::Tensor;
use crate::tensor::gemm::{Matrix, multiply_add};
use crate::tensor::index::StridedIter;
use crate::tensor::shape::{broadcast, element_count};

/// Adds a product of two matrices, given as they lie, to a third.
pub(super) type Multiply<T> = fn(&Call<'_>, &Product, &[T], &[T], &mut [T]) -> Result<()>;

/// The shapes of a product of two stacks of matrices, by the rules of `numpy.matmul`.
#[derive(Debug)]
pub(super) struct Product {
    /// The stack of each factor, and the stack of the result that both broadcast to.
    a_stack: Vec<usize>,
    b_stack: Vec<usize>,
    pub(super) stack: Vec<usize>,
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) columns: usize,
    /// The shape of the result: a factor that is a vector has its dimension left out again.
    pub(super) shape: Vec<usize>,
}

impl Product {
    pub(super) fn of(a: &[usize], b: &[usize]) -> Result<Product> {
        let refuse = |why: &str| invalid(format!("shapes {a:?} and {b:?} have no matrix product: {why}"));
        let (a_stack, rows, a_inner) = match *a {
            [] => return Err(refuse("the first is a scalar")),
            [inner] => (&[][..], None, inner),
            [ref stack @ .., rows, inner] => (stack, Some(rows), inner),
        };
        let (b_stack, inner, columns) = match *b {
            [] => return Err(refuse("the second is a scalar")),
            [inner] => (&[][..], inner, None),
            [ref stack @ .., inner, columns] => (stack, inner, Some(columns)),
        };
        if a_inner != inner {
            return Err(refuse(&format!("rows of {a_inner} elements meet columns of {inner}")));
        }
        let stack = broadcast(a_stack, b_stack)?;
        let shape = stack.iter().copied().chain(rows).chain(columns).collect();
        let (rows, columns) = (rows.unwrap_or(1), columns.unwrap_or(1));
        Ok(Product { a_stack: a_stack.to_vec(), b_stack: b_stack.to_vec(), stack, rows, inner, columns, shape })
    }

    /// The shape of the result before vectors lose their dimension.
    pub(super) fn full_shape(&self) -> Vec<usize> {
        self.stack.iter().copied().chain([self.rows, self.columns]).collect()
    }

    /// Multiplies each pair of matrices of the stacks.
    pub(super) fn compute<T: Copy + Default>(
        &self,
        call: &Call<'_>,
        a: &[T],
        b: &[T],
        multiply: Multiply<T>,
    ) -> Result<Vec<T>> {
        let mut out: Vec<T> = call.budget.scratch(element_count(&self.full_shape())?)?;
        if out.is_empty() {
            return Ok(out);
        }
        let [a_size, b_size] = [self.rows * self.inner, self.inner * self.columns];
        for (out, (a_at, b_at)) in out.chunks_exact_mut(self.rows * self.columns).zip(self.pairs()) {
            call.budget.count_work(out.len().saturating_mul(self.inner))?;
            multiply(call, self, &a[a_at * a_size..][..a_size], &b[b_at * b_size..][..b_size], out)?;
        }
        Ok(out)
    }

    /// Which matrix of each stack takes part in each of the result.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        StridedIter::broadcast(&self.a_stack, &self.stack).zip(StridedIter::broadcast(&self.b_stack, &self.stack))
    }
}

/// The elements of a second factor that are converted to `f64` at a time.
const CONVERTED: usize = 1 << 21;

/// Two floating factors as they lie in their tensors.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a> {
    pub(super) a: &'a Tensor,
    pub(super) b: &'a Tensor,
    pub(super) transpose_a: bool,
    pub(super) transpose_b: bool,
    pub(super) accumulate: Accumulate,
}

impl Factors<'_> {
    /// Multiplies each pair of matrices of the stacks. Products of floating types narrower than `double` are exact in
    /// `f64`; the second factor, where weights stand, is converted a block at a time.
    pub(super) fn multiply(&self, call: &Call<'_>, product: &Product) -> Result<Vec<f64>> {
        let mut out: Vec<f64> = call.budget.scratch(element_count(&product.full_shape())?)?;
        if out.is_empty() {
            return Ok(out);
        }
        let [a_size, b_size] = [product.rows * product.inner, product.inner * product.columns];
        let pairs = product.pairs();
        for (out, (a_at, b_at)) in out.chunks_exact_mut(product.rows * product.columns).zip(pairs) {
            call.budget.count_work(out.len().saturating_mul(product.inner))?;
            let budget = call.budget.nested();
            let a = self.accumulate.read(&budget, &self.a.part(a_at * a_size..(a_at + 1) * a_size))?;
            let a = if self.transpose_a {
                Matrix::row_major(&a, product.inner, product.rows).transposed()
            } else {
                Matrix::row_major(&a, product.rows, product.inner)
            };
            let b = self.b.part(b_at * b_size..(b_at + 1) * b_size);
            self.multiply_blocks(call, a, &b, product.columns, out)?;
        }
        Ok(out)
    }

    /// Adds the product of two matrices to `out`.
    fn multiply_blocks(
        &self,
        call: &Call<'_>,
        a: Matrix<'_>,
        b: &Tensor,
        columns: usize,
        out: &mut [f64],
    ) -> Result<()> {
        let line = if self.transpose_b { a.columns } else { columns };
        let lines = if self.transpose_b { columns } else { a.columns };
        let most = (CONVERTED / line.max(1)).max(64);
        let deadline = call.budget.deadline();
        for from in (0..lines).step_by(most) {
            let to = lines.min(from + most);
            let budget = call.budget.nested();
            let block = self.accumulate.read(&budget, &b.part(from * line..to * line))?;
            let block = Matrix::row_major(&block, to - from, line);
            if !self.transpose_b {
                multiply_add(a.column_block(from..to), block, out, deadline)?;
            } else if to - from == columns {
                multiply_add(a, block.transposed(), out, deadline)?;
            } else {
                // Its rows do not lie one after the other in `out`.
                let mut part: Vec<f64> = budget.scratch(a.rows * (to - from))?;
                multiply_add(a, block.transposed(), &mut part, deadline)?;
                for (out, part) in out.chunks_mut(columns).zip(part.chunks(to - from)) {
                    out[from..to].copy_from_slice(part);
                }
            }
        }
        Ok(())
    }
}
