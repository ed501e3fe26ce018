//! Models of graphs.

use std::collections::BTreeMap;

use bytes::Bytes;
use onnx_conformance_reference::executor::run;
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::model::{LoadLimits, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::proto::{GraphProto, Message, ModelProto, encode};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs};
use onnx_conformance_reference::value::Value;

use crate::case::{Named, name_dimensions};
use crate::generate::make::model::{Declared, model_of_graph};
use crate::generate::make::topics::draft::GraphDraft;
use crate::generate::plan::graph_text::{FUNCTIONS, import};

/// The lowest IR version with functions.
const IR_OF_FUNCTIONS: u32 = 8;

/// The lowest IR version of a graph: initializers need not be inputs.
const LOWEST_IR: u32 = 4;

/// Makes the model of a graph, in the lowest IR version that allows it.
pub(crate) fn model_of(draft: &GraphDraft, name: &str, outputs: &[Declared]) -> ModelProto {
    let inputs = draft.inputs.iter().chain(&draft.overridden);
    let inputs: Vec<Declared> = inputs.map(|input| Declared::new(&input.name, &input.value)).collect();
    let tensor = |weight: &Named| Some(encode::tensor(weight.value.as_tensor()?, &weight.name));
    let info = |declared: &Declared| {
        let mut info = declared.info();
        if draft.is_dynamic {
            name_dimensions(&mut info);
        }
        info
    };
    let graph = GraphProto {
        name: Some(name.to_owned()),
        node: draft.nodes.clone(),
        initializer: draft.weights.iter().filter_map(tensor).collect(),
        input: inputs.iter().map(info).collect(),
        output: outputs.iter().map(info).collect(),
        ..GraphProto::default()
    };
    let has_functions = !draft.functions.is_empty();
    let mut imports = vec![import("", draft.opset)];
    imports.extend(has_functions.then(|| import(FUNCTIONS, 1)));
    ModelProto { functions: draft.functions.clone(), ..model_of_graph(graph, imports, lowest_ir(has_functions)) }
}

fn lowest_ir(has_functions: bool) -> u32 {
    if has_functions { IR_OF_FUNCTIONS } else { LOWEST_IR }
}

/// Returns the IR version of the model of a graph at an opset.
pub(crate) fn ir_of(opset: u32, has_functions: bool) -> u32 {
    let releases = Specs::embedded().releases().ok();
    let of_opset = releases.and_then(|all| all.lowest_ir(DEFAULT_DOMAIN, opset));
    of_opset.unwrap_or_default().max(lowest_ir(has_functions))
}

impl GraphDraft {
    /// Runs the graph on the built-in executor, and returns its outputs in order.
    pub(crate) fn run(&self) -> Result<Vec<Named>, String> {
        let declared: Vec<Declared> = self.outputs.iter().map(|name| Declared::unknown(name)).collect();
        let bytes = Bytes::from(model_of(self, "graph", &declared).encode_to_vec());
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
