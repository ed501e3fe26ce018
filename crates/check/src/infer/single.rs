//! Inference of a single node, outside of a model.

use onnx_conformance_reference::infer::{Attributes, NodeView, refine};
use onnx_conformance_reference::proto::NodeProto;
use onnx_conformance_reference::spec::OpSpec;
use onnx_conformance_reference::types::ValueType;

use crate::facts::ValueFact;
use crate::infer::types;

/// Returns the known facts about the outputs of a node by its operator version; no value is computed.
pub(crate) fn output_facts(
    node: &NodeProto,
    spec: &'static OpSpec,
    opset: i64,
    inputs: &[Option<ValueFact>],
) -> Vec<ValueFact> {
    let inputs = inputs.iter().map(Option::as_ref).collect();
    let view = NodeView { node, spec, opset, attributes: Attributes::new(node, None), inputs };
    let (bindings, violations) = types::check(&view, true);
    let mut outputs = types::outputs(&view, &bindings);
    if violations.is_empty() {
        refine(&view, &mut outputs);
    }
    outputs
}

/// Returns the types of a node's outputs by its operator version; `None` if the node violates the version.
pub(crate) fn output_types(
    node: &NodeProto,
    spec: &'static OpSpec,
    opset: i64,
    inputs: &[Option<ValueFact>],
) -> Option<Vec<Option<ValueType>>> {
    let inputs = inputs.iter().map(Option::as_ref).collect();
    let view = NodeView { node, spec, opset, attributes: Attributes::new(node, None), inputs };
    let (bindings, violations) = types::check(&view, true);
    let outputs = types::outputs(&view, &bindings);
    violations.is_empty().then(|| outputs.into_iter().map(|fact| fact.value_type).collect())
}
