//! Special values in the data of a case.

use std::collections::BTreeSet;

use onnx_conformance_cases::case::Expected;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::coverage::item::CoverageKind;

/// Returns the tensors of a value: the tensor itself, or the tensors of its items and contents.
pub(super) fn tensors(value: &Value) -> Vec<&Tensor> {
    match value {
        Value::Tensor(tensor) => vec![tensor],
        Value::Sparse(sparse) => vec![&sparse.values],
        Value::Sequence(sequence) => sequence.items.iter().flat_map(tensors).collect(),
        Value::Optional(optional) => optional.item.iter().flat_map(|item| tensors(item)).collect(),
        Value::Map(map) => map.entries.values().flat_map(tensors).collect(),
    }
}

/// Returns the kinds of special values in a float tensor.
pub(super) fn special_floats(tensor: &Tensor) -> BTreeSet<CoverageKind> {
    let element = tensor.element_type();
    if !element.is_float() {
        return BTreeSet::new();
    }
    let smallest = smallest_normal(element);
    let of = |value: f64| match value {
        _ if value.is_nan() => Some(CoverageKind::NotANumber),
        f64::INFINITY => Some(CoverageKind::PositiveInfinity),
        f64::NEG_INFINITY => Some(CoverageKind::NegativeInfinity),
        0.0 => value.is_sign_negative().then_some(CoverageKind::NegativeZero),
        _ => (value.abs() < smallest).then_some(CoverageKind::Subnormal),
    };
    tensor.floats().into_iter().filter_map(of).collect()
}

/// Returns the smallest positive number with full precision.
fn smallest_normal(element: ElementType) -> f64 {
    element.float_format().map_or(0.0, |format| libm::ldexp(1.0, 1 - format.bias))
}

/// Returns the extremes of its type that an integer tensor contains.
pub(super) fn extreme_integers(tensor: &Tensor) -> BTreeSet<CoverageKind> {
    let element = tensor.element_type();
    if !element.is_integer() {
        return BTreeSet::new();
    }
    let of = |value: i128| match Some(value) {
        value if value == element.min_value() => Some(CoverageKind::Smallest),
        value if value == element.max_value() => Some(CoverageKind::Largest),
        _ => None,
    };
    tensor.integers().into_iter().filter_map(of).collect()
}

/// Returns true if an expected output contains an infinity.
pub(super) fn expects_infinity(expected: &Expected) -> bool {
    let is_infinite =
        |tensor: &Tensor| tensor.element_type().is_float() && tensor.floats().iter().any(|value| value.is_infinite());
    match expected {
        Expected::Value(value, _) | Expected::Set(value) => tensors(value).into_iter().any(is_infinite),
        Expected::PermutedAlongAxis(tensor, _) => is_infinite(tensor),
        Expected::AnyOf(values) => values.iter().flat_map(tensors).any(is_infinite),
        Expected::Unspecified(..)
        | Expected::SampledFrom { .. }
        | Expected::SameMeanAs(_)
        | Expected::DropoutOf { .. }
        | Expected::Mask { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_special_number_is_seen() {
        let check = |element, value: f64, expected: Option<CoverageKind>| {
            let tensor = Tensor::of_floats(element, &[1], &[value]).unwrap();
            assert_eq!(special_floats(&tensor), expected.into_iter().collect(), "{value}");
        };
        check(ElementType::Float, f64::NAN, Some(CoverageKind::NotANumber));
        check(ElementType::Float, f64::INFINITY, Some(CoverageKind::PositiveInfinity));
        check(ElementType::Float, f64::NEG_INFINITY, Some(CoverageKind::NegativeInfinity));
        check(ElementType::Float, -0.0, Some(CoverageKind::NegativeZero));
        check(ElementType::Float, 0.0, None);
        check(ElementType::Float, 1e-40, Some(CoverageKind::Subnormal));
        check(ElementType::Float, f64::from(f32::MIN_POSITIVE), None);
        check(ElementType::Double, f64::MIN_POSITIVE, None);
        check(ElementType::Double, f64::MIN_POSITIVE / 2.0, Some(CoverageKind::Subnormal));
        check(ElementType::Float16, 1e-5, Some(CoverageKind::Subnormal));
    }

    #[test]
    fn the_ends_of_an_integer_type_are_seen() {
        let tensor = Tensor::of_integers(ElementType::Int8, &[3], &[-128, 0, 126]).unwrap();
        assert_eq!(extreme_integers(&tensor), [CoverageKind::Smallest].into());
        let tensor = Tensor::of_integers(ElementType::Uint4, &[2], &[1, 15]).unwrap();
        assert_eq!(extreme_integers(&tensor), [CoverageKind::Largest].into());
    }
}
