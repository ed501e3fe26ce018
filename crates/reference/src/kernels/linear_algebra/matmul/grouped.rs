//! `GroupedMatMul`: each row of a matrix by the matrices of a stack that indices select for it.

use std::ops::Range;

use crate::dtype::ElementType;
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::broken;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::linear_algebra::matmul::product::{Arithmetic, MatMulShape, Rules};
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::gemm::{multiply_add, multiply_add_compensated};
use crate::tensor::shape::element_count;

pub(in crate::kernels::linear_algebra) const KERNELS: &[Kernel] =
    &[Kernel::accumulating("GroupedMatMul", 29, grouped_matmul).shape(selections)];

/// Tensors of a call whose shapes fit each other.
struct Grouped<'a> {
    /// Rows to multiply, `[tokens, inner]`.
    input: &'a Tensor,
    /// Matrices of the groups, `[groups, inner, columns]`.
    weights: &'a Tensor,
    /// Addend of each group, `[groups, columns]`.
    bias: Option<&'a Tensor>,
    inner: usize,
    columns: usize,
    /// Number of groups that each token selects.
    selections: usize,
    /// Group and position of each selection, in the order of the groups.
    selected: Vec<(usize, usize)>,
    /// Shape of the result.
    shape: [usize; 3],
}

impl<'a> Grouped<'a> {
    fn read(call: &Call<'a>) -> Result<Grouped<'a>> {
        let (input, weights, indices) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
        let bias = call.optional_tensor(3)?;
        let (&[tokens, inner], &[groups, depth, columns], &[rows, selections]) =
            (input.shape(), weights.shape(), indices.shape())
        else {
            let shapes = [input, weights, indices].map(Tensor::shape);
            let why = format!("input, weights and group_indices have shapes {shapes:?}, not ranks 2, 3 and 2");
            return Err(broken("C1", why));
        };
        if inner != depth {
            return Err(broken("C2", format!("rows of input have {inner} elements, but matrices {depth} rows")));
        }
        if tokens != rows {
            return Err(broken("C3", format!("input has {tokens} rows, but group_indices {rows}")));
        }
        if let Some(bias) = bias.filter(|bias| bias.shape() != [groups, columns]) {
            let found = bias.shape();
            return Err(broken("C4", format!("bias has shape {found:?}, not [{groups}, {columns}]")));
        }
        let mut selected: Vec<(usize, usize)> = call.budget.scratch(indices.len())?;
        let values = call.budget.timed(indices.stream(Tensor::indices));
        for ((position, selected), index) in selected.iter_mut().enumerate().zip(values) {
            // A negative index selects nothing: it does not count from the back.
            let group = usize::try_from(index).ok().filter(|group| *group < groups);
            let outside = || broken("C5", format!("group index {index} is not one of {groups} groups"));
            *selected = (group.ok_or_else(outside)?, position);
        }
        selected.sort_unstable();
        let shape = [tokens, selections, columns];
        Ok(Grouped { input, weights, bias, inner, columns, selections, selected, shape })
    }

    /// Multiplies the rows that select a group by its matrix, and adds its addend. Returns a row for each of these
    /// selections.
    fn multiply(
        &self,
        call: &Call<'_>,
        group: usize,
        selected: &[(usize, usize)],
        accumulate: Accumulate,
    ) -> Result<Vec<f64>> {
        let (inner, columns) = (self.inner, self.columns);
        let read_rows = |budget: &Budget, _: Range<usize>| {
            let mut rows: Vec<f64> = budget.scratch(element_count(&[selected.len(), inner])?)?;
            for (row, (_, position)) in rows.chunks_exact_mut(inner.max(1)).zip(selected) {
                let from = position / self.selections * inner;
                row.copy_from_slice(&accumulate.read(&budget.nested(), &self.input.part(from..from + inner))?);
            }
            Ok(rows)
        };
        let first = group * inner * columns;
        let read_matrix = |budget: &Budget, range: Range<usize>| {
            accumulate.read(budget, &self.weights.part(first + range.start..first + range.end))
        };
        // As for MatMul, a sum of double is compensated. Products of narrower types are exact.
        let compensated = self.input.element_type() == ElementType::Double && accumulate == Accumulate::Value;
        let multiply_add = if compensated { multiply_add_compensated } else { multiply_add };
        let arithmetic = Arithmetic { read: [&read_rows, &read_matrix], multiply_add, sums_split: !compensated };
        let rules = Rules { scalars: "C1", inner: "C2", stacks: "C1" };
        let product = MatMulShape::new(&[selected.len(), inner], &[inner, columns], &rules)?;
        let mut values = product.multiply(call, [false; 2], &arithmetic)?;
        if let Some(bias) = self.bias {
            let addend = accumulate.read(call.budget, &bias.part(group * columns..(group + 1) * columns))?;
            for row in values.chunks_exact_mut(columns.max(1)) {
                row.iter_mut().zip(&addend).for_each(|(value, addend)| *value += addend);
            }
        }
        Ok(values)
    }
}

/// `GroupedMatMul`: `out[m][i][n] = bias[g][n] + sum over k of input[m][k] * weights[g][k][n]`, where `g` is
/// `group_indices[m][i]`. All rows that select a group are multiplied at once, so its matrix is read once.
fn grouped_matmul(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let grouped = Grouped::read(call)?;
    let columns = grouped.columns;
    let mut out: Vec<f64> = call.budget.scratch(element_count(&grouped.shape)?)?;
    for selected in grouped.selected.chunk_by(|one, other| one.0 == other.0) {
        let Some(&(group, _)) = selected.first() else { continue };
        let budget = call.budget.nested();
        let values = grouped.multiply(&Call { budget: &budget, ..*call }, group, selected, accumulate)?;
        for (row, (_, position)) in values.chunks_exact(columns.max(1)).zip(selected) {
            if let Some(out) = out.get_mut(position * columns..(position + 1) * columns) {
                out.copy_from_slice(row);
            }
        }
    }
    let element = accumulate.output(grouped.input.element_type());
    Ok(call.floats(element, &grouped.shape, out)?.into())
}

/// The tokens, their selections, and the columns of the matrices.
fn selections(view: &NodeView<'_, '_>) -> Option<Shape> {
    let dim = |position: usize, axis: usize| view.dim(position, axis).unwrap_or(Dim::Unknown);
    let tokens = rules::equal_dim(&dim(0, 0), &dim(2, 0))?;
    let columns = rules::equal_dim(&dim(1, 2), &dim(3, 1))?;
    Some(vec![tokens, dim(2, 1), columns])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::framework::budget::ExecutionLimits;
    use crate::testing::{OneNode, floats, ints, node, typed};

    fn grouped(input: Tensor, weights: Tensor, indices: Tensor) -> OneNode {
        node("GroupedMatMul", 29).input(input).input(weights).input(indices)
    }

    #[test]
    fn rows_of_a_group_are_multiplied_together_and_return_to_their_places() {
        let input = floats(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let weights = floats(&[2, 2, 1], &[1.0, 10.0, 100.0, 1000.0]);
        let output = grouped(input, weights, ints(&[3, 2], &[1, 0, 0, 1, 1, 1])).tensor();
        assert_eq!(output.shape(), [3, 2, 1]);
        assert_eq!(output.floats(), [2100.0, 21.0, 43.0, 4300.0, 6500.0, 6500.0]);
    }

    #[test]
    fn doubles_are_compensated() {
        let input = typed(ElementType::Double, &[1, 3], &[1e20, 1.0, -1e20]);
        let weights = typed(ElementType::Double, &[1, 3, 1], &[1.0; 3]);
        assert_eq!(grouped(input, weights, ints(&[1, 1], &[0])).tensor().floats(), [1.0]);
    }

    #[test]
    fn a_group_is_read_when_it_is_selected() {
        let (groups, width) = (64, 256);
        let weights = floats(&[groups, width, width], &vec![1.0; groups * width * width]);
        let input = floats(&[1, width], &vec![1.0; width]);
        // The limit fits the inputs and a few wide matrices, but not all of them.
        let limits = ExecutionLimits { bytes: weights.size() + (4 << 20), ..ExecutionLimits::default() };
        let output = grouped(input, weights, ints(&[1, 3], &[63, 0, 63])).limits(limits).tensor();
        assert!(output.floats().iter().all(|value| *value == 256.0) && output.len() == 3 * width);
    }

    #[test]
    fn the_inferred_shape_has_the_selections_of_each_token() {
        let data = |shape: &[usize]| floats(shape, &vec![1.0; shape.iter().product()]);
        let node = grouped(data(&[2, 3]), data(&[4, 3, 5]), ints(&[2, 1], &[0, 3]));
        assert_eq!(node.inferred(), ["[A0, C1, B2]"]);
    }
}
