//! Values of the usual types and ranks, and their changes on the way through a runtime.

use std::sync::Arc;

use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Optional, Sequence, Value};

use crate::smoke::model::{Probe, same};

/// Element types of the usual models.
const TYPES: [ElementType; 14] = [
    ElementType::Float,
    ElementType::Float16,
    ElementType::Double,
    ElementType::Bfloat16,
    ElementType::Int8,
    ElementType::Int16,
    ElementType::Int32,
    ElementType::Int64,
    ElementType::Uint8,
    ElementType::Uint16,
    ElementType::Uint32,
    ElementType::Uint64,
    ElementType::Bool,
    ElementType::String,
];

/// Shapes with their names, which do not depend on the type.
const RANKS: [(&str, &[usize]); 7] = [
    ("a scalar", &[]),
    ("an empty tensor", &[0]),
    ("rank 1", &[3]),
    ("rank 2", &[1, 3]),
    ("rank 3", &[2, 1, 3]),
    ("rank 4", &[1, 2, 1, 3]),
    ("rank 5", &[1, 1, 2, 1, 3]),
];

/// A value to pass through `Identity`, with the name of its type or rank.
pub(super) struct UsualValue {
    pub(super) name: String,
    pub(super) probe: Probe,
}

/// Returns a value of each usual type, and of each rank in two types.
pub(super) fn usual_values() -> Result<Vec<UsualValue>, TensorError> {
    let mut all = Vec::new();
    for element in TYPES {
        all.push(UsualValue {
            name: element.to_string(),
            probe: through_identity(13, tensor(element, &[2, 3])?.into()),
        });
    }
    let item_type = ValueType::Tensor(ElementType::Double);
    let item: Value = tensor(ElementType::Double, &[2])?.into();
    let sequence = Value::Sequence(Sequence::new(item_type.clone(), vec![item.clone()]));
    let optional = Value::Optional(Optional { item_type, item: Some(Arc::new(item)) });
    for (opset, value) in [(14, sequence), (16, optional)] {
        all.push(UsualValue { name: value.value_type().to_string(), probe: through_identity(opset, value) });
    }
    for element in [ElementType::Float, ElementType::Int64] {
        for (name, shape) in RANKS {
            all.push(UsualValue { name: name.to_owned(), probe: through_identity(13, tensor(element, shape)?.into()) });
        }
    }
    Ok(all)
}

fn through_identity(opset: u32, value: Value) -> Probe {
    same("a value of a usual type and rank", opset, value)
}

/// Creates a tensor of small values.
fn tensor(element: ElementType, shape: &[usize]) -> Result<Tensor, TensorError> {
    let count: usize = shape.iter().product();
    match element.kind() {
        Kind::Float => {
            let values: Vec<f64> = [0.0, 1.0, -2.0, 0.5, 3.0, -1.5].into_iter().cycle().take(count).collect();
            Tensor::of_floats(element, shape, &values)
        }
        Kind::String => {
            let values: Vec<&str> = ["a", "", "caf\u{e9}"].into_iter().cycle().take(count).collect();
            Tensor::of_strings(shape, &values)
        }
        _ => {
            let values: Vec<i128> = [0, 1, 1].into_iter().cycle().take(count).collect();
            Tensor::of_integers(element, shape, &values)
        }
    }
}

/// Describes the change of a value, or returns `None` if it is the same.
pub(super) fn change(expected: &[Value], actual: &[Value]) -> Option<String> {
    let ([expected], [actual]) = (expected, actual) else {
        return Some(format!("came back as {} outputs", actual.len()));
    };
    if expected == actual {
        return None;
    }
    let shape = |value: &Value| value.as_tensor().map(|tensor| tensor.shape().to_vec());
    Some(match actual.value_type() {
        ValueType::Tensor(element) if expected.value_type() != actual.value_type() => format!("came back as {element}"),
        other if expected.value_type() != other => format!("came back as {other}"),
        _ => match shape(actual).filter(|found| Some(found) != shape(expected).as_ref()) {
            Some(found) => format!("came back as {found:?}"),
            None => "came back with other values".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_of_type_shape_or_values() {
        let floats = |shape: &[usize], values: &[f64]| {
            Value::from(Tensor::of_floats(ElementType::Float, shape, values).unwrap())
        };
        let integers = Value::from(Tensor::of_integers(ElementType::Int64, &[], &[1]).unwrap());
        let check = |actual: &[Value], text: Option<&str>| {
            assert_eq!(change(&[floats(&[], &[1.0])], actual).as_deref(), text);
        };
        check(&[floats(&[], &[1.0])], None);
        check(&[floats(&[1], &[1.0])], Some("came back as [1]"));
        check(&[floats(&[], &[2.0])], Some("came back with other values"));
        check(&[integers], Some("came back as int64"));
        check(&[], Some("came back as 0 outputs"));
    }
}
