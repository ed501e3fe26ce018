//! Construction of tensors: allocated space that is filled once.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use num_complex::Complex;

use crate::deadline::Deadline;
use crate::dtype::{ElementType, Kind};
use crate::tensor::reservation::Reservation;
use crate::tensor::shape::element_count;
use crate::tensor::{Tensor, TensorError};

/// Number of elements written between two checks of the clock.
const BLOCK: usize = 1 << 12;

/// Number of elements that are read at once.
const READ: usize = 1 << 8;

/// Allocated space for a tensor that is not yet filled. The executor provides it within its limits; every filling
/// method takes exactly as many elements as the shape has.
#[derive(Debug)]
pub struct TensorBuilder {
    element_type: ElementType,
    shape: Vec<usize>,
    len: usize,
    reservation: Option<Reservation>,
    deadline: Deadline,
}

/// A vector that releases its reservation when the last tensor over it is dropped.
struct Reserved(Vec<u8>, #[expect(dead_code, reason = "held for its Drop")] Reservation);

impl AsRef<[u8]> for Reserved {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Elements that are read in blocks. The code that consumes them is compiled once, and not for every iterator of a
/// kernel.
trait Source<T> {
    /// Fills the front of a block and returns the number of elements. It is smaller than the block if there are no more.
    fn read(&mut self, block: &mut [T]) -> usize;
}

impl<T, I: Iterator<Item = T>> Source<T> for I {
    fn read(&mut self, block: &mut [T]) -> usize {
        let mut count = 0;
        for (slot, value) in block.iter_mut().zip(self) {
            *slot = value;
            count += 1;
        }
        count
    }
}

/// Returns a function that writes elements of `N` bytes each.
fn encoded<T: Copy, const N: usize>(encode: impl Fn(T) -> [u8; N]) -> impl Fn(&[T], &mut [u8]) {
    move |values, bytes| {
        for (slot, value) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(values) {
            *slot = encode(*value);
        }
    }
}

impl TensorBuilder {
    /// Space without a limit, for values from outside a model run.
    pub fn unlimited(element_type: ElementType, shape: Vec<usize>) -> Result<TensorBuilder, TensorError> {
        let len = element_count(&shape)?;
        Ok(TensorBuilder { element_type, shape, len, reservation: None, deadline: Deadline::never() })
    }

    /// Space without a limit for `found` elements. Fails before the space is allocated if the shape has another number.
    fn for_values(element_type: ElementType, shape: &[usize], found: usize) -> Result<TensorBuilder, TensorError> {
        let builder = TensorBuilder::unlimited(element_type, shape.to_vec())?;
        if builder.len != found {
            let TensorBuilder { shape, len: expected, .. } = builder;
            return Err(TensorError::Length { element_type, shape, unit: "elements", expected, found });
        }
        Ok(builder)
    }

    /// Space whose bytes are counted by `reservation`, to be filled before the deadline.
    pub fn new(
        element_type: ElementType,
        shape: Vec<usize>,
        reservation: Reservation,
        deadline: Deadline,
    ) -> Result<TensorBuilder, TensorError> {
        let len = element_count(&shape)?;
        Ok(TensorBuilder { element_type, shape, len, reservation: Some(reservation), deadline })
    }

    /// The number of elements to fill.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no elements to fill.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element type of the tensor.
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Rounds each number once to the element type. Integers truncate toward zero and wrap; `bool` is `x != 0`.
    pub fn floats(self, values: impl IntoIterator<Item = f64>) -> Result<Tensor, TensorError> {
        self.write_f64s(&mut values.into_iter())
    }

    /// Wraps each integer to the element type, or rounds it once to a floating type.
    pub fn integers(self, values: impl IntoIterator<Item = i128>) -> Result<Tensor, TensorError> {
        self.write_integers(&mut values.into_iter())
    }

    /// Rounds both parts of each number once; a real element type uses the real part only.
    pub fn complexes(self, values: impl IntoIterator<Item = Complex<f64>>) -> Result<Tensor, TensorError> {
        self.write_c64s(&mut values.into_iter())
    }

    /// Writes booleans as 1 and 0 of the element type.
    pub fn bools(self, values: impl IntoIterator<Item = bool>) -> Result<Tensor, TensorError> {
        self.integers(values.into_iter().map(i128::from))
    }

    /// Writes the low bytes of stored bits unchanged.
    pub fn bits(self, values: impl IntoIterator<Item = u64>) -> Result<Tensor, TensorError> {
        self.write_stored(&mut values.into_iter())
    }

    fn write_f64s(self, values: &mut dyn Source<f64>) -> Result<Tensor, TensorError> {
        match self.element_type.kind() {
            Kind::Complex => self.write_complexes(values, |re| Complex::new(re, 0.0)),
            _ => self.write_floats(values, |value| value),
        }
    }

    fn write_integers(self, values: &mut dyn Source<i128>) -> Result<Tensor, TensorError> {
        let element = self.element_type;
        match element.kind() {
            Kind::Float => self.write_bits(values, |value| element.encode_i128(value)),
            Kind::Complex => self.write_complexes(values, |re| Complex::new(re as f64, 0.0)),
            _ => self.write_bits(values, |value| element.wrap(value)),
        }
    }

    fn write_c64s(self, values: &mut dyn Source<Complex<f64>>) -> Result<Tensor, TensorError> {
        match self.element_type.kind() {
            Kind::Complex => self.write_complexes(values, |z| z),
            _ => self.write_floats(values, |z| z.re),
        }
    }

    fn write_stored(self, values: &mut dyn Source<u64>) -> Result<Tensor, TensorError> {
        self.write_bits(values, |bits| bits)
    }

    fn write_floats<T: Copy + Default>(
        self,
        values: &mut dyn Source<T>,
        float: impl Fn(T) -> f64,
    ) -> Result<Tensor, TensorError> {
        let element = self.element_type;
        #[expect(clippy::cast_possible_truncation, reason = "this is the one rounding to float")]
        match element.kind() {
            Kind::Float if element == ElementType::Float => {
                self.write(values, &mut encoded(|value| (float(value) as f32).to_le_bytes()))
            }
            Kind::Float if element == ElementType::Double => {
                self.write(values, &mut encoded(|value| float(value).to_le_bytes()))
            }
            Kind::Float => self.write_bits(values, |value| element.encode(float(value))),
            _ => self.write_bits(values, |value| element.truncate(float(value))),
        }
    }

    fn write_complexes<T: Copy + Default>(
        self,
        values: &mut dyn Source<T>,
        complex: impl Fn(T) -> Complex<f64>,
    ) -> Result<Tensor, TensorError> {
        #[expect(clippy::cast_possible_truncation, reason = "this is the one rounding to float")]
        let narrow = |part: f64| (part as f32).to_bits();
        let pair = |z: Complex<f64>| u64::from(narrow(z.im)) << 32 | u64::from(narrow(z.re));
        let wide = |z: Complex<f64>| u128::from(z.im.to_bits()) << 64 | u128::from(z.re.to_bits());
        match self.element_type {
            ElementType::Complex64 => self.write(values, &mut encoded(|value| pair(complex(value)).to_le_bytes())),
            _ => self.write(values, &mut encoded(|value| wide(complex(value)).to_le_bytes())),
        }
    }

    fn write_bits<T: Copy + Default>(
        self,
        values: &mut dyn Source<T>,
        bits: impl Fn(T) -> u64,
    ) -> Result<Tensor, TensorError> {
        #[expect(clippy::cast_possible_truncation, reason = "the element's bits are in the low bytes")]
        match self.element_type.size() {
            1 => self.write(values, &mut encoded(|value| [bits(value) as u8])),
            2 => self.write(values, &mut encoded(|value| (bits(value) as u16).to_le_bytes())),
            4 => self.write(values, &mut encoded(|value| (bits(value) as u32).to_le_bytes())),
            8 => self.write(values, &mut encoded(|value| bits(value).to_le_bytes())),
            _ => Err(TensorError::Storage(self.element_type)),
        }
    }

    /// Writes elements as `encode` stores them, and fails unless their number matches the shape.
    fn write<T: Copy + Default>(
        self,
        values: &mut dyn Source<T>,
        encode: &mut dyn FnMut(&[T], &mut [u8]),
    ) -> Result<Tensor, TensorError> {
        let size = self.element_type.size();
        let mut bytes = vec![0u8; self.len * size];
        let mut read = [T::default(); READ];
        let mut found = 0;
        for (index, slots) in bytes.chunks_mut(READ * size).enumerate() {
            if index % (BLOCK / READ) == 0 {
                self.check_time()?;
            }
            let wanted = slots.len() / size;
            let count = read.get_mut(..wanted).map_or(0, |read| values.read(read));
            encode(read.get(..count).unwrap_or_default(), slots);
            found += count;
            if count < wanted {
                break;
            }
        }
        // One extra element is enough to detect that there are too many.
        if found == self.len {
            found += values.read(read.get_mut(..1).unwrap_or_default());
        }
        if found != self.len {
            let TensorBuilder { element_type, shape, len, .. } = self;
            return Err(TensorError::Length { element_type, shape, unit: "elements", expected: len, found });
        }
        self.bytes(bytes)
    }

    /// Takes strings, which are counted as if no other tensor shared them.
    pub fn strings(self, values: impl IntoIterator<Item = Arc<str>>) -> Result<Tensor, TensorError> {
        self.write_strings(&mut values.into_iter())
    }

    fn write_strings(mut self, values: &mut dyn Iterator<Item = Arc<str>>) -> Result<Tensor, TensorError> {
        if self.element_type != ElementType::String {
            return Err(TensorError::Storage(self.element_type));
        }
        // One extra string is enough to detect that there are too many.
        let values = values.take(self.len.saturating_add(1));
        // bounded: by the reservation, which counts the strings.
        let mut strings = Vec::with_capacity(self.len);
        for value in values {
            if strings.len() % BLOCK == 0 {
                self.check_time()?;
            }
            if let Some(reservation) = &mut self.reservation {
                reservation.grow(value.len())?;
            }
            strings.push(value);
        }
        Tensor::from_counted_strings(self.shape, strings.into(), self.reservation.map(Arc::new))
    }

    fn check_time(&self) -> Result<(), TensorError> {
        if self.deadline.is_over() { Err(TensorError::Deadline) } else { Ok(()) }
    }

    /// Takes the bytes of all elements as they are stored.
    pub fn bytes(self, bytes: Vec<u8>) -> Result<Tensor, TensorError> {
        let bytes = match self.reservation {
            Some(reservation) => Bytes::from_owner(Reserved(bytes, reservation)),
            None => Bytes::from(bytes),
        };
        Tensor::from_bytes(self.element_type, self.shape, bytes)
    }

    /// Repeats the only element of `value`.
    pub fn repeat(self, value: &Tensor) -> Result<Tensor, TensorError> {
        if value.element_type() != self.element_type {
            return Err(TensorError::Storage(value.element_type()));
        }
        Tensor::repeating(value, self.shape, self.reservation.map(Arc::new))
    }

    /// Copies elements of `source`, which has the same element type, from the given positions.
    pub fn gather(self, source: &Tensor, positions: impl IntoIterator<Item = usize>) -> Result<Tensor, TensorError> {
        self.gather_from(&[source], positions.into_iter().map(|position| (0, position)))
    }

    /// Copies elements of several tensors of the same element type. Each is given by its tensor and its position in it.
    pub fn gather_from(
        self,
        sources: &[&Tensor],
        positions: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Tensor, TensorError> {
        self.gather_elements(sources, &mut positions.into_iter())
    }

    fn gather_elements(
        self,
        sources: &[&Tensor],
        positions: &mut dyn Source<(usize, usize)>,
    ) -> Result<Tensor, TensorError> {
        if let Some(other) = sources.iter().find(|source| source.element_type() != self.element_type) {
            return Err(TensorError::Storage(other.element_type()));
        }
        let outside = TensorError::Length {
            element_type: self.element_type,
            shape: self.shape.clone(),
            unit: "elements",
            expected: self.len,
            found: 0,
        };
        if self.element_type == ElementType::String {
            let mut all_inside = true;
            let mut strings = std::iter::from_fn(|| {
                let mut next = [(0, 0)];
                let [(which, position)] = if positions.read(&mut next) == 1 { next } else { return None };
                let string = sources.get(which).and_then(|source| source.strings().get(position));
                all_inside &= string.is_some();
                string.cloned()
            });
            let tensor = self.write_strings(&mut strings);
            return if all_inside { tensor } else { Err(outside) };
        }
        let slices: Vec<&[u8]> = sources.iter().map(|source| source.bytes().as_ref()).collect();
        match self.element_type.size() {
            1 => self.move_elements::<1>(&slices, positions, outside),
            2 => self.move_elements::<2>(&slices, positions, outside),
            4 => self.move_elements::<4>(&slices, positions, outside),
            8 => self.move_elements::<8>(&slices, positions, outside),
            _ => self.move_elements::<16>(&slices, positions, outside),
        }
    }

    /// Copies runs of adjacent elements of several tensors of the same element type; each item is (source, positions).
    /// If the result is empty, `runs` is not read.
    pub fn gather_runs(
        self,
        sources: &[&Tensor],
        runs: impl IntoIterator<Item = (usize, Range<usize>)>,
    ) -> Result<Tensor, TensorError> {
        self.copy_runs(sources, &mut runs.into_iter())
    }

    fn copy_runs(
        self,
        sources: &[&Tensor],
        runs: &mut dyn Iterator<Item = (usize, Range<usize>)>,
    ) -> Result<Tensor, TensorError> {
        let (element_type, len, deadline) = (self.element_type, self.len, self.deadline.clone());
        if let Some(other) = sources.iter().find(|source| source.element_type() != element_type) {
            return Err(TensorError::Storage(other.element_type()));
        }
        let mut left = len;
        let next = || {
            let (which, range) = if left > 0 { runs.next()? } else { return None };
            left = left.checked_sub(range.len())?;
            Some((sources.get(which)?, range))
        };
        let runs = std::iter::from_fn(next);
        if element_type == ElementType::String {
            let strings = runs.flat_map(|(source, range)| source.strings().get(range).unwrap_or(&[]));
            return self.strings(strings.cloned());
        }
        let size = element_type.size();
        let mut bytes = Vec::with_capacity(len * size);
        let mut unchecked = 0;
        for (source, range) in runs {
            unchecked += 1 + range.len();
            if unchecked > BLOCK {
                unchecked = 0;
                if deadline.is_over() {
                    return Err(TensorError::Deadline);
                }
            }
            let range = range.start.saturating_mul(size)..range.end.saturating_mul(size);
            bytes.extend_from_slice(source.bytes().get(range).unwrap_or(&[]));
        }
        if bytes.len() != len * size {
            let (shape, found) = (self.shape, bytes.len() / size);
            return Err(TensorError::Length { element_type, shape, unit: "elements", expected: len, found });
        }
        self.bytes(bytes)
    }

    fn move_elements<const N: usize>(
        self,
        sources: &[&[u8]],
        positions: &mut dyn Source<(usize, usize)>,
        outside: TensorError,
    ) -> Result<Tensor, TensorError> {
        let sources: Vec<&[[u8; N]]> = sources.iter().map(|source| source.as_chunks::<N>().0).collect();
        let mut all_inside = true;
        let mut copy = |positions: &[(usize, usize)], bytes: &mut [u8]| {
            for (slot, (which, position)) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(positions) {
                match sources.get(*which).and_then(|source| source.get(*position)) {
                    Some(element) => *slot = *element,
                    None => all_inside = false,
                }
            }
        };
        let tensor = self.write(positions, &mut copy)?;
        if all_inside { Ok(tensor) } else { Err(outside) }
    }
}

impl Tensor {
    /// Creates a tensor of numbers, each rounded once. For values from outside a model run.
    pub fn of_floats(element: ElementType, shape: &[usize], values: &[f64]) -> Result<Tensor, TensorError> {
        TensorBuilder::for_values(element, shape, values.len())?.floats(values.iter().copied())
    }

    /// Creates a tensor of integers, each wrapped. For values from outside a model run.
    pub fn of_integers(element: ElementType, shape: &[usize], values: &[i128]) -> Result<Tensor, TensorError> {
        TensorBuilder::for_values(element, shape, values.len())?.integers(values.iter().copied())
    }

    /// One zero, or one empty string: the padding value of operators.
    pub fn zero(element: ElementType) -> Result<Tensor, TensorError> {
        match element {
            ElementType::String => Tensor::of_strings(&[1], &[""]),
            _ => Tensor::of_integers(element, &[1], &[0]),
        }
    }

    /// Creates a tensor of strings. For values from outside a model run.
    pub fn of_strings(shape: &[usize], values: &[&str]) -> Result<Tensor, TensorError> {
        Tensor::from_strings(shape.to_vec(), values.iter().map(|&text| Arc::from(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn too_few_and_too_many_elements_are_refused() {
        for count in [0, 1, 3] {
            let buffer = TensorBuilder::unlimited(ElementType::Float, vec![2]).unwrap();
            assert!(buffer.floats((0..count).map(f64::from)).is_err(), "{count} elements were taken for 2");
        }
    }

    #[test]
    fn moved_elements_keep_their_bits() {
        let nan = f32::from_bits(0x7fc0_1234);
        let bytes: Vec<u8> = [1.0f32, nan].iter().flat_map(|v| v.to_le_bytes()).collect();
        let source = Tensor::from_bytes(ElementType::Float, vec![2], bytes.into()).unwrap();
        let moved = TensorBuilder::unlimited(ElementType::Float, vec![3]).unwrap().gather(&source, [1, 0, 1]).unwrap();
        assert_eq!(moved.bits_at(0), 0x7fc0_1234);
        assert_eq!(moved.bits_at(2), 0x7fc0_1234);
    }

    #[test]
    fn runs_fill_the_tensor_exactly() {
        let source = Tensor::of_floats(ElementType::Float, &[4], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let text = Tensor::of_strings(&[4], &["a", "b", "c", "d"]).unwrap();
        let take = |tensor: &Tensor, runs: &[(usize, Range<usize>)]| {
            let buffer = TensorBuilder::unlimited(tensor.element_type(), vec![3]).unwrap();
            buffer.gather_runs(&[tensor], runs.iter().cloned())
        };
        assert_eq!(take(&source, &[(0, 2..4), (0, 0..1)]).unwrap().floats(), [3.0, 4.0, 1.0]);
        assert_eq!(take(&text, &[(0, 1..2), (0, 0..2)]).unwrap().strings(), ["b", "a", "b"].map(Arc::<str>::from));
        for runs in [[(0, 0..1), (0, 0..1)], [(0, 0..3), (1, 0..0)], [(0, 0..2), (0, 3..5)], [(0, 0..2), (0, 0..2)]] {
            let fits = runs == [(0, 0..3), (1, 0..0)];
            assert_eq!(take(&source, &runs).is_ok(), fits, "{runs:?}");
            assert_eq!(take(&text, &runs).is_ok(), fits, "{runs:?}");
        }
        let empty = TensorBuilder::unlimited(ElementType::Float, vec![0]).unwrap();
        assert!(empty.gather_runs(&[&source], std::iter::repeat((0, 0..1))).unwrap().is_empty());
    }

    #[test]
    fn a_position_outside_the_source_is_refused() {
        let source = Tensor::of_floats(ElementType::Float, &[2], &[1.0, 2.0]).unwrap();
        assert!(TensorBuilder::unlimited(ElementType::Float, vec![1]).unwrap().gather(&source, [2]).is_err());
    }

    #[test]
    fn reserved_bytes_are_released_with_the_last_tensor() {
        let in_use = Arc::new(AtomicUsize::new(0));
        let reservation = Reservation::new(8, &in_use, 8).unwrap();
        assert!(Reservation::new(1, &in_use, 8).is_none());
        let buffer = TensorBuilder::new(ElementType::Double, vec![1], reservation, Deadline::never()).unwrap();
        let tensor = buffer.floats([1.0]).unwrap();
        let copy = tensor.clone();
        drop(tensor);
        assert_eq!(in_use.load(Ordering::Relaxed), 8);
        drop(copy);
        assert_eq!(in_use.load(Ordering::Relaxed), 0);
    }
}
