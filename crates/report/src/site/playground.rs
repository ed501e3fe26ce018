//! Inputs of a model as text that readers can edit, and values as text.

use onnx_conformance_cases::case::Named;
use onnx_conformance_reference::model::text::{TextError, parse_model, print_name};
use onnx_conformance_reference::proto::decode::{self, DecodeError};
use onnx_conformance_reference::value::Value;

use crate::describe_case::shown;
use crate::site::onnx_text::tensor_text;

/// Formats inputs in ONNX's text syntax, one per line: `float[2] x = {1.0, 2.0},`. Returns `None` if one is not a tensor, is too
/// long, or would not parse back.
pub(crate) fn inputs_text(inputs: &[Named]) -> Option<String> {
    let line = |input: &Named| {
        let Value::Tensor(tensor) = &input.value else { return None };
        let text = tensor_text(tensor)?;
        let (declared, values) = text.split_once(" {")?;
        Some(format!("{declared} {} = {{{values}", print_name(&input.name)))
    };
    let text = inputs.iter().map(line).collect::<Option<Vec<_>>>()?.join(",\n");
    let read = read_inputs(&text).ok()?;
    let is_same = |(a, b): (&Named, &Named)| a.name == b.name && a.value == b.value;
    (read.len() == inputs.len() && read.iter().zip(inputs).all(is_same)).then_some(text)
}

/// Reason why a text does not describe inputs.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// The text is malformed. The error names the position.
    #[error(transparent)]
    Syntax(#[from] TextError),
    /// An input is declared without values.
    #[error("'{name}' has no values; write for example float[2] {name} = {{1, 2}}")]
    NoValues {
        /// The input.
        name: String,
    },
    /// The values do not fit the type and shape.
    #[error(transparent)]
    Values(#[from] DecodeError),
}

/// Parses the text that `inputs_text` writes.
pub fn read_inputs(text: &str) -> Result<Vec<Named>, InputsError> {
    // Parsed as initializers of a graph, with nothing else on their lines.
    let model = format!(
        "<ir_version: 10, opset_import: [\"\" : 1]> inputs () => () <{}\n> {{}}",
        text.trim_end().trim_end_matches(',')
    );
    let model = parse_model(&model)?;
    let graph = model.graph.unwrap_or_default();
    if let Some(value) = graph.value_info.first() {
        return Err(InputsError::NoValues { name: value.name().to_owned() });
    }
    let named = |tensor: &onnx_conformance_reference::proto::TensorProto| {
        let value = decode::tensor(tensor, &decode::NoExternalData)?;
        Ok(Named { name: tensor.name().to_owned(), value: Value::Tensor(value) })
    };
    graph.initializer.iter().map(named).collect()
}

/// Formats a value: a short tensor in ONNX's text syntax.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => tensor_text(tensor).unwrap_or_else(|| shown(value)),
        _ => shown(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_read_back() {
        let text =
            "float[2,2] x = {1.0, -0.0, inf, nan},\nint64 n = {-3},\nstring[1] s = {\"a\\\"b\"},\nbool[2] b = {1, 0}";
        let inputs = read_inputs(text).unwrap();
        assert_eq!(inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["x", "n", "s", "b"]);
        let written = inputs_text(&inputs).unwrap();
        assert_eq!(inputs_text(&read_inputs(&written).unwrap()), Some(written));
        assert!(read_inputs("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("float[2] x", "'x' has no values"),
            ("float[2] x = {1}", "does not match the 1 values"),
            ("float[2] x = {1, 2}> {} <", "expected"),
            ("flot[2] x = {1, 2}", ""),
        ] {
            let error = read_inputs(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
