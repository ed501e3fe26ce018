//! Reading of elements as wide numbers.

use std::fmt;

use bytes::Bytes;
use num_complex::Complex;

use crate::dtype::{ElementType, Kind};
use crate::parallel;
use crate::tensor::Tensor;

/// Minimum number of elements of a conversion that uses several threads.
const PARALLEL: usize = 1 << 16;

/// Number of elements in one block of a stream.
pub const BLOCK: usize = 1 << 12;

/// Iterator over the elements of a tensor in memory order, converted a block at a time.
#[derive(Debug)]
pub struct Stream<'a, T> {
    tensor: &'a Tensor,
    read: fn(&Tensor) -> Vec<T>,
    /// The first element that no block holds yet.
    from: usize,
    block: std::vec::IntoIter<T>,
}

impl<T> Iterator for Stream<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if let Some(value) = self.block.next() {
            return Some(value);
        }
        let from = self.from;
        self.from = from.saturating_add(BLOCK);
        self.block = (self.read)(&self.tensor.part(from..self.from)).into_iter();
        self.block.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.tensor.len().saturating_sub(self.from) + self.block.len();
        (left, Some(left))
    }
}

/// Random access to the elements of a tensor of real numbers; each is converted when it is read.
#[derive(Debug)]
pub struct Elements {
    element_type: ElementType,
    bytes: Bytes,
    /// True if the bytes are one element that is repeated.
    is_repeated: bool,
}

impl Elements {
    /// The element at an index of the flattened tensor, as in [`Tensor::floats`].
    #[inline]
    pub fn float(&self, index: usize) -> f64 {
        self.element_type.decode_f64(self.bits(index))
    }

    /// The element at an index of the flattened tensor, as in [`Tensor::integers`].
    #[inline]
    pub fn integer(&self, index: usize) -> i128 {
        self.element_type.decode_i128(self.bits(index))
    }

    /// The stored bits of an element; 0 beyond the end.
    #[inline]
    fn bits(&self, index: usize) -> u64 {
        let index = if self.is_repeated { 0 } else { index };
        match self.element_type.size() {
            1 => u64::from(self.bytes.get(index).copied().unwrap_or_default()),
            2 => u64::from(u16::from_le_bytes(group(&self.bytes, index))),
            4 => u64::from(u32::from_le_bytes(group(&self.bytes, index))),
            _ => u64::from_le_bytes(group(&self.bytes, index)),
        }
    }
}

/// The group of `N` bytes at an index; zeros beyond the end.
#[inline]
fn group<const N: usize>(bytes: &[u8], index: usize) -> [u8; N] {
    bytes.as_chunks::<N>().0.get(index).copied().unwrap_or([0; N])
}

impl Tensor {
    /// Random access to the elements, without a vector of them. A repeated element is not written out.
    pub fn elements(&self) -> Elements {
        let repeated = self.repeated();
        let bytes = repeated.as_ref().unwrap_or(self).bytes().clone();
        Elements { element_type: self.element_type(), bytes, is_repeated: repeated.is_some() }
    }

    /// Streams the result of `read`, such as [`Tensor::floats`], a block at a time, without a vector of all elements.
    pub fn stream<T>(&self, read: fn(&Tensor) -> Vec<T>) -> Stream<'_, T> {
        Stream { tensor: self, read, from: 0, block: Vec::new().into_iter() }
    }

    /// Every element as `f64`, exact except for 64-bit integers beyond 2^53. `bool` gives 0 and 1, complex numbers
    /// their real part. Strings give an empty vector.
    pub fn floats(&self) -> Vec<f64> {
        if let Some(value) = self.repeated().and_then(|element| element.floats().first().copied()) {
            // bounded: by the limits, against which the tensor was already counted.
            return vec![value; self.len()];
        }
        let bytes = self.bytes();
        match self.element_type() {
            ElementType::Float => convert(bytes, |b: [u8; 4]| f64::from(f32::from_le_bytes(b))),
            ElementType::Double => convert(bytes, f64::from_le_bytes),
            ElementType::Complex64 => {
                convert(bytes, |b: [u8; 8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
            }
            ElementType::Complex128 => self.complexes().into_iter().map(|z| z.re).collect(),
            element => match element.size() {
                0 => Vec::new(),
                1 => convert(bytes, |b: [u8; 1]| element.decode_f64(u64::from(b[0]))),
                2 => convert(bytes, |b: [u8; 2]| element.decode_f64(u64::from(u16::from_le_bytes(b)))),
                4 => convert(bytes, |b: [u8; 4]| element.decode_f64(u64::from(u32::from_le_bytes(b)))),
                _ => convert(bytes, |b: [u8; 8]| element.decode_f64(u64::from_le_bytes(b))),
            },
        }
    }

    /// Every element as `i128`. Floats are truncated toward zero. Strings give an empty vector.
    pub fn integers(&self) -> Vec<i128> {
        let bytes = self.bytes();
        match self.element_type() {
            ElementType::Int64 => convert(bytes, |b: [u8; 8]| i128::from(i64::from_le_bytes(b))),
            ElementType::Int32 => convert(bytes, |b: [u8; 4]| i128::from(i32::from_le_bytes(b))),
            element if element.is_integer() || element.kind() == Kind::Bool => {
                (0..self.len()).map(|index| element.decode_i128(self.bits_at(index))).collect()
            }
            #[expect(clippy::cast_possible_truncation, reason = "the documented truncation toward zero")]
            _ => self.floats().into_iter().map(|value| value as i128).collect(),
        }
    }

    /// Every element as a complex number; real types have no imaginary part.
    pub fn complexes(&self) -> Vec<Complex<f64>> {
        let bytes = self.bytes();
        match self.element_type() {
            ElementType::Complex64 => convert(bytes, |b: [u8; 8]| {
                let [re, im] = [[b[0], b[1], b[2], b[3]], [b[4], b[5], b[6], b[7]]];
                Complex::new(f64::from(f32::from_le_bytes(re)), f64::from(f32::from_le_bytes(im)))
            }),
            ElementType::Complex128 => convert(bytes, |b: [u8; 16]| {
                let bits = u128::from_le_bytes(b);
                #[expect(clippy::cast_possible_truncation, reason = "splits 128 bits into their halves")]
                let [re, im] = [bits as u64, (bits >> 64) as u64];
                Complex::new(f64::from_bits(re), f64::from_bits(im))
            }),
            _ => self.floats().into_iter().map(|re| Complex::new(re, 0.0)).collect(),
        }
    }

    /// Every element as a boolean: `x != 0`.
    pub fn bools(&self) -> Vec<bool> {
        match self.element_type().kind() {
            Kind::Bool => self.bytes().iter().map(|&byte| byte != 0).collect(),
            Kind::Complex => self.complexes().into_iter().map(|z| z.re != 0.0 || z.im != 0.0).collect(),
            _ => self.floats().into_iter().map(|value| value != 0.0).collect(),
        }
    }

    /// Every element as `i64`, for indices, sizes and axes; out-of-range values are clamped.
    pub fn indices(&self) -> Vec<i64> {
        let clamp = |value: i128| i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
        self.integers().into_iter().map(clamp).collect()
    }

    /// The stored bits of one element of at most 64 bits; 0 beyond the end.
    pub fn bits_at(&self, index: usize) -> u64 {
        let size = self.element_type().size();
        let mut word = [0u8; 8];
        if let Some(bytes) = index.checked_mul(size).and_then(|from| self.bytes().get(from..from + size))
            && let Some(head) = word.get_mut(..size)
        {
            head.copy_from_slice(bytes);
        }
        u64::from_le_bytes(word)
    }

    /// The element of a one-element tensor as `f64`.
    pub fn single_float(&self) -> Option<f64> {
        (self.len() == 1).then(|| self.floats().first().copied()).flatten()
    }

    /// The element of a one-element tensor as `i128`.
    pub fn single_integer(&self) -> Option<i128> {
        (self.len() == 1).then(|| self.integers().first().copied()).flatten()
    }

    /// Formats up to `max` elements for display: `[1, 2.5, ...]`.
    pub fn write_elements(&self, f: &mut dyn fmt::Write, max: usize) -> fmt::Result {
        f.write_char('[')?;
        for index in 0..self.len().min(max) {
            if index > 0 {
                f.write_str(", ")?;
            }
            self.write_element(f, index)?;
        }
        f.write_str(if self.len() > max { ", ...]" } else { "]" })
    }

    /// Formats one element for display, with the fewest digits that identify it.
    pub fn write_element(&self, f: &mut dyn fmt::Write, index: usize) -> fmt::Result {
        let element = self.element_type();
        #[expect(clippy::cast_possible_truncation, reason = "the value came from an f32 and fits it")]
        match element.kind() {
            Kind::String => match self.strings().get(index) {
                Some(text) => write!(f, "{text:?}"),
                None => Ok(()),
            },
            Kind::Bool => f.write_str(if self.bits_at(index) == 0 { "false" } else { "true" }),
            Kind::Signed | Kind::Unsigned => write!(f, "{}", element.decode_i128(self.bits_at(index))),
            Kind::Float if element == ElementType::Double => write!(f, "{:?}", element.decode_f64(self.bits_at(index))),
            Kind::Float => write!(f, "{:?}", element.decode_f64(self.bits_at(index)) as f32),
            Kind::Complex => match self.complexes().get(index) {
                Some(z) => write!(f, "{:?}{:+?}i", z.re, z.im),
                None => Ok(()),
            },
        }
    }
}

/// Converts fixed-size groups of bytes, on several threads if there are many.
fn convert<const N: usize, T: Send>(bytes: &[u8], from: impl Fn([u8; N]) -> T + Sync) -> Vec<T> {
    let (groups, _) = bytes.as_chunks::<N>();
    if groups.len() < PARALLEL {
        groups.iter().map(|&group| from(group)).collect()
    } else {
        parallel::map(groups, |&group| from(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_elements_equal_one_read() {
        for element in ElementType::ALL.into_iter().filter(|element| element.is_integer() || element.is_float()) {
            let tensor = Tensor::of_integers(element, &[4], &[0, 1, 2, 1]).unwrap();
            let (floats, integers) = (tensor.floats(), tensor.integers());
            let elements = tensor.elements();
            for index in 0..4 {
                let is_same = elements.float(index).to_bits() == floats[index].to_bits();
                assert!(is_same && elements.integer(index) == integers[index], "{element} at {index}");
            }
        }
    }

    #[test]
    fn a_stream_equals_one_read() {
        for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let values: Vec<i128> = (0..count as i128).map(|value| value % 120).collect();
            let tensor = Tensor::of_integers(ElementType::Int8, &[count], &values).unwrap();
            let mut stream = tensor.stream(Tensor::integers);
            assert_eq!(stream.size_hint(), (count, Some(count)));
            stream.next();
            assert_eq!(stream.size_hint().0, count.saturating_sub(1));
            assert_eq!(tensor.stream(Tensor::integers).collect::<Vec<_>>(), values);
        }
    }
}
