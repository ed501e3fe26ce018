//! Conversion between tensors and numbers of Rust and, with the feature `half`, of the crate `half`.

use bytemuck::AnyBitPattern;

use crate::dtype::ElementType;
use crate::tensor::{Tensor, TensorError};

/// Rust type with a matching element type: integers, floats, `bool`, and `half::{f16, bf16}` with the feature `half`.
pub trait Native: sealed::Bytes {
    /// The element type.
    const ELEMENT_TYPE: ElementType;
}

mod sealed {
    /// Little-endian storage of a number.
    pub trait Bytes: Copy {
        /// Appends the bytes.
        fn append(self, bytes: &mut Vec<u8>);
        /// Reads the number from its bytes; `None` if there are too few or too many.
        fn read(bytes: &[u8]) -> Option<Self>;
    }
}

/// Implements both traits for each type.
macro_rules! native {
    ($($rust:ty = $element:ident,)*) => {$(
        impl Native for $rust {
            const ELEMENT_TYPE: ElementType = ElementType::$element;
        }
        impl sealed::Bytes for $rust {
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(<$rust>::from_le_bytes)
            }
        }
    )*};
}

native! {
    f32 = Float, f64 = Double,
    i8 = Int8, i16 = Int16, i32 = Int32, i64 = Int64, u8 = Uint8, u16 = Uint16, u32 = Uint32, u64 = Uint64,
}

#[cfg(feature = "half")]
native! {
    half::f16 = Float16, half::bf16 = Bfloat16,
}

impl Native for bool {
    const ELEMENT_TYPE: ElementType = ElementType::Bool;
}

impl sealed::Bytes for bool {
    fn append(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [byte] => Some(*byte != 0),
            _ => None,
        }
    }
}

impl Tensor {
    /// Creates a tensor from its elements in row-major order. Fails if their number does not match the shape.
    ///
    /// ```
    /// use onnx_conformance_reference::tensor::Tensor;
    ///
    /// let tensor = Tensor::from_vec(vec![2, 3], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(tensor.element_type().name(), "float");
    /// assert_eq!(tensor.to_vec::<f32>().map(|values| values.len()), Some(6));
    /// assert_eq!(tensor.to_vec::<f64>(), None);
    /// # Ok::<(), onnx_conformance_reference::tensor::TensorError>(())
    /// ```
    pub fn from_vec<T: Native>(shape: Vec<usize>, elements: Vec<T>) -> Result<Tensor, TensorError> {
        let mut bytes = Vec::with_capacity(elements.len().saturating_mul(size_of::<T>()));
        for element in elements {
            element.append(&mut bytes);
        }
        Tensor::from_bytes(T::ELEMENT_TYPE, shape, bytes.into())
    }

    /// Copies the elements in row-major order; `None` if the element type differs.
    pub fn to_vec<T: Native>(&self) -> Option<Vec<T>> {
        if self.element_type() != T::ELEMENT_TYPE {
            return None;
        }
        self.bytes().chunks_exact(size_of::<T>()).map(T::read).collect()
    }

    /// Borrows the elements in row-major order, without a copy. `None` if the element type differs, if the bytes are
    /// not aligned for it, or on a machine that is not little-endian; [`Tensor::to_vec`] copies in all cases.
    ///
    /// ```
    /// use onnx_conformance_reference::tensor::Tensor;
    ///
    /// let tensor = Tensor::from_vec(vec![2], vec![7_u8, 8])?;
    /// assert_eq!(tensor.as_slice::<u8>(), Some(&[7, 8][..]));
    /// # Ok::<(), onnx_conformance_reference::tensor::TensorError>(())
    /// ```
    pub fn as_slice<T: Native + AnyBitPattern>(&self) -> Option<&[T]> {
        let is_stored_so = self.element_type() == T::ELEMENT_TYPE && cfg!(target_endian = "little");
        if is_stored_so { bytemuck::try_cast_slice(self.bytes()).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Native + PartialEq + std::fmt::Debug>(elements: &[T], name: &str) {
        let tensor = Tensor::from_vec(vec![1, elements.len()], elements.to_vec()).unwrap();
        assert_eq!(tensor.element_type().name(), name);
        assert_eq!(tensor.shape(), [1, elements.len()]);
        assert_eq!(tensor.to_vec::<T>().as_deref(), Some(elements));
    }

    #[test]
    fn elements_round_trip() {
        check(&[1.5_f32, f32::MIN_POSITIVE, f32::INFINITY], "float");
        check(&[-0.1_f64], "double");
        check(&[i8::MIN, 1], "int8");
        check(&[i16::MIN, 1], "int16");
        check(&[i32::MIN, 1], "int32");
        check(&[i64::MIN, 1], "int64");
        check(&[u8::MAX], "uint8");
        check(&[u16::MAX], "uint16");
        check(&[u32::MAX], "uint32");
        check(&[u64::MAX], "uint64");
        check(&[true, false], "bool");
        check::<f32>(&[], "float");
    }

    #[cfg(feature = "half")]
    #[test]
    fn half_floats_round_trip() {
        use half::{bf16, f16};
        check(&[f16::from_f32(0.1), f16::MAX], "float16");
        check(&[bf16::from_f32(0.1)], "bfloat16");
    }

    #[test]
    fn a_shape_of_another_size_is_refused() {
        let error = Tensor::from_vec(vec![2, 2], vec![1_i64]).unwrap_err().to_string();
        assert_eq!(error, "shape [2, 2] of int64 takes 32 bytes, but there are 8");
    }

    #[test]
    fn a_slice_is_of_the_same_type_alone() {
        let tensor = Tensor::from_vec(vec![2], vec![1_u8, 2]).unwrap();
        assert_eq!(tensor.as_slice::<u8>(), Some(&[1, 2][..]));
        assert_eq!(tensor.as_slice::<i8>(), None);
    }
}
