//! Helpers for adapters in Rust: elements of tensors, and answers for missing features of a runtime.
//!
//! [`serve`](crate::serve) reads requests with their values and files, and writes answers. The functions here
//! are for code between a [`Request`] and a runtime. None of them converts an element type or repairs an output.

use std::borrow::Cow;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, decode};
use onnx_conformance_reference::spec::{OperatorVersion, Specs, canonical_domain};
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::types::ValueType;

use crate::{Request, Response};

/// Returns the elements of a non-string tensor, each from its `N` little-endian bytes:
/// `elements(tensor, f32::from_le_bytes)`.
pub fn elements<T, const N: usize>(tensor: &Tensor, from_bytes: fn([u8; N]) -> T) -> Vec<T> {
    tensor.bytes().as_chunks::<N>().0.iter().copied().map(from_bytes).collect()
}

/// Makes a tensor from elements, each as its `N` little-endian bytes:
/// `tensor_of(ElementType::Float, shape, values, f32::to_le_bytes)`.
///
/// It fails if the shape needs another number of elements, or if `N` is not the size of the element type.
pub fn tensor_of<T, const N: usize>(
    element: ElementType,
    shape: Vec<usize>,
    elements: impl IntoIterator<Item = T>,
    to_bytes: fn(T) -> [u8; N],
) -> Result<Tensor, TensorError> {
    let bytes: Vec<u8> = elements.into_iter().flat_map(to_bytes).collect();
    Tensor::from_bytes(element, shape, bytes.into())
}

/// Returns the answer `unsupported` for the first input or output whose type the runtime does not have.
pub fn missing_type(request: &Request<'_>, has: impl Fn(&ValueType) -> bool) -> Option<Response> {
    let inputs = request.inputs.iter().map(|input| Cow::Owned(input.value.value_type()));
    let outputs = request.outputs.iter().map(|output| Cow::Borrowed(&output.value_type));
    let missing = inputs.chain(outputs).find(|value_type| !has(value_type))?;
    Some(Response::unsupported(missing.to_string(), format!("{missing} is not supported as an input or output")))
}

/// Returns the answer `unsupported` for the first operator name that the runtime does not have, in all versions.
///
/// It is for a runtime that looks up operators by name only. A node that calls anything but an operator of ONNX is an
/// error at load. Returns `None` for a model that cannot be read.
pub fn missing_operator(model: &Bytes, has: impl Fn(&str) -> bool) -> Option<Response> {
    let model = decode::model(model.clone()).ok()?;
    let node = nodes(&model).into_iter().find(|node| !has(node.op_type()))?;
    let message = format!("no operator is registered as {}", node.op_type());
    let domain = canonical_domain(node.domain());
    Some(if domain.starts_with("ai.onnx") {
        Response::unsupported(format!("operator {domain}/{}", node.op_type()), message)
    } else {
        Response::load_error(message)
    })
}

/// Returns the operator version that a message is about: that of the first node whose operator is a word of the
/// message, or else of the only node.
pub fn blamed_operator(model: &Bytes, message: &str) -> Option<OperatorVersion> {
    let model = decode::model(model.clone()).ok()?;
    version_of(&model, blamed(&model, message)?)
}

/// Returns the attribute that a message is about, with the operator version: the first attribute of the blamed node
/// whose name is a word of the message.
pub fn blamed_attribute(model: &Bytes, message: &str) -> Option<(String, OperatorVersion)> {
    let model = decode::model(model.clone()).ok()?;
    let node = blamed(&model, message)?;
    let attribute = node.attribute.iter().find(|attribute| words(message).any(|word| word == attribute.name()))?;
    Some((attribute.name().to_owned(), version_of(&model, node)?))
}

fn blamed<'a>(model: &'a ModelProto, message: &str) -> Option<&'a NodeProto> {
    let nodes = nodes(model);
    let is_named = |node: &&&NodeProto| words(message).any(|word| word == node.op_type());
    let only = if let [node] = nodes[..] { Some(node) } else { None };
    nodes.iter().find(is_named).copied().or(only)
}

/// Returns the operator version of a node, if it is one of ONNX.
fn version_of(model: &ModelProto, node: &NodeProto) -> Option<OperatorVersion> {
    let domain = canonical_domain(node.domain());
    let opset = model.opset_import.iter().find(|entry| canonical_domain(entry.domain()) == domain)?.version();
    let spec = Specs::embedded().find(domain, node.op_type(), opset).ok()?;
    Some(spec.version.clone())
}

/// Returns the words of a message, each of letters, digits and `_`.
fn words(message: &str) -> impl Iterator<Item = &str> {
    message.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Returns the nodes of a model. Nodes of a subgraph follow the node that has it.
fn nodes(model: &ModelProto) -> Vec<&NodeProto> {
    let mut found = Vec::new();
    let mut graphs: Vec<&GraphProto> = model.graph.iter().collect();
    while let Some(graph) = graphs.pop() {
        for node in &graph.node {
            found.push(node);
            graphs.extend(node.attribute.iter().flat_map(AttributeProto::all_graphs));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::proto::{Message as _, OperatorSetIdProto};

    use super::*;

    fn model(operators: &[(&str, &str)]) -> Bytes {
        let node = |&(domain, name): &(&str, &str)| NodeProto {
            op_type: Some(name.into()),
            domain: Some(domain.into()),
            ..NodeProto::default()
        };
        let graph = GraphProto { node: operators.iter().map(node).collect(), ..GraphProto::default() };
        let opset = OperatorSetIdProto { domain: None, version: Some(17) };
        ModelProto { graph: Some(graph), opset_import: vec![opset], ..ModelProto::default() }.encode_to_vec().into()
    }

    fn what(response: Option<Response>) -> String {
        match response {
            Some(Response::Unsupported { what, .. }) => what,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn elements_are_converted_and_read_back() {
        let values = [1.0_f32, -0.0, f32::INFINITY];
        let tensor = tensor_of(ElementType::Float, vec![3], values, f32::to_le_bytes).unwrap();
        assert_eq!(elements(&tensor, f32::from_le_bytes), values);
        assert!(tensor_of(ElementType::Float, vec![2], values, f32::to_le_bytes).is_err());
        assert!(tensor_of(ElementType::Double, vec![3], values, f32::to_le_bytes).is_err());
    }

    #[test]
    fn an_operator_is_missing_by_its_name() {
        let model = model(&[("", "Abs"), ("ai.onnx.ml", "Scaler"), ("custom", "Own")]);
        assert_eq!(what(missing_operator(&model, |name| name == "Abs")), "operator ai.onnx.ml/Scaler");
        assert_eq!(what(missing_operator(&model, |_| false)), "operator ai.onnx/Abs");
        assert!(matches!(missing_operator(&model, |name| name != "Own"), Some(Response::Error { .. })));
        assert!(missing_operator(&model, |_| true).is_none());
        assert!(missing_operator(&Bytes::from_static(b"\xff"), |_| false).is_none());
    }

    #[test]
    fn a_message_is_about_the_operator_that_it_names() {
        let named = |model, message| blamed_operator(&model, message).map(|version| version.qualified());
        let two = model(&[("", "Abs"), ("", "Relu")]);
        assert_eq!(named(two.clone(), "node Relu: no such type").as_deref(), Some("ai.onnx/Relu-14"));
        assert_eq!(named(two, "no ReluX"), None);
        assert_eq!(named(model(&[("", "Abs")]), "no such type").as_deref(), Some("ai.onnx/Abs-13"));
        assert_eq!(named(model(&[("", "None")]), "no such type"), None);
    }

    #[test]
    fn a_message_is_about_the_attribute_that_it_names() {
        let attribute = AttributeProto { name: Some("auto_pad".to_owned()), ..AttributeProto::default() };
        let mut conv = decode::model(model(&[("", "Conv")])).unwrap();
        conv.graph.as_mut().unwrap().node[0].attribute.push(attribute);
        let conv = Bytes::from(conv.encode_to_vec());
        let named = |message| blamed_attribute(&conv, message).map(|(name, version)| format!("{name} of {version}"));
        assert_eq!(named("unsupported auto_pad VALID").as_deref(), Some("auto_pad of Conv-11"));
        assert_eq!(named("unsupported auto_pads"), None);
    }
}
