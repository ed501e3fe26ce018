//! A case as the files of an ordinary ONNX test folder.

use onnx_conformance_reference::proto::encode;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, Expected};

/// The files of a case's test folder, by their path in it: the model, each data set's inputs and, as far as an output is
/// one value, outputs. `bound_N.pb` stands beside an output that has a bound for each element.
///
/// Data that the model keeps in other files is not among them: it lies in [`Case::folder`].
pub fn files(case: &Case) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("model.onnx".to_owned(), case.model.to_vec())];
    for (set, data) in case.data.iter().enumerate() {
        let mut add = |name: String, value: &Value, of: &str| {
            files.push((format!("test_data_set_{set}/{name}.pb"), encode::value(value, of)));
        };
        for (number, input) in data.inputs.iter().enumerate() {
            add(format!("input_{number}"), &input.value, &input.name);
        }
        for (number, output) in data.outputs.iter().enumerate() {
            match stored(&output.expected) {
                Some(Stored::Value(value)) => add(format!("output_{number}"), &value, &output.name),
                Some(Stored::Bounded(value, bound)) => {
                    add(format!("output_{number}"), &Value::Tensor(value), &output.name);
                    add(format!("bound_{number}"), &Value::Tensor(bound), &output.name);
                }
                None => {}
            }
        }
    }
    files
}

/// An output as values that can be stored.
enum Stored {
    Value(Value),
    Bounded(Tensor, Tensor),
}

/// What is stored of an expectation; nothing where any value of a type will do. Of several allowed values it is the first.
fn stored(expected: &Expected) -> Option<Stored> {
    match expected {
        Expected::Value(value, _) | Expected::Set(value) => Some(Stored::Value(value.clone())),
        Expected::PermutedAlongAxis(tensor, _) => Some(Stored::Value(Value::Tensor(tensor.clone()))),
        Expected::Bounded(tensor, bound) => Some(Stored::Bounded(tensor.clone(), bound.clone())),
        Expected::AnyOf(values) => values.first().cloned().map(Stored::Value),
        Expected::SameMeanAs(sample) => Some(Stored::Value(Value::Tensor(sample.clone()))),
        Expected::Unspecified(..)
        | Expected::SampledFrom { .. }
        | Expected::DropoutOf { .. }
        | Expected::Mask { .. } => None,
    }
}
