//! Models of cases.

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::{
    GraphProto, Message, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto, encode, texts,
};
use onnx_conformance_reference::spec::{OpSpec, Specs, model_domain};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::Named;
use crate::generate::make::draft::NodeDraft;
use crate::generate::plan::graph_text::import;
use crate::generate::plan::version::PlannedCase;

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
    /// Returns the declaration of a value.
    pub(crate) fn new(name: &str, value: &Value) -> Declared {
        Declared {
            name: name.to_owned(),
            value_type: value.value_type(),
            shape: value.as_tensor().map(|tensor| tensor.shape().to_vec()),
        }
    }

    /// Returns the declaration of a value whose type only a run shows. The built-in executor ignores it.
    pub(crate) fn unknown(name: &str) -> Declared {
        Declared { name: name.to_owned(), value_type: ValueType::Tensor(ElementType::Float), shape: None }
    }

    /// Returns the outputs of a node, with the types that are known without a run.
    pub(crate) fn guess(planned: &PlannedCase<'_>, draft: &NodeDraft) -> Vec<Declared> {
        let declared = |(position, name): (usize, &String)| {
            let known = planned.case_at_version.spec.output_at(position).filter(|_| draft.nodes.is_empty());
            let known = known.and_then(|formal| planned.case_at_version.formal_type(formal, &planned.instance.types));
            let unknown = Declared::unknown(name);
            Declared { value_type: known.unwrap_or_else(|| unknown.value_type.clone()), ..unknown }
        };
        draft.output_names.iter().enumerate().filter(|(_, name)| !name.is_empty()).map(declared).collect()
    }

    pub(crate) fn info(&self) -> ValueInfoProto {
        ValueInfoProto {
            name: Some(self.name.clone()),
            r#type: Some(encode::value_type(&self.value_type, self.shape.as_deref())),
            ..ValueInfoProto::default()
        }
    }
}

/// Makes the model of a graph in the lowest IR version that allows its imports, which is at least `lowest_ir`.
pub(crate) fn model_of_graph(graph: GraphProto, imports: Vec<OperatorSetIdProto>, lowest_ir: u32) -> ModelProto {
    let releases = Specs::embedded().releases().ok();
    let needed = |import: &OperatorSetIdProto| {
        let opset = u32::try_from(import.version()).unwrap_or_default();
        releases?.lowest_ir(import.domain(), opset)
    };
    let ir = imports.iter().filter_map(needed).fold(lowest_ir, u32::max);
    ModelProto {
        ir_version: Some(i64::from(ir)),
        opset_import: imports,
        producer_name: Some("onnx-conformance".to_owned()),
        graph: Some(graph),
        ..ModelProto::default()
    }
}

/// Makes the model of a node, or of several, at an opset, in the lowest IR version that allows it.
pub(crate) fn single_node_model(spec: &OpSpec, opset: u32, draft: &NodeDraft, outputs: &[Declared]) -> Bytes {
    let domain = model_domain(&spec.version.domain);
    let node = NodeProto {
        op_type: Some(spec.version.name.as_str().into()),
        domain: (!domain.is_empty()).then(|| domain.into()),
        input: texts(&draft.input_names),
        output: texts(&draft.output_names),
        attribute: draft.attributes.clone(),
        ..NodeProto::default()
    };
    let declared = |input: &Named| Declared::new(&input.name, &input.value).info();
    let graph = GraphProto {
        name: Some(spec.version.name.clone()),
        node: if draft.nodes.is_empty() { vec![node] } else { draft.nodes.clone() },
        input: draft.inputs.iter().map(declared).collect(),
        output: outputs.iter().map(Declared::info).collect(),
        ..GraphProto::default()
    };
    let mut imports = vec![import(domain, opset)];
    // The nodes of a subgraph, and those around a node, are of ONNX's own domain, in its newest opset.
    if !domain.is_empty()
        && (draft.attributes.iter().any(|attribute| attribute.g.is_some()) || !draft.nodes.is_empty())
        && let Ok(newest) = Specs::embedded().newest_released_opset("")
    {
        imports.push(import("", newest));
    }
    model_of_graph(graph, imports, 3).encode_to_vec().into()
}
