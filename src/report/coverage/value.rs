//! What is special in the values of a case.

use std::collections::BTreeSet;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::Want;
use crate::report::coverage::goal::Aspect;

/// The tensors of a value: itself, its items, what it holds.
pub(super) fn tensors(value: &Value) -> Vec<&Tensor> {
    match value {
        Value::Tensor(tensor) => vec![tensor],
        Value::Sparse(sparse) => vec![&sparse.values],
        Value::Sequence(sequence) => sequence.items.iter().flat_map(tensors).collect(),
        Value::Optional(optional) => optional.item.iter().flat_map(|item| tensors(item)).collect(),
        Value::Map(map) => map.entries.values().flat_map(tensors).collect(),
    }
}

/// The special numbers of a tensor of floats.
pub(super) fn special_floats(tensor: &Tensor) -> BTreeSet<Aspect> {
    let element = tensor.element_type();
    if !element.is_float() {
        return BTreeSet::new();
    }
    let smallest = smallest_normal(element);
    let of = |value: f64| match value {
        _ if value.is_nan() => Some(Aspect::NotANumber),
        f64::INFINITY => Some(Aspect::PositiveInfinity),
        f64::NEG_INFINITY => Some(Aspect::NegativeInfinity),
        0.0 => value.is_sign_negative().then_some(Aspect::NegativeZero),
        _ => (value.abs() < smallest).then_some(Aspect::Subnormal),
    };
    tensor.floats().into_iter().filter_map(of).collect()
}

/// The smallest positive number that has its full precision.
fn smallest_normal(element: ElementType) -> f64 {
    element.float_format().map_or(0.0, |format| libm::ldexp(1.0, 1 - format.bias))
}

/// The extremes of its type that a tensor of integers holds.
pub(super) fn extreme_integers(tensor: &Tensor) -> BTreeSet<Aspect> {
    let element = tensor.element_type();
    if !element.is_integer() {
        return BTreeSet::new();
    }
    let of = |value: i128| match Some(value) {
        value if value == element.min_value() => Some(Aspect::Smallest),
        value if value == element.max_value() => Some(Aspect::Largest),
        _ => None,
    };
    tensor.integers().into_iter().filter_map(of).collect()
}

/// Whether an expected output holds an infinity.
pub(super) fn wants_infinity(want: &Want) -> bool {
    let is_infinite =
        |tensor: &Tensor| tensor.element_type().is_float() && tensor.floats().iter().any(|value| value.is_infinite());
    match want {
        Want::Value(value, _) | Want::Set(value) => tensors(value).into_iter().any(is_infinite),
        Want::Bounded(tensor, _) | Want::Lanes(tensor, _) => is_infinite(tensor),
        Want::AnyOf(values) => values.iter().flat_map(tensors).any(is_infinite),
        Want::Unspecified(..)
        | Want::Distributed { .. }
        | Want::Drawn(_)
        | Want::Dropped { .. }
        | Want::Mask { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_special_number_is_seen() {
        let check = |element, value: f64, expected: Option<Aspect>| {
            let tensor = Tensor::of_floats(element, &[1], &[value]).unwrap();
            assert_eq!(special_floats(&tensor), expected.into_iter().collect(), "{value}");
        };
        check(ElementType::Float, f64::NAN, Some(Aspect::NotANumber));
        check(ElementType::Float, f64::INFINITY, Some(Aspect::PositiveInfinity));
        check(ElementType::Float, f64::NEG_INFINITY, Some(Aspect::NegativeInfinity));
        check(ElementType::Float, -0.0, Some(Aspect::NegativeZero));
        check(ElementType::Float, 0.0, None);
        check(ElementType::Float, 1e-40, Some(Aspect::Subnormal));
        check(ElementType::Float, f64::from(f32::MIN_POSITIVE), None);
        check(ElementType::Double, f64::MIN_POSITIVE, None);
        check(ElementType::Double, f64::MIN_POSITIVE / 2.0, Some(Aspect::Subnormal));
        check(ElementType::Float16, 1e-5, Some(Aspect::Subnormal));
    }

    #[test]
    fn the_ends_of_an_integer_type_are_seen() {
        let tensor = Tensor::of_integers(ElementType::Int8, &[3], &[-128, 0, 126]).unwrap();
        assert_eq!(extreme_integers(&tensor), [Aspect::Smallest].into());
        let tensor = Tensor::of_integers(ElementType::Uint4, &[2], &[1, 15]).unwrap();
        assert_eq!(extreme_integers(&tensor), [Aspect::Largest].into());
    }
}
