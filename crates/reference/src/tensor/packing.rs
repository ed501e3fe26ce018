//! Packing of sub-byte elements in `raw_data` and `int32_data`: a bit stream, the first element in the lowest bits.

use bytes::Bytes;

use crate::dtype::{ElementType, Kind};
use crate::tensor::error::TensorError;
use crate::tensor::shape::element_count;
use crate::tensor::storage::Tensor;

impl Tensor {
    /// Creates a tensor from elements in the layout of `raw_data`: types narrower than a byte are packed, with the first element in the
    /// lowest bits.
    ///
    /// ```
    /// use onnx_conformance_reference::{ElementType, Tensor};
    ///
    /// let tensor = Tensor::from_packed(ElementType::Int4, vec![3], &[0xf1, 0x07])?;
    /// assert_eq!(tensor.floats(), [1.0, -1.0, 7.0]);
    /// assert_eq!(tensor.packed_bytes()[..], [0xf1, 0x07]);
    /// # Ok::<(), onnx_conformance_reference::TensorError>(())
    /// ```
    ///
    /// # Errors If the number of bytes does not match the shape, or the elements are strings.
    pub fn from_packed(element_type: ElementType, shape: Vec<usize>, packed: &[u8]) -> Result<Tensor, TensorError> {
        if !is_packed(element_type) {
            return Tensor::from_bytes(element_type, shape, Bytes::copy_from_slice(packed));
        }
        let count = element_count(&shape)?;
        let expected = packed_len(element_type, count).ok_or_else(|| TensorError::Overflow(shape.clone()))?;
        if packed.len() != expected {
            let found = packed.len();
            return Err(TensorError::Length { element_type, shape, unit: "packed bytes", expected, found });
        }
        Tensor::from_bytes(element_type, shape, unpack(element_type, packed, count).into())
    }

    /// Returns the elements in the layout of `raw_data`; nothing for strings. The last byte is padded with zeros.
    pub fn packed_bytes(&self) -> Bytes {
        if is_packed(self.element_type()) {
            pack(self.element_type(), self.bytes()).into()
        } else {
            self.bytes().clone()
        }
    }
}

/// Returns true if several elements share a byte.
fn is_packed(element: ElementType) -> bool {
    (1..8).contains(&element.bits())
}

/// The number of bytes of `count` packed elements.
pub fn packed_len(element: ElementType, count: usize) -> Option<usize> {
    count.checked_mul(element.bits() as usize).map(|bits| bits.div_ceil(8))
}

/// Unpacks to one byte per element, with sign extension for signed types. `packed` holds at least `packed_len` bytes.
pub fn unpack(element: ElementType, packed: &[u8], count: usize) -> Vec<u8> {
    let bits = element.bits() as usize;
    (0..count).map(|index| extend(element, read_bits(packed, index * bits, bits))).collect()
}

/// Packs elements that are one byte each; the last byte is padded with zeros.
pub fn pack(element: ElementType, elements: &[u8]) -> Vec<u8> {
    let bits = element.bits() as usize;
    let mask = low_mask(bits);
    let mut packed = vec![0u8; (elements.len() * bits).div_ceil(8)];
    for (index, &value) in elements.iter().enumerate() {
        let (byte, shift) = (index * bits / 8, index * bits % 8);
        let [low, high] = (u16::from(value & mask) << shift).to_le_bytes();
        for (slot, part) in packed.iter_mut().skip(byte).zip([low, high]) {
            *slot |= part;
        }
    }
    packed
}

/// The stored byte of a sub-byte element from its bits: sign-extended for signed integers.
pub fn extend(element: ElementType, value: u8) -> u8 {
    let unused = 8 - element.bits().min(8);
    let shifted = (value & low_mask(element.bits() as usize)) << unused;
    match element.kind() {
        Kind::Signed => (shifted.cast_signed() >> unused).cast_unsigned(),
        _ => shifted >> unused,
    }
}

fn read_bits(packed: &[u8], from: usize, bits: usize) -> u8 {
    let byte = |index: usize| packed.get(index).copied().unwrap_or(0);
    let [low, _] = (u16::from_le_bytes([byte(from / 8), byte(from / 8 + 1)]) >> (from % 8)).to_le_bytes();
    low & low_mask(bits)
}

fn low_mask(bits: usize) -> u8 {
    u8::MAX >> (8 - bits.min(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_tensors_are_read_and_written() {
        for (element, shape, packed) in [
            (ElementType::Uint4, vec![3], &[0x21, 0x03][..]),
            (ElementType::Int2, vec![2, 2], &[0b1101_1000][..]),
            (ElementType::Float, vec![1], &[0, 0, 128, 63][..]),
            (ElementType::Int4, vec![0], &[][..]),
        ] {
            let tensor = Tensor::from_packed(element, shape.clone(), packed).unwrap();
            assert_eq!((tensor.shape(), &tensor.packed_bytes()[..]), (&shape[..], packed), "{element}");
        }
        let error = Tensor::from_packed(ElementType::Int4, vec![3], &[0]).unwrap_err().to_string();
        assert_eq!(error, "shape [3] of int4 takes 2 packed bytes, but there are 1");
        assert!(Tensor::from_packed(ElementType::String, vec![0], &[]).is_err());
    }

    #[test]
    fn the_first_element_is_in_the_lowest_bits() {
        assert_eq!(pack(ElementType::Uint4, &[1, 2, 3]), [0x21, 0x03]);
        assert_eq!(pack(ElementType::Uint2, &[1, 2, 3, 0, 1]), [0b0011_1001, 1]);
        assert_eq!(pack(ElementType::Float6e2m3, &[0b11_1111, 0, 0, 0b10_0001]), [0b0011_1111, 0, 0b1000_0100]);
        assert_eq!(pack(ElementType::Int4, &[0xff, 0xf8]), [0x8f]);
    }
}
