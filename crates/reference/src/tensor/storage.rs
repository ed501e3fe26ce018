//! Storage of a tensor.

#![expect(clippy::indexing_slicing, reason = "start and end are clamped to the number of elements")]

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::dtype::ElementType;
use crate::tensor::error::TensorError;
use crate::tensor::reservation::Reservation;
use crate::tensor::shape::element_count;

/// Tensor: an element type, a shape, and the elements in row-major order.
///
/// Numbers are little-endian bytes, one element per byte or more: sub-byte types take one byte each, signed ones
/// sign-extended. Cloning shares the elements. A repeated element is written out only when the bytes are requested.
#[derive(Clone)]
pub struct Tensor {
    element_type: ElementType,
    shape: Vec<usize>,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Bytes(Bytes),
    Repeated(Repeated),
    Strings(Strings),
}

#[derive(Clone)]
struct Strings {
    strings: Arc<[Arc<str>]>,
    /// Counts the pointers and the strings.
    reservation: Option<Arc<Reservation>>,
}

/// The bytes of one element, which is repeated.
#[derive(Clone)]
struct Repeated {
    element: Bytes,
    count: usize,
    written_out: Arc<OnceLock<Bytes>>,
    /// Counts the elements as if they were written out, which may happen at any time.
    #[expect(dead_code, reason = "held for its Drop")]
    reservation: Option<Arc<Reservation>>,
}

impl Repeated {
    fn bytes(&self) -> &Bytes {
        self.written_out.get_or_init(|| self.element.repeat(self.count).into())
    }
}

impl Tensor {
    /// Creates a tensor from stored bytes (see [`Tensor`]), which are shared, not copied.
    pub fn from_bytes(element_type: ElementType, shape: Vec<usize>, bytes: Bytes) -> Result<Tensor, TensorError> {
        if element_type == ElementType::String {
            return Err(TensorError::Storage(element_type));
        }
        let count = element_count(&shape)?;
        let expected = count.checked_mul(element_type.size()).ok_or_else(|| TensorError::Overflow(shape.clone()))?;
        if bytes.len() != expected {
            let found = bytes.len();
            return Err(TensorError::Length { element_type, shape, unit: "bytes", expected, found });
        }
        Ok(Tensor { element_type, shape, data: Data::Bytes(bytes) })
    }

    /// Creates a tensor of strings.
    pub fn from_strings(shape: Vec<usize>, strings: Arc<[Arc<str>]>) -> Result<Tensor, TensorError> {
        Tensor::from_counted_strings(shape, strings, None)
    }

    /// Creates a tensor of strings that `reservation` counts.
    pub(super) fn from_counted_strings(
        shape: Vec<usize>,
        strings: Arc<[Arc<str>]>,
        reservation: Option<Arc<Reservation>>,
    ) -> Result<Tensor, TensorError> {
        let expected = element_count(&shape)?;
        if strings.len() != expected {
            let (element_type, found) = (ElementType::String, strings.len());
            return Err(TensorError::Length { element_type, shape, unit: "elements", expected, found });
        }
        let data = Data::Strings(Strings { strings, reservation });
        Ok(Tensor { element_type: ElementType::String, shape, data })
    }

    /// Creates a tensor that repeats the only element of `value`.
    pub(super) fn repeating(
        value: &Tensor,
        shape: Vec<usize>,
        reservation: Option<Arc<Reservation>>,
    ) -> Result<Tensor, TensorError> {
        let (element_type, found) = (value.element_type, value.len());
        let count = element_count(&shape)?;
        if found != 1 {
            return Err(TensorError::Length { element_type, shape, unit: "elements", expected: 1, found });
        }
        let data = if let Data::Strings(Strings { strings, .. }) = &value.data {
            // All elements share one string.
            Data::Strings(Strings { strings: strings.iter().cycle().take(count).cloned().collect(), reservation })
        } else {
            let (element, written_out) = (value.bytes().clone(), Arc::default());
            Data::Repeated(Repeated { element, count, written_out, reservation })
        };
        Ok(Tensor { element_type, shape, data })
    }

    /// The repeated element, if the tensor has one and it has not been written out.
    pub(super) fn repeated(&self) -> Option<Tensor> {
        match &self.data {
            Data::Repeated(repeated) if repeated.written_out.get().is_none() => {
                let data = Data::Bytes(repeated.element.clone());
                Some(Tensor { element_type: self.element_type, shape: vec![1], data })
            }
            _ => None,
        }
    }

    /// The same elements with another shape of the same size.
    pub fn with_shape(&self, shape: Vec<usize>) -> Result<Tensor, TensorError> {
        let (expected, found) = (element_count(&shape)?, self.len());
        if expected != found {
            let element_type = self.element_type;
            return Err(TensorError::Length { element_type, shape, unit: "elements", expected, found });
        }
        Ok(Tensor { element_type: self.element_type, shape, data: self.data.clone() })
    }

    /// The elements at `range` of the flattened tensor, as a 1-D tensor that shares their bytes. `range` is clamped to
    /// the tensor.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Tensor {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let data = match &self.data {
            Data::Bytes(bytes) => {
                let size = self.element_type.size();
                Data::Bytes(bytes.slice(start * size..end * size))
            }
            Data::Repeated(repeated) => {
                let (count, written_out) = (end - start, Arc::default());
                Data::Repeated(Repeated { count, written_out, ..repeated.clone() })
            }
            Data::Strings(Strings { strings, reservation }) => {
                Data::Strings(Strings { strings: strings[start..end].into(), reservation: reservation.clone() })
            }
        };
        Tensor { element_type: self.element_type, shape: vec![end - start], data }
    }

    /// The same bits read as another element type of the same width.
    pub fn with_element_type(&self, element_type: ElementType) -> Result<Tensor, TensorError> {
        match &self.data {
            Data::Strings(_) => Err(TensorError::Storage(element_type)),
            _ => Tensor::from_bytes(element_type, self.shape.clone(), self.bytes().clone()),
        }
    }

    /// The element type.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// The dimensions; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Bytes(bytes) => bytes.len() / self.element_type.size(),
            Data::Repeated(repeated) => repeated.count,
            Data::Strings(Strings { strings, .. }) => strings.len(),
        }
    }

    /// The approximate memory of the elements in bytes, written out.
    pub fn size(&self) -> usize {
        let text = |text: &Arc<str>| text.len() + 2 * size_of::<Arc<str>>();
        match &self.data {
            Data::Strings(Strings { strings, .. }) => strings.iter().map(text).sum(),
            _ => self.len().saturating_mul(self.element_type.size()),
        }
    }

    /// True if the tensor has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stored bytes; empty for strings.
    pub fn bytes(&self) -> &Bytes {
        static NONE: Bytes = Bytes::new();
        match &self.data {
            Data::Bytes(bytes) => bytes,
            Data::Repeated(repeated) => repeated.bytes(),
            Data::Strings(_) => &NONE,
        }
    }

    /// The strings; empty for every other type.
    pub fn strings(&self) -> &[Arc<str>] {
        match &self.data {
            Data::Strings(Strings { strings, .. }) => strings,
            _ => &[],
        }
    }
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        self.element_type == other.element_type
            && self.shape == other.shape
            && self.bytes() == other.bytes()
            && self.strings() == other.strings()
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?} ", self.element_type, self.shape)?;
        self.write_elements(f, 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_with_the_tensor() {
        let tensor = Tensor::of_floats(ElementType::Float, &[2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(tensor.part(1..3).floats(), [2.0, 3.0]);
        assert_eq!(tensor.part(3..9).floats(), [4.0]);
        assert_eq!(tensor.part(7..9).shape(), [0]);
    }

    #[test]
    fn a_repeated_element_equals_as_many_elements() {
        let one = Tensor::of_floats(ElementType::Float16, &[], &[-1.5]).unwrap();
        let six = Tensor::of_floats(ElementType::Float16, &[2, 3], &[-1.5; 6]).unwrap();
        let repeating = || Tensor::repeating(&one, vec![2, 3], None).unwrap();
        assert_eq!(repeating().floats(), six.floats());
        assert_eq!((repeating().len(), repeating().bits_at(5)), (6, six.bits_at(5)));
        assert_eq!(repeating().part(4..9).floats(), [-1.5; 2]);
        assert_eq!(repeating().part(4..9).bytes(), six.part(4..6).bytes());
        assert_eq!(repeating().with_shape(vec![6]).unwrap().bytes(), six.bytes());
        assert_eq!(repeating(), six);
        let text = Tensor::of_strings(&[1], &["a"]).unwrap();
        assert_eq!(Tensor::repeating(&text, vec![2], None), Tensor::of_strings(&[2], &["a", "a"]));
        assert!(Tensor::repeating(&six, vec![1], None).is_err());
        assert!(Tensor::repeating(&one, vec![0], None).unwrap().bytes().is_empty());
    }
}
