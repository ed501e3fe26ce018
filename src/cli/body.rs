//! Function body of the operator of a case. Upstream's node tests have a case and its expansion.

use std::cmp::Reverse;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_conformance_cases::case::{Case, DataSet, Named};
use onnx_conformance_cases::suite::{Filter, release_key};
use onnx_conformance_reference::proto::{AttributeProto, Message as _, ModelProto, NodeProto, Text, decode, onnx};
use onnx_conformance_reference::spec::{OpSpec, Specs, canonical_domain};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_report::coverage::is_default;

use crate::cli::options::Sources;

/// Separator in the name of a vendored expansion.
const EXPANDED: &str = "_expanded";

/// Function body of an operator as a model, and the inputs of a case under the model's input names.
pub(crate) struct Body {
    /// The vendored case with the body.
    pub(crate) id: String,
    pub(crate) model: Bytes,
    pub(crate) inputs: Vec<Named>,
}

/// The only node of a model, with its operator version and input types.
struct Call {
    node: NodeProto,
    spec: &'static OpSpec,
    types: Vec<ValueType>,
}

/// Finds the function body in a vendored case with the same operator version, attributes, present inputs, and types.
pub(crate) fn function_body(sources: &Sources, case: &Case, data: &DataSet) -> anyhow::Result<Body> {
    let call = call(case, data).context("--body needs a case with a single node, whose inputs are all graph inputs")?;
    let version = call.spec.version.qualified();
    if call.spec.function.is_none() {
        bail!("{version} has no function body; --body needs an operator that the standard defines by a function");
    }
    let filter = Filter::new(&[format!("onnx-*/node/*{EXPANDED}*")])?;
    let suite = sources.vendored()?;
    let values: Vec<Value> = given(&call.node, data).context("an input of the node has no value")?;
    let mut ids = suite.ids(&filter)?;
    // The newest release first, since its tests are the default selection.
    let release = |id: &String| release_key(id.split('/').next().unwrap_or_default().trim_start_matches("onnx-"));
    ids.sort_by_cached_key(|id| Reverse(release(id)));
    for id in ids {
        let base = id.split(EXPANDED).next().unwrap_or(&id);
        let Some(vendored) = suite.find(base)? else { continue };
        let is_same = vendored.data.first().and_then(|data| self::call(&vendored, data));
        if is_same.is_some_and(|other| other.is_like(&call))
            && let Some(expanded) = suite.find(&id)?
            && let Some((model, names)) = without_shapes(&expanded)
            && names.len() == values.len()
        {
            let inputs = names.into_iter().zip(values).map(|(name, value)| Named { name, value }).collect();
            return Ok(Body { id, model, inputs });
        }
    }
    bail!("no vendored case has the function body of {version} for these attributes, inputs and types")
}

fn call(case: &Case, data: &DataSet) -> Option<Call> {
    let model = decode::model(case.model.clone()).ok()?;
    let graph = model.graph.as_ref()?;
    let [node] = graph.node.as_slice() else { return None };
    let domain = canonical_domain(node.domain());
    let import = model.opset_import.iter().find(|import| canonical_domain(import.domain()) == domain)?;
    let spec = Specs::embedded().find(domain, node.op_type(), import.version()).ok()?;
    let types = given(node, data)?.iter().map(Value::value_type).collect();
    Some(Call { node: node.clone(), spec, types })
}

/// Returns the values of the node's inputs that are present.
fn given(node: &NodeProto, data: &DataSet) -> Option<Vec<Value>> {
    let value = |name: &Text| data.inputs.iter().find(|input| input.name == *name).map(|input| input.value.clone());
    node.input.iter().filter(|name| !name.is_empty()).map(value).collect()
}

impl Call {
    fn is_like(&self, other: &Call) -> bool {
        let present = |call: &Call| call.node.input.iter().map(|name| !name.is_empty()).collect::<Vec<_>>();
        self.spec.version == other.spec.version
            && present(self) == present(other)
            && self.settings() == other.settings()
            && self.types == other.types
    }

    /// Returns the attributes with a non-default value, by name.
    fn settings(&self) -> Vec<&AttributeProto> {
        let is_set = |attribute: &&AttributeProto| {
            self.spec.attributes.get(attribute.name()).is_none_or(|spec| !is_default(spec, attribute))
        };
        let mut settings: Vec<&AttributeProto> = self.node.attribute.iter().filter(is_set).collect();
        settings.sort_by_key(|attribute| attribute.name().to_owned());
        settings
    }
}

/// Returns an expansion without shapes, so that it accepts inputs of any shape, and the names of its inputs.
fn without_shapes(expanded: &Case) -> Option<(Bytes, Vec<String>)> {
    let mut model: ModelProto = decode::model(expanded.model.clone()).ok()?;
    let graph = model.graph.as_mut()?;
    for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
        if let Some(onnx::type_proto::Value::TensorType(tensor)) =
            info.r#type.as_mut().and_then(|declared| declared.value.as_mut())
        {
            tensor.shape = None;
        }
    }
    let names = graph.input.iter().map(|info| info.name().to_owned()).collect();
    Some((model.encode_to_vec().into(), names))
}
