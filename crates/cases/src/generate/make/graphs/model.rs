//! Models of graphs.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{
    GraphProto, Message, ModelProto, OperatorSetIdProto, TypeProto, ValueInfoProto, encode,
};
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Named, name_dimensions};
use crate::generate::make::graphs::draft::GraphDraft;

/// Domain of a graph's functions.
pub(crate) const FUNCTIONS: &str = "local";

/// The lowest IR version with functions.
const IR_OF_FUNCTIONS: u32 = 8;

/// Declaration of a graph's input or output.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    name: String,
    value_type: TypeProto,
}

impl Declaration {
    /// Returns the declaration of a value.
    pub(crate) fn of_value(named: &Named) -> Declaration {
        let shape = named.value.as_tensor().map(|tensor| tensor.shape().to_vec());
        let value_type = encode::value_type(&named.value.value_type(), shape.as_deref());
        Declaration { name: named.name.clone(), value_type }
    }

    /// Returns the declaration of a value whose type only a run shows. The built-in executor ignores it.
    pub(crate) fn unknown(name: &str) -> Declaration {
        let value_type = encode::value_type(&ValueType::Tensor(ElementType::Float), None);
        Declaration { name: name.to_owned(), value_type }
    }

    fn info(self, is_dynamic: bool) -> ValueInfoProto {
        let mut info =
            ValueInfoProto { name: Some(self.name), r#type: Some(self.value_type), ..ValueInfoProto::default() };
        if is_dynamic {
            name_dimensions(&mut info);
        }
        info
    }
}

/// Encodes the model of a graph, in the lowest IR version that allows it.
pub(crate) fn encode(draft: &GraphDraft, outputs: &[Declaration]) -> Bytes {
    let inputs = draft.inputs.iter().chain(&draft.overridden).map(Declaration::of_value);
    let tensor = |weight: &Named| Some(encode::tensor(weight.value.as_tensor()?, &weight.name));
    let graph = GraphProto {
        name: Some("graph".to_owned()),
        node: draft.nodes.clone(),
        initializer: draft.weights.iter().filter_map(tensor).collect(),
        input: inputs.map(|declared| declared.info(draft.is_dynamic)).collect(),
        output: outputs.iter().map(|declared| declared.clone().info(draft.is_dynamic)).collect(),
        ..GraphProto::default()
    };
    let import = |domain: &str, version: u32| OperatorSetIdProto {
        domain: Some(domain.to_owned()),
        version: Some(i64::from(version)),
    };
    let releases = Specs::embedded().releases().ok();
    let lowest = releases.and_then(|releases| releases.lowest_ir("", draft.opset)).unwrap_or(3).max(4);
    let has_functions = !draft.functions.is_empty();
    let mut imports = vec![import("", draft.opset)];
    imports.extend(has_functions.then(|| import(FUNCTIONS, 1)));
    let ir = if has_functions { lowest.max(IR_OF_FUNCTIONS) } else { lowest };
    let model = ModelProto {
        ir_version: Some(i64::from(ir)),
        opset_import: imports,
        producer_name: Some("onnx-conformance".to_owned()),
        graph: Some(graph),
        functions: draft.functions.clone(),
        ..ModelProto::default()
    };
    model.encode_to_vec().into()
}

impl GraphDraft {
    /// Runs the graph on the built-in executor, and returns its outputs in order.
    pub(crate) fn run(&self) -> Result<Vec<Named>, String> {
        let declared: Vec<Declaration> = self.outputs.iter().map(|name| Declaration::unknown(name)).collect();
        let bytes = encode(self, &declared);
        let model = read_model(bytes, &NoExternalData, &LoadLimits::default()).map_err(|error| error.to_string())?;
        let inputs: BTreeMap<String, Value> =
            self.supplied().into_iter().map(|input| (input.name, input.value)).collect();
        let values = run(&model, inputs, ExecutionLimits::default()).map_err(|error| error.to_string())?;
        Ok(self.outputs.iter().zip(values).map(|(name, value)| Named { name: name.clone(), value }).collect())
    }
}

/// Returns true for a value that an initializer or a Constant can hold.
pub(crate) fn is_tensor(named: &Named) -> bool {
    matches!(named.value, Value::Tensor(_))
}
