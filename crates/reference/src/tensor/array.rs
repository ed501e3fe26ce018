//! Conversion between tensors and arrays of the `ndarray` crate; needs the feature `ndarray`.

use bytemuck::AnyBitPattern;
use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension};

use crate::tensor::{Native, Tensor, TensorError};

impl Tensor {
    /// Creates a tensor from an array of any memory order.
    ///
    /// ```
    /// use ndarray::array;
    /// use onnx_conformance_reference::tensor::Tensor;
    ///
    /// let tensor = Tensor::from_array(&array![[1_i64, 2], [3, 4]].t())?;
    /// assert_eq!(tensor.to_vec::<i64>(), Some(vec![1, 3, 2, 4]));
    /// assert_eq!(tensor.to_array::<i64>(), Some(array![[1, 3], [2, 4]].into_dyn()));
    /// # Ok::<(), onnx_conformance_reference::tensor::TensorError>(())
    /// ```
    pub fn from_array<T: Native, S: Data<Elem = T>, D: Dimension>(
        array: &ArrayBase<S, D>,
    ) -> Result<Tensor, TensorError> {
        Tensor::from_vec(array.shape().to_vec(), array.iter().copied().collect())
    }

    /// Copies the elements into an array of the tensor's shape; `None` if the element type differs.
    pub fn to_array<T: Native>(&self) -> Option<ArrayD<T>> {
        ArrayD::from_shape_vec(self.shape(), self.to_vec()?).ok()
    }

    /// Borrows the elements as an array of the tensor's shape, without a copy; `None` if [`Tensor::as_slice`] returns
    /// `None`.
    pub fn as_array<T: Native + AnyBitPattern>(&self) -> Option<ArrayViewD<'_, T>> {
        ArrayViewD::from_shape(self.shape(), self.as_slice()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ElementType;

    #[test]
    fn an_array_round_trips() {
        let array = ArrayD::from_shape_fn(vec![2, 1, 3], |index| index[0] as f32 * 10.0 + index[2] as f32);
        let tensor = Tensor::from_array(&array).unwrap();
        assert_eq!((tensor.element_type(), tensor.shape()), (ElementType::Float, &[2, 1, 3][..]));
        assert_eq!(tensor.to_array::<f32>(), Some(array.clone()));
        assert_eq!(tensor.as_array::<f32>(), Some(array.view()));
        assert_eq!(tensor.to_array::<f64>(), None);
        assert!(tensor.as_array::<i32>().is_none());
        for shape in [vec![], vec![0], vec![3, 0]] {
            let array = ArrayD::<bool>::default(shape);
            assert_eq!(Tensor::from_array(&array).unwrap().to_array(), Some(array));
        }
    }
}
