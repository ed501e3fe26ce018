//! Models in ONNX's text syntax, and nodes as calls of `helper.make_node`. Returns `None` for anything the syntax cannot express.

use std::fmt::Write as _;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::{print_model, print_tensor};
use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType as Kind;
use onnx_conformance_reference::proto::{AttributeProto, ModelProto, NodeProto, Text, decode};
use onnx_conformance_reference::tensor::Tensor;

/// Maximum number of tensor elements in a text.
const MAX_ELEMENTS: usize = 64;

/// Returns the model as text without the names of its producer; `None` if the syntax cannot express it.
pub(crate) fn model(model: &ModelProto) -> Option<String> {
    let plain = ModelProto {
        ir_version: model.ir_version,
        opset_import: model.opset_import.clone(),
        graph: model.graph.clone(),
        functions: model.functions.clone(),
        ..ModelProto::default()
    };
    print_model(&plain, MAX_ELEMENTS).ok()
}

/// Formats a tensor with its values, `float[2] {1.0, 2.0}`; `None` if it has too many elements.
pub(super) fn tensor_text(tensor: &Tensor) -> Option<String> {
    print_tensor(tensor, MAX_ELEMENTS).ok()
}

fn element(tensor: &Tensor, index: usize) -> String {
    let mut text = String::new();
    let _ = tensor.write_element(&mut text, index);
    match text.as_str() {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        "NaN" => "nan".to_owned(),
        _ => text,
    }
}

fn float(value: f32) -> Option<String> {
    value.is_finite().then(|| format!("{value:?}"))
}

/// Formats a node as `helper.make_node("Conv", ["X", "W"], ["Y"], group=2)`; `None` if it has a graph, or attributes other than
/// numbers and text.
pub(crate) fn make_node(node: &NodeProto) -> Option<String> {
    let names =
        |names: &[Text]| format!("[{}]", names.iter().map(|name| python_string(name)).collect::<Vec<_>>().join(", "));
    let mut text =
        format!("helper.make_node({}, {}, {}", python_string(node.op_type()), names(&node.input), names(&node.output));
    for attribute in &node.attribute {
        let _ = write!(text, ", {}={}", attribute.name(), python_value(attribute)?);
    }
    if !node.domain().is_empty() {
        let _ = write!(text, ", domain={}", python_string(node.domain()));
    }
    text.push(')');
    Some(text)
}

fn python_value(attribute: &AttributeProto) -> Option<String> {
    let list = |items: Vec<String>| (!items.is_empty()).then(|| format!("[{}]", items.join(", ")));
    let string = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(python_string);
    match attribute.r#type() {
        Kind::Int => Some(attribute.i().to_string()),
        Kind::Float => float(attribute.f()),
        Kind::String => string(attribute.s()),
        Kind::Ints => list(attribute.ints.iter().map(ToString::to_string).collect()),
        Kind::Floats => list(attribute.floats.iter().map(|value| float(*value)).collect::<Option<_>>()?),
        Kind::Strings => list(attribute.strings.iter().map(|value| string(value)).collect::<Option<_>>()?),
        Kind::Tensor => {
            let tensor = decode::tensor(attribute.t.as_deref()?, &decode::NoExternalData).ok()?;
            let is_plain = tensor.element_type().bits() >= 8 && tensor.len() <= MAX_ELEMENTS;
            let code = attribute.t.as_deref()?.data_type();
            let dims: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
            let values = python_elements(&tensor).filter(|_| is_plain)?;
            Some(format!("helper.make_tensor(\"t\", {code}, [{}], [{values}])", dims.join(", ")))
        }
        _ => None,
    }
}

/// Formats the elements of a tensor as Python literals, if numpy has its type.
pub(crate) fn python_elements(tensor: &Tensor) -> Option<String> {
    if numpy_type(tensor.element_type()).is_none() || tensor.len() > MAX_ELEMENTS {
        return None;
    }
    let literal = |index: usize| {
        let text = element(tensor, index);
        match text.as_str() {
            "nan" | "-nan" => "np.nan".to_owned(),
            "inf" => "np.inf".to_owned(),
            "-inf" => "-np.inf".to_owned(),
            _ if tensor.element_type() == ElementType::String => {
                tensor.strings().get(index).map_or(text, |value| python_string(value))
            }
            _ => text.replace('i', "j"),
        }
    };
    Some((0..tensor.len()).map(literal).collect::<Vec<_>>().join(", "))
}

/// Returns the numpy type of an element type; `None` if numpy has none.
pub(crate) fn numpy_type(element: ElementType) -> Option<&'static str> {
    Some(match element {
        ElementType::Float => "np.float32",
        ElementType::Double => "np.float64",
        ElementType::Float16 => "np.float16",
        ElementType::Int8 => "np.int8",
        ElementType::Int16 => "np.int16",
        ElementType::Int32 => "np.int32",
        ElementType::Int64 => "np.int64",
        ElementType::Uint8 => "np.uint8",
        ElementType::Uint16 => "np.uint16",
        ElementType::Uint32 => "np.uint32",
        ElementType::Uint64 => "np.uint64",
        ElementType::Bool => "np.bool_",
        ElementType::String => "object",
        ElementType::Complex64 => "np.complex64",
        ElementType::Complex128 => "np.complex128",
        _ => return None,
    })
}

/// Formats a text as a Python literal. A JSON literal is valid Python.
pub(crate) fn python_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_reference::model::text::parse_model;

    #[test]
    fn a_node_is_a_call_in_python() {
        let model = parse_model(
            "<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] X) => (float[2] Y) { Y = LRN <size = 3, alpha = 0.5, t = \"a\"> (X) }",
        );
        let graph = model.unwrap().graph.unwrap();
        let expected = "helper.make_node(\"LRN\", [\"X\"], [\"Y\"], size=3, alpha=0.5, t=\"a\")";
        assert_eq!(make_node(&graph.node[0]).as_deref(), Some(expected));
    }
}
