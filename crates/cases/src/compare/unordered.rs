//! Comparing slices, items and elements of lanes in any order.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_reference::dtype::Kind;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::compare::distance::Distance;
use crate::compare::rule::Accuracy;
use crate::compare::values::{Difference, DifferenceKind, compare, different};

/// Checks that the slices along the first axis of two tensors of the same shape, or the items of two sequences, are
/// equal in some order. Scalars and other values are compared directly.
pub fn same_set(expected: &Value, actual: &Value) -> Result<(), Difference> {
    match (expected, actual) {
        (Value::Tensor(expected), Value::Tensor(actual)) => {
            let rows = expected.shape().first().copied().unwrap_or(1);
            let width = expected.len().checked_div(rows).unwrap_or(0);
            let slices = |tensor| -> Vec<Vec<Element>> {
                let all = elements(tensor);
                (0..rows).map(|row| all.iter().skip(row * width).take(width).cloned().collect()).collect()
            };
            same_counts(slices(expected), slices(actual), "slice")
        }
        (Value::Sequence(expected), Value::Sequence(actual)) => {
            let (want, got) = (expected.items.len(), actual.items.len());
            if want != got {
                return Err(different(DifferenceKind::Shape, format!("expected {want} items, got {got}")));
            }
            let mut left: Vec<&Value> = actual.items.iter().collect();
            for (at, item) in expected.items.iter().enumerate() {
                let found = left.iter().position(|other| compare(item, other, &Accuracy::Exact).is_ok());
                let Some(found) = found else {
                    return Err(different(
                        DifferenceKind::Values(Distance::Far),
                        format!("expected item {at} is missing"),
                    ));
                };
                left.swap_remove(found);
            }
            Ok(())
        }
        _ => compare(expected, actual, &Accuracy::Exact).map(|_| ()),
    }
}

/// Checks that the elements of each lane along an axis of two tensors of the same shape are equal in some order.
pub fn same_lanes(expected: &Tensor, axis: i64, actual: &Value) -> Result<(), Difference> {
    let Some(actual) = actual.as_tensor() else {
        return Err(different(DifferenceKind::Type, format!("expected a tensor, got {}", actual.value_type())));
    };
    let shape = expected.shape();
    let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
    let axis = usize::try_from(if axis < 0 { axis + rank } else { axis }).ok();
    let Some((axis, size)) = axis.and_then(|axis| Some((axis, *shape.get(axis)?))) else {
        return Err(different(DifferenceKind::Shape, format!("shape {shape:?} has no such axis")));
    };
    let inner: usize = shape.iter().skip(axis + 1).product();
    let lanes = |tensor: &Tensor| -> BTreeMap<usize, Vec<Element>> {
        let mut lanes: BTreeMap<usize, Vec<Element>> = BTreeMap::new();
        for (at, element) in elements(tensor).into_iter().enumerate() {
            let lane = at / (inner * size).max(1) * inner + at % inner.max(1);
            lanes.entry(lane).or_default().push(element);
        }
        lanes
    };
    let (wants, gots) = (lanes(expected), lanes(actual));
    wants.into_iter().zip(gots).try_for_each(|((lane, want), (_, got))| {
        same_counts(want, got, "element")
            .map_err(|difference| Difference { message: format!("lane {lane}: {}", difference.message), ..difference })
    })
}

/// An element for exact comparison: all NaNs are equal, and so are zeros of both signs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Element {
    Integer(i128),
    Float(u64),
    Pair(u64, u64),
    Text(String),
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Integer(value) => write!(f, "{value}"),
            Element::Float(bits) => write!(f, "{}", f64::from_bits(*bits)),
            Element::Pair(re, im) => write!(f, "{} + {}i", f64::from_bits(*re), f64::from_bits(*im)),
            Element::Text(text) => write!(f, "'{text}'"),
        }
    }
}

fn elements(tensor: &Tensor) -> Vec<Element> {
    let bits = |value: f64| match value {
        value if value.is_nan() => f64::NAN.to_bits(),
        0.0 => 0.0f64.to_bits(),
        value => value.to_bits(),
    };
    match tensor.element_type().kind() {
        Kind::String => tensor.strings().iter().map(|text| Element::Text(text.to_string())).collect(),
        Kind::Float => tensor.floats().into_iter().map(|value| Element::Float(bits(value))).collect(),
        Kind::Complex => tensor.complexes().iter().map(|value| Element::Pair(bits(value.re), bits(value.im))).collect(),
        Kind::Bool => tensor.bools().iter().map(|value| Element::Integer(i128::from(*value))).collect(),
        Kind::Signed | Kind::Unsigned => tensor.integers().into_iter().map(Element::Integer).collect(),
    }
}

fn same_counts<T: Ord + fmt::Debug>(expected: Vec<T>, actual: Vec<T>, what: &str) -> Result<(), Difference> {
    let count = |all: Vec<T>| {
        let mut counts: BTreeMap<T, usize> = BTreeMap::new();
        for one in all {
            *counts.entry(one).or_default() += 1;
        }
        counts
    };
    let (wants, gots) = (count(expected), count(actual));
    for (one, want) in &wants {
        let got = gots.get(one).copied().unwrap_or(0);
        if got < *want {
            let message = format!("expected the {what} {one:?} {want} times, found it {got} times");
            return Err(different(DifferenceKind::Values(Distance::Far), message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::dtype::ElementType;

    use super::*;

    fn matrix(values: &[f64]) -> Tensor {
        Tensor::of_floats(ElementType::Float, &[values.len() / 2, 2], values).unwrap()
    }

    #[test]
    fn rows_may_come_in_any_order_but_stay_whole() {
        let set = |a: &[f64], b: &[f64]| same_set(&Value::Tensor(matrix(a)), &Value::Tensor(matrix(b)));
        assert!(set(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 1.0, 2.0]).is_ok());
        assert!(set(&[1.0, 2.0, 3.0, 4.0], &[3.0, 2.0, 1.0, 4.0]).is_err());
        assert!(set(&[1.0, 2.0, 1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0, 3.0, 4.0]).is_err());
        assert!(set(&[f64::NAN, -0.0], &[f64::NAN, 0.0]).is_ok());
    }

    #[test]
    fn elements_stay_in_their_lane() {
        let lanes = |axis, a: &[f64], b: &[f64]| same_lanes(&matrix(a), axis, &Value::Tensor(matrix(b)));
        for axis in [1, -1] {
            assert!(lanes(axis, &[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).is_ok());
            assert!(lanes(axis, &[1.0, 2.0, 3.0, 4.0], &[3.0, 2.0, 1.0, 4.0]).is_err());
        }
        assert!(lanes(0, &[1.0, 2.0, 3.0, 4.0], &[3.0, 2.0, 1.0, 4.0]).is_ok());
        assert!(lanes(0, &[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).is_err());
        assert!(lanes(2, &[1.0, 2.0], &[1.0, 2.0]).is_err());
    }
}
