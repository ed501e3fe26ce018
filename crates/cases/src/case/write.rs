//! Writing a case as an ordinary ONNX test folder.

use onnx_conformance_reference::proto::encode;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, Part};

/// Returns the files of a case's test folder, by their path in it: the model, and the inputs and outputs of each data
/// set. An output has a file if one value is expected; of several allowed values it holds the first. `bound_N.pb` holds
/// the bound of each element of output N.
///
/// External data of the model is not included; it stays in [`Case::folder`].
pub fn files(case: &Case) -> Vec<(String, Vec<u8>)> {
    let mut files = vec![("model.onnx".to_owned(), case.model.to_vec())];
    for (set, data) in case.data.iter().enumerate() {
        let mut add = |name: String, value: &Value, value_name: &str| {
            files.push((format!("test_data_set_{set}/{name}.pb"), encode::value(value, value_name)));
        };
        for (number, input) in data.inputs.iter().enumerate() {
            add(format!("input_{number}"), &input.value, &input.name);
        }
        for (number, output) in data.outputs.iter().enumerate() {
            for (part, value) in output.expected.parts() {
                match part {
                    Part::Output(0) => add(format!("output_{number}"), &value, &output.name),
                    Part::Bound => add(format!("bound_{number}"), &value, &output.name),
                    Part::Output(_) | Part::Law | Part::Source => {}
                }
            }
        }
    }
    files
}
