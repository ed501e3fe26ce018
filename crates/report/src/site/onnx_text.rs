//! Models in ONNX's text syntax, and nodes as calls of `helper.make_node`. Returns `None` for anything the syntax cannot express.

use std::fmt::Write as _;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::parse_model;
use onnx_conformance_reference::proto::onnx::attribute_proto::AttributeType as Kind;
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension::Value as Dim;
use onnx_conformance_reference::proto::onnx::type_proto::Value as Type;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, decode,
};
use onnx_conformance_reference::tensor::Tensor;

/// Maximum number of tensor elements in a text.
const MAX_ELEMENTS: usize = 64;

/// Returns the model as text, if the text parses back to the same nodes, inputs and outputs.
pub(crate) fn model(model: &ModelProto) -> Option<String> {
    let imports: Vec<String> =
        model.opset_import.iter().map(|import| format!("{:?} : {}", import.domain(), import.version())).collect();
    let mut text = format!("<ir_version: {}, opset_import: [{}]>\n", model.ir_version(), imports.join(", "));
    graph(&mut text, model.graph.as_ref().filter(|_| model.functions.is_empty())?, "")?;
    text.push('\n');
    let read = parse_model(&text).ok()?;
    is_same(read.graph.as_ref()?, model.graph.as_ref()?).then_some(text)
}

/// Returns true if two graphs have the same nodes, inputs and outputs. Tensors are compared after decoding.
fn is_same(a: &GraphProto, b: &GraphProto) -> bool {
    let names = |infos: &[ValueInfoProto]| infos.iter().map(|info| info.name().to_owned()).collect::<Vec<_>>();
    let types = |infos: &[ValueInfoProto]| infos.iter().map(|info| info.r#type.clone()).collect::<Vec<_>>();
    names(&a.input) == names(&b.input)
        && types(&a.input) == types(&b.input)
        && names(&a.output) == names(&b.output)
        && a.node.len() == b.node.len()
        && a.node.iter().zip(&b.node).all(|(a, b)| is_same_node(a, b))
}

fn is_same_node(a: &NodeProto, b: &NodeProto) -> bool {
    let same_attribute = |a: &AttributeProto| {
        let other = b.attribute.iter().find(|other| other.name() == a.name());
        other.is_some_and(|b| is_same_attribute(a, b))
    };
    (a.op_type(), a.domain(), &a.input, &a.output) == (b.op_type(), b.domain(), &b.input, &b.output)
        && a.attribute.len() == b.attribute.len()
        && a.attribute.iter().all(same_attribute)
}

fn is_same_attribute(a: &AttributeProto, b: &AttributeProto) -> bool {
    let bits = |floats: &[f32]| floats.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let tensor = |t: &Option<TensorProto>| t.as_ref().and_then(|t| decode::tensor(t, &decode::NoExternalData).ok());
    let same_tensor = || match (tensor(&a.t), tensor(&b.t)) {
        (Some(a), Some(b)) => {
            (a.element_type(), a.shape()) == (b.element_type(), b.shape())
                && (0..a.len()).all(|index| a.bits_at(index) == b.bits_at(index))
                && a.strings() == b.strings()
        }
        (None, None) => a.t.is_none() && b.t.is_none(),
        _ => false,
    };
    (a.r#type, a.i, &a.s, &a.ints, &a.strings, &a.tp) == (b.r#type, b.i, &b.s, &b.ints, &b.strings, &b.tp)
        && a.f.map(f32::to_bits) == b.f.map(f32::to_bits)
        && bits(&a.floats) == bits(&b.floats)
        && same_tensor()
        && match (&a.g, &b.g) {
            (Some(a), Some(b)) => is_same(a, b),
            (None, None) => true,
            _ => false,
        }
}

fn graph(text: &mut String, graph: &GraphProto, indent: &str) -> Option<()> {
    if !graph.initializer.is_empty() || !graph.sparse_initializer.is_empty() {
        return None;
    }
    let parameters = |infos: &[ValueInfoProto]| {
        let all: Option<Vec<String>> = infos.iter().map(parameter).collect();
        all.map(|all| all.join(", "))
    };
    let (inputs, outputs) = (parameters(&graph.input)?, parameters(&graph.output)?);
    let _ = writeln!(text, "{} ({inputs}) => ({outputs}) {{", name(graph.name()));
    for one in &graph.node {
        node(text, one, &format!("{indent}  "))?;
        text.push('\n');
    }
    let _ = write!(text, "{indent}}}");
    Some(())
}

fn node(text: &mut String, node: &NodeProto, indent: &str) -> Option<()> {
    let names = |names: &[String]| names.iter().map(|one| name(one)).collect::<Vec<_>>().join(", ");
    let domain = if node.domain().is_empty() { String::new() } else { format!("{}.", node.domain()) };
    let _ = write!(text, "{indent}{} = {domain}{}", names(&node.output), node.op_type());
    for (index, one) in node.attribute.iter().enumerate() {
        text.push_str(if index == 0 { " <" } else { ", " });
        attribute(text, one, indent)?;
    }
    text.push_str(if node.attribute.is_empty() { "" } else { ">" });
    let _ = write!(text, " ({})", names(&node.input));
    Some(())
}

fn attribute(text: &mut String, attribute: &AttributeProto, indent: &str) -> Option<()> {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let string = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(quoted);
    let value = match attribute.r#type() {
        _ if attribute.ref_attr_name.is_some() => return None,
        Kind::Int => attribute.i().to_string(),
        Kind::Float => float(attribute.f())?,
        Kind::String => string(attribute.s())?,
        Kind::Ints => list(attribute.ints.iter().map(ToString::to_string).collect()),
        Kind::Floats => list(attribute.floats.iter().map(|value| float(*value)).collect::<Option<_>>()?),
        Kind::Strings => list(attribute.strings.iter().map(|value| string(value)).collect::<Option<_>>()?),
        Kind::Tensor => tensor(attribute.t.as_ref()?)?,
        Kind::TypeProto => value_type(attribute.tp.as_ref()?)?,
        Kind::Graph => {
            let _ = write!(text, "{} = ", attribute.name());
            return graph(text, attribute.g.as_ref()?, indent);
        }
        _ => return None,
    };
    let kind = attribute.r#type().as_str_name().to_ascii_lowercase();
    let _ = write!(text, "{}: {kind} = {value}", attribute.name());
    Some(())
}

fn parameter(info: &ValueInfoProto) -> Option<String> {
    Some(match &info.r#type {
        Some(declared) => format!("{} {}", value_type(declared)?, name(info.name())),
        None => name(info.name()),
    })
}

fn value_type(declared: &TypeProto) -> Option<String> {
    let element = |code: i32| ElementType::from_code(code).map(|element| element.to_string());
    Some(match declared.value.as_ref()? {
        Type::TensorType(tensor) => {
            let dims = match &tensor.shape {
                None => "[]".to_owned(),
                Some(shape) if shape.dim.is_empty() => String::new(),
                Some(shape) => {
                    let dim = |dim: &Option<Dim>| match dim {
                        Some(Dim::DimValue(size)) => size.to_string(),
                        Some(Dim::DimParam(name)) => name.clone(),
                        None => "?".to_owned(),
                    };
                    format!("[{}]", shape.dim.iter().map(|one| dim(&one.value)).collect::<Vec<_>>().join(","))
                }
            };
            format!("{}{dims}", element(tensor.elem_type())?)
        }
        Type::SequenceType(sequence) => format!("seq({})", value_type(sequence.elem_type.as_ref()?)?),
        Type::OptionalType(optional) => format!("optional({})", value_type(optional.elem_type.as_ref()?)?),
        Type::MapType(map) => format!("map({}, {})", element(map.key_type())?, value_type(map.value_type.as_ref()?)?),
        Type::SparseTensorType(_) | Type::OpaqueType(_) => return None,
    })
}

fn tensor(proto: &TensorProto) -> Option<String> {
    tensor_text(&decode::tensor(proto, &decode::NoExternalData).ok()?)
}

/// Formats a tensor with its values, `float[2] {1.0, 2.0}`; `None` if it has too many elements.
pub(super) fn tensor_text(tensor: &Tensor) -> Option<String> {
    if tensor.len() > MAX_ELEMENTS {
        return None;
    }
    let shape: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(",")) };
    let elements: Vec<String> = (0..tensor.len()).map(|index| element(tensor, index)).collect();
    Some(format!("{}{shape} {{{}}}", tensor.element_type(), elements.join(", ")))
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

/// Formats a name, quoted if necessary.
pub(super) fn name(name: &str) -> String {
    let is_plain =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Formats a node as `helper.make_node("Conv", ["X", "W"], ["Y"], group=2)`; `None` if it has a graph, or attributes other than
/// numbers and text.
pub(crate) fn make_node(node: &NodeProto) -> Option<String> {
    let names =
        |names: &[String]| format!("[{}]", names.iter().map(|name| python_string(name)).collect::<Vec<_>>().join(", "));
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
            let tensor = decode::tensor(attribute.t.as_ref()?, &decode::NoExternalData).ok()?;
            let is_plain = tensor.element_type().bits() >= 8 && tensor.len() <= MAX_ELEMENTS;
            let code = attribute.t.as_ref()?.data_type();
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

    fn round_trip(text: &str) -> Option<String> {
        model(&parse_model(text).unwrap())
    }

    #[test]
    fn a_model_reads_back() {
        for text in [
            "<ir_version: 10, opset_import: [\"\" : 21]>\ng (float[2,3] X, seq(int64[]) s) => (float[] Y) {\n  Y = Pad <axes: \
             ints = [1, 2], mode: string = \"a\\\"b\", v: float = 0.5> (X, , s)\n}\n",
            "<ir_version: 8, opset_import: [\"\" : 13]>\ng () => (float Y) {\n  Y = Constant <value: tensor = float[2] {1.0, -2.5}> ()\n}\n",
        ] {
            assert_eq!(round_trip(text).as_deref(), Some(text));
        }
    }

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
