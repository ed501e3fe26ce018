//! Nodes of a model with their operator versions.

use bytes::Bytes;
use onnx_conformance_reference::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, decode,
};
use onnx_conformance_reference::spec::{AttributeSpec, DefaultValue, OpSpec, Specs, canonical_domain};

/// A node, its operator version, and the opset that selects the version.
pub(super) struct Node<'a> {
    pub(super) proto: &'a NodeProto,
    pub(super) spec: &'a OpSpec,
    pub(super) opset: i64,
}

/// Calls `visit` with every node of a model, including those of subgraphs and functions. Does nothing if the bytes are not a
/// model.
pub(super) fn visit(model: &Bytes, specs: &Specs, visit: &mut dyn FnMut(&Node<'_>)) {
    let Ok(model) = decode::model(model.clone()) else { return };
    let mut walk = Walk { specs, functions: &model.functions, opsets: &model.opset_import, visit };
    if let Some(graph) = &model.graph {
        walk.graph(graph);
    }
    for function in &model.functions {
        walk.opsets = if function.opset_import.is_empty() { &model.opset_import } else { &function.opset_import };
        walk.nodes(&function.node);
    }
}

struct Walk<'a> {
    specs: &'a Specs,
    functions: &'a [FunctionProto],
    opsets: &'a [OperatorSetIdProto],
    visit: &'a mut dyn FnMut(&Node<'_>),
}

impl Walk<'_> {
    fn graph(&mut self, graph: &GraphProto) {
        self.nodes(&graph.node);
    }

    fn nodes(&mut self, nodes: &[NodeProto]) {
        for proto in nodes {
            for graph in proto.attribute.iter().flat_map(AttributeProto::all_graphs) {
                self.graph(graph);
            }
            let domain = canonical_domain(proto.domain());
            let is_called = |function: &FunctionProto| {
                function.name() == proto.op_type() && canonical_domain(function.domain()) == domain
            };
            let import = self.opsets.iter().find(|import| canonical_domain(import.domain()) == domain);
            let Some(opset) = import.map(OperatorSetIdProto::version) else { continue };
            if let Ok(spec) = self.specs.find(domain, proto.op_type(), opset)
                && !self.functions.iter().any(is_called)
            {
                (self.visit)(&Node { proto, spec, opset });
            }
        }
    }
}

/// Returns true if an attribute of a node has its default value.
pub fn is_default(spec: &AttributeSpec, attribute: &AttributeProto) -> bool {
    let same_bits = |a: &f32, b: &f32| a.to_bits() == b.to_bits();
    match &spec.default {
        Some(DefaultValue::Int(value)) => attribute.i == Some(*value),
        Some(DefaultValue::Float(value)) => attribute.f.as_ref().is_some_and(|other| same_bits(other, value)),
        Some(DefaultValue::String(value)) => attribute.s.as_deref() == Some(value.as_bytes()),
        Some(DefaultValue::Ints(values)) => attribute.ints == *values,
        Some(DefaultValue::Floats(values)) => {
            attribute.floats.len() == values.len() && attribute.floats.iter().zip(values).all(|(a, b)| same_bits(a, b))
        }
        Some(DefaultValue::Strings(values)) => {
            attribute.strings.iter().map(AsRef::as_ref).eq(values.iter().map(String::as_bytes))
        }
        None => false,
    }
}
