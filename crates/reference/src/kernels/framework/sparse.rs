//! Sparse tensors. Operators compute on their dense form.

use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::Result;
use crate::kernels::framework::error::invalid;
use crate::tensor::Tensor;
use crate::value::SparseTensor;

/// Converts a sparse tensor to a dense one. Missing elements are zeros or empty strings.
pub(crate) fn densify(sparse: &SparseTensor, budget: &Budget) -> Result<Tensor> {
    let element = sparse.values.element_type();
    let buffer = budget.allocate(element, &sparse.shape)?;
    let mut source: Vec<usize> = budget.scratch(buffer.len())?;
    for (index, position) in sparse.positions().enumerate() {
        let slot = position.and_then(|position| source.get_mut(position));
        *slot.ok_or_else(|| invalid("an index of a sparse tensor is outside its shape"))? = index + 1;
    }
    let positions = source.into_iter().map(|index| index.checked_sub(1).map_or((0, 0), |index| (1, index)));
    Ok(buffer.gather_from(&[&Tensor::zero(element)?, &sparse.values], positions)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ElementType;
    use crate::kernels::framework::budget::ExecutionLimits;

    #[test]
    fn a_sparse_tensor_becomes_dense() {
        let sparse = SparseTensor {
            values: Tensor::of_floats(ElementType::Float, &[2], &[1.5, -2.0]).unwrap(),
            indices: Tensor::of_integers(ElementType::Int64, &[2], &[1, 5]).unwrap(),
            shape: vec![2, 3],
        };
        let dense = densify(&sparse, &Budget::new(ExecutionLimits::default())).unwrap();
        assert_eq!(dense.shape(), [2, 3]);
        assert_eq!(dense.floats(), [0.0, 1.5, 0.0, 0.0, 0.0, -2.0]);
    }
}
