//! Det and Trilu, on matrices in the last two axes.

use crate::infer::{NodeView, Shape, rules};
use crate::kernels::framework::arguments::single;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::double_double::DoubleDouble;

pub(super) const KERNELS: &[Kernel] =
    &[Kernel::new("Trilu", 14, trilu).shape(rules::same), Kernel::new("Det", 11, det).shape(batch_axes)];

/// Returns the batch axes, rows and columns of a stack of matrices.
fn stack(data: &Tensor) -> Result<(&[usize], usize, usize)> {
    match data.shape() {
        [batch @ .., rows, columns] => Ok((batch, *rows, *columns)),
        shape => Err(invalid(format!("shape {shape:?} has fewer than the two axes of a matrix"))),
    }
}

/// Trilu: `out[i][j] = data[i][j]` if `j >= i + k` (upper) or `j <= i + k` (lower), else 0.
fn trilu(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let (_, rows, columns) = stack(data).rule("C3")?;
    let k = i128::from(call.optional_tensor(1)?.map_or(Ok(0), |k| single(k, "k"))?);
    let upper = call.flag("upper")?;
    let buffer = call.allocate(data.element_type(), data.shape())?;
    let positions = (0..buffer.len()).map(|index| {
        let diagonal = (index % columns) as i128 - (index / columns % rows) as i128;
        let kept = if upper { diagonal >= k } else { diagonal <= k };
        if kept { (1, index) } else { (0, 0) }
    });
    Ok(buffer.gather_from(&[&Tensor::zero(data.element_type())?, data], positions)?.into())
}

/// Det: the determinant of each matrix.
fn det(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let (batch, rows, columns) = stack(data).rule("C1")?;
    if rows != columns {
        return Err(broken("C1", format!("matrices of {rows} by {columns} are not square")));
    }
    let buffer = call.allocate(data.element_type(), batch)?;
    let values = call.budget.read_floats(data)?;
    let mut determinants: Vec<f64> = call.budget.scratch(buffer.len())?;
    for (index, determinant) in determinants.iter_mut().enumerate() {
        let elements = values.get(index * rows * rows..(index + 1) * rows * rows).unwrap_or(&[]);
        let budget = call.budget.nested();
        budget.count(elements.len(), size_of::<DoubleDouble>())?;
        let matrix = if rows == 0 { Vec::new() } else { elements.chunks(rows).map(wide).collect() };
        *determinant = determinant_of(call, matrix)?;
    }
    Ok(buffer.floats(determinants)?.into())
}

fn wide(row: &[f64]) -> Vec<DoubleDouble> {
    row.iter().copied().map(DoubleDouble::from).collect()
}

/// Returns the signed product of the pivots of Gaussian elimination, or 1 for a matrix without rows.
fn determinant_of(call: &Call<'_>, mut rows: Vec<Vec<DoubleDouble>>) -> Result<f64> {
    if rows.iter().flatten().any(|value| value.to_f64().is_nan()) {
        return Ok(f64::NAN);
    }
    let mut product = DoubleDouble::from(1.0);
    for column in 0..rows.len() {
        call.budget.count_work(rows.len().saturating_mul(rows.len() - column))?;
        let size = |row: &Vec<DoubleDouble>| row.get(column).map_or(0.0, |value| value.abs().to_f64());
        let largest = (column..rows.len()).max_by(|&a, &b| {
            let size = |index: usize| rows.get(index).map_or(0.0, size);
            // Ties go to the first pivot.
            size(a).total_cmp(&size(b)).then(b.cmp(&a))
        });
        let largest = largest.unwrap_or(column);
        if largest != column {
            rows.swap(largest, column);
            product = -product;
        }
        let (above, below) = rows.split_at_mut(column + 1);
        let Some(pivot_row) = above.last().and_then(|row| row.get(column..)) else { continue };
        let Some(&pivot) = pivot_row.first() else { continue };
        product = product * pivot;
        if pivot.to_f64() == 0.0 {
            continue;
        }
        for row in below.iter_mut().filter_map(|row| row.get_mut(column..)) {
            let factor = row.first().map_or_else(DoubleDouble::default, |&first| first / pivot);
            row.iter_mut().zip(pivot_row).for_each(|(value, &above)| *value = *value - factor * above);
        }
    }
    Ok(product.to_f64())
}

/// The shape without the two axes of a matrix.
fn batch_axes(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    shape.truncate(shape.len().checked_sub(2)?);
    Some(shape)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, node, typed};

    #[test]
    fn an_empty_triangle_keeps_its_shape() {
        assert_eq!(node("Trilu", 14).input(floats(&[2, 0], &[])).tensor().shape(), [2, 0]);
    }

    #[test]
    fn a_nan_beside_a_column_of_zeros_gives_nan() {
        let matrix = floats(&[2, 2], &[0.0, f64::NAN, 0.0, 1.0]);
        assert!(node("Det", 22).input(matrix).tensor().floats()[0].is_nan());
    }

    #[test]
    fn determinants_of_doubles_survive_cancellation() {
        // (2^27 + 1)^2 - 2^27 (2^27 + 2) is 1; the products differ in their 55th bit.
        let big = libm::ldexp(1.0, 27);
        let matrix = typed(ElementType::Double, &[2, 2], &[big + 1.0, big, big + 2.0, big + 1.0]);
        assert_eq!(node("Det", 11).input(matrix).tensor().floats(), [1.0]);
    }
}
