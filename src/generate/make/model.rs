//! One node as a model.

use bytes::Bytes;
use onnx_conformance_reference::model::Attribute;
use onnx_conformance_reference::proto::{
    AttributeProto, GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode,
};
use onnx_conformance_reference::spec::{AttributeType, OpSpec, Specs, model_domain};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::Named;
use crate::generate::plan::fit::NodeDraft;

/// A value's name, type and, for a tensor, shape.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    /// The name.
    pub name: String,
    /// The type.
    pub value_type: ValueType,
    /// The shape of a tensor.
    pub shape: Option<Vec<usize>>,
}

impl Declared {
    /// What a value declares of itself.
    pub(crate) fn of(name: &str, value: &Value) -> Declared {
        Declared {
            name: name.to_owned(),
            value_type: value.value_type(),
            shape: value.as_tensor().map(|tensor| tensor.shape().to_vec()),
        }
    }

    fn info(&self) -> ValueInfoProto {
        ValueInfoProto {
            name: Some(self.name.clone()),
            r#type: Some(encode::value_type(&self.value_type, self.shape.as_deref())),
            ..ValueInfoProto::default()
        }
    }
}

/// The model of a node, or of several, at an opset, in the lowest IR version that allows it.
pub(crate) fn single_node_model(spec: &OpSpec, opset: u32, parts: &NodeDraft, outputs: &[Declared]) -> Bytes {
    let domain = model_domain(&spec.version.domain);
    let node = NodeProto {
        op_type: Some(spec.version.name.clone()),
        domain: (!domain.is_empty()).then(|| domain.to_owned()),
        input: parts.input_names.clone(),
        output: parts.output_names.clone(),
        attribute: parts.attributes.clone(),
        ..NodeProto::default()
    };
    let declared = |input: &Named| Declared::of(&input.name, &input.value).info();
    let graph = GraphProto {
        name: Some(spec.version.name.clone()),
        node: if parts.nodes.is_empty() { vec![node] } else { parts.nodes.clone() },
        input: parts.inputs.iter().map(declared).collect(),
        output: outputs.iter().map(Declared::info).collect(),
        ..GraphProto::default()
    };
    let import = |domain: &str, opset: u32| OperatorSetIdProto {
        domain: Some(domain.to_owned()),
        version: Some(i64::from(opset)),
    };
    let mut imports = vec![import(domain, opset)];
    let lowest_ir = |domain: &str, opset: u32| {
        Specs::embedded().releases().ok().and_then(|releases| releases.lowest_ir(domain, opset)).unwrap_or(3)
    };
    let mut ir = lowest_ir(domain, opset);
    // The nodes of a subgraph, and those around a node, are of ONNX's own domain, in the newest version there is.
    if !domain.is_empty()
        && (parts.attributes.iter().any(|attribute| attribute.g.is_some()) || !parts.nodes.is_empty())
        && let Ok(newest) = Specs::embedded().newest_opset("")
    {
        imports.push(import("", newest));
        ir = ir.max(lowest_ir("", newest));
    }
    let model = ModelProto {
        ir_version: Some(i64::from(ir.max(3))),
        opset_import: imports,
        producer_name: Some("onnx-conformance".to_owned()),
        graph: Some(graph),
        ..ModelProto::default()
    };
    model.encode_to_vec().into()
}

/// The message of an attribute.
pub(crate) fn attribute_message(name: &str, value: &Attribute) -> AttributeProto {
    let kind: AttributeType = value.attribute_type();
    let mut proto =
        AttributeProto { name: Some(name.to_owned()), r#type: Some(kind.code()), ..AttributeProto::default() };
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    match value {
        Attribute::Float(value) => proto.f = Some(*value),
        Attribute::Int(value) => proto.i = Some(*value),
        Attribute::String(value) => proto.s = Some(bytes(value)),
        Attribute::Floats(values) => proto.floats = values.to_vec(),
        Attribute::Ints(values) => proto.ints = values.to_vec(),
        Attribute::Strings(values) => proto.strings = values.iter().map(|value| bytes(value)).collect(),
        Attribute::Tensor(Value::Tensor(tensor)) => proto.t = Some(encode::tensor(tensor, "")),
        Attribute::SparseTensor(Value::Sparse(sparse)) => proto.sparse_tensor = Some(encode::sparse_tensor(sparse, "")),
        Attribute::Type(value_type) => proto.tp = Some(encode::value_type(value_type, None)),
        _ => {}
    }
    proto
}
