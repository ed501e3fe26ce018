//! Tensors of Rust's numbers, and walks over shapes, compared with indices computed one by one.

use half::{bf16, f16};
use onnx_conformance_reference::tensor::index::{StridedIter, for_each_index};
use onnx_conformance_reference::tensor::shape::{broadcast, element_count, strides};
use onnx_conformance_reference::tensor::{Native, Tensor};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::config;

/// Generates a shape of up to 5 axes with up to 4 elements each.
fn shape() -> impl Strategy<Value = Vec<usize>> {
    vec(0_usize..5, 0..6)
}

/// Generates a shape, and one that broadcasts to it: some leading axes are removed, and some others are 1.
fn broadcasting() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    (shape(), 0_usize..6, any::<u8>()).prop_map(|(target, left_out, ones)| {
        let kept = target.iter().enumerate().skip(left_out);
        let source = kept.map(|(axis, &dim)| if ones >> axis & 1 == 1 { 1 } else { dim }).collect();
        (source, target)
    })
}

/// Generates a shape and a permutation of its axes.
fn permuted() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    shape().prop_flat_map(|shape| {
        let axes: Vec<usize> = (0..shape.len()).collect();
        (Just(shape), Just(axes).prop_shuffle())
    })
}

/// Computes the index of an element of a shape, by division.
fn index_of(shape: &[usize], position: usize) -> Vec<usize> {
    strides(shape).iter().zip(shape).map(|(stride, dim)| position / stride % dim).collect()
}

/// Computes the position of the element at an index.
fn position_of(shape: &[usize], index: &[usize]) -> usize {
    strides(shape).iter().zip(index).map(|(stride, index)| stride * index).sum()
}

/// Checks that a tensor of these numbers has them and their bytes in any shape, and returns them one by one.
fn check<T: Native + bytemuck::AnyBitPattern>(values: &[T], bytes: &[u8], floats: &[f64]) -> Result<(), TestCaseError> {
    let tensor = Tensor::from_vec(vec![1, values.len()], values.to_vec()).unwrap();
    prop_assert_eq!(tensor.bytes(), bytes);
    let copied = Tensor::from_vec(vec![values.len()], tensor.to_vec::<T>().unwrap()).unwrap();
    prop_assert_eq!(copied.bytes(), bytes);
    prop_assert_eq!(&copied, &tensor.with_shape(vec![values.len()]).unwrap());
    prop_assert!(copied.as_slice::<T>().is_none_or(|slice| slice.len() == values.len()));
    let elements = tensor.elements();
    for (index, value) in floats.iter().enumerate() {
        let found = elements.float(index);
        prop_assert!(found.to_bits() == value.to_bits() || found.is_nan() && value.is_nan(), "{found:e} at {index}");
    }
    Ok(())
}

/// Calls [`check`] with each type whose numbers can be made from bits.
macro_rules! check_all {
    ($bits:expr, $($unsigned:ty => $number:ty, $of:expr, $wide:expr;)*) => {$(
        let values: Vec<$number> = $bits.iter().map(|&bits| $of(bits as $unsigned)).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let floats: Vec<f64> = values.iter().map(|&value| $wide(value)).collect();
        check(&values, &bytes, &floats)?;
    )*};
}

proptest! {
    #![proptest_config(config())]

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "the lower bits are as good as any")]
    fn numbers_come_back_as_they_were(bits in vec(any::<u64>(), 0..20)) {
        check_all! {
            bits,
            u8 => u8, |bits| bits, f64::from;
            u8 => i8, u8::cast_signed, f64::from;
            u16 => u16, |bits| bits, f64::from;
            u16 => i16, u16::cast_signed, f64::from;
            u16 => f16, f16::from_bits, f16::to_f64;
            u16 => bf16, bf16::from_bits, bf16::to_f64;
            u32 => u32, |bits| bits, f64::from;
            u32 => i32, u32::cast_signed, f64::from;
            u32 => f32, f32::from_bits, f64::from;
            u64 => u64, |bits| bits, |value| value as f64;
            u64 => i64, u64::cast_signed, |value| value as f64;
            u64 => f64, f64::from_bits, |value| value;
        }
    }

    #[test]
    fn a_broadcast_walk_ignores_repeated_axes((source, target) in broadcasting()) {
        prop_assert_eq!(broadcast(&source, &target), Ok(target.clone()));
        prop_assert_eq!(broadcast(&target, &source), Ok(target.clone()));
        let lead = target.len() - source.len();
        let naive = |position| {
            let index = index_of(&target, position);
            let own: Vec<usize> = index[lead..].iter().zip(&source).map(|(at, &dim)| if dim == 1 { 0 } else { *at }).collect();
            position_of(&source, &own)
        };
        let expected: Vec<usize> = (0..element_count(&target).unwrap()).map(naive).collect();
        prop_assert_eq!(StridedIter::broadcast(&source, &target).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_transposed_walk_is_at_the_index_with_its_axes_back((shape, order) in permuted()) {
        let target: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let naive = |position| {
            let index = index_of(&target, position);
            let mut own = vec![0; shape.len()];
            order.iter().zip(index).for_each(|(&axis, at)| own[axis] = at);
            position_of(&shape, &own)
        };
        let expected: Vec<usize> = (0..element_count(&target).unwrap()).map(naive).collect();
        prop_assert_eq!(StridedIter::transposed(&shape, &order).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn skipping_equals_visiting(
        axes in vec((1_usize..5, -40_isize..40), 0..5),
        taken in 0_usize..9,
        skipped in 0_usize..40,
        step in 1_usize..9,
    ) {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        let walk = || StridedIter::new(&shape, &strides, 1000);
        let visited: Vec<usize> = walk().collect();
        let mut some = walk();
        prop_assert_eq!(some.by_ref().take(taken).count(), taken.min(visited.len()));
        let rest: Vec<usize> = some.skip(skipped).step_by(step).collect();
        let expected: Vec<usize> = visited.into_iter().skip(taken).skip(skipped).step_by(step).collect();
        prop_assert_eq!(rest, expected);
    }

    #[test]
    fn every_index_is_visited_in_order(shape in shape()) {
        let mut visited = Vec::new();
        let walk = for_each_index::<()>(&shape, |index| {
            visited.push(index.to_vec());
            Ok(())
        });
        prop_assert_eq!(walk, Ok(()));
        let expected: Vec<Vec<usize>> =
            (0..element_count(&shape).unwrap()).map(|position| index_of(&shape, position)).collect();
        prop_assert_eq!(visited, expected);
    }
}
