//! Fuzz target for models, from bytes to outputs, with small limits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use onnx_conformance_cases::case::{Case, DataSet, Expected, ExpectedOutput, Variant, named_cells, vary};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor::{RunError, run as execute};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::{LoadLimits, Model, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::Specs;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::{Map, Optional, Sequence, Value};
use onnx_conformance_report::describe_case::describe;

use crate::Bug;

/// Time limit for loading and running a model.
pub(crate) const TIME: Duration = Duration::from_millis(100);

/// Memory limit for a model.
const BYTES: usize = 16 << 20;

/// Reads, checks, describes, varies and runs a model.
pub(crate) fn run(input: &[u8]) -> Result<bool, Bug> {
    let bytes = Bytes::copy_from_slice(input);
    let started = Instant::now();
    let deadline = Deadline::new(move || started.elapsed() > TIME);
    let loading = LoadLimits { deadline: deadline.clone(), bytes: BYTES };
    let read = read_model(bytes.clone(), &NoExternalData, &loading);
    if read.is_ok() {
        walk(bytes);
    }
    let Ok(model) = read else { return Ok(false) };
    let limits =
        ExecutionLimits { elements: 1 << 20, bytes: BYTES, trips: 1000, deadline, ..ExecutionLimits::default() };
    match execute(&model, inputs(&model), limits) {
        Ok(_) => Ok(true),
        Err(RunError::Kernel(error)) if matches!(error.root(), KernelError::Internal(_)) => Err(error.into()),
        Err(_) => Ok(false),
    }
}

/// Returns empty values for the inputs without an initializer whose types have an empty value.
fn inputs(model: &Model) -> BTreeMap<String, Value> {
    let inputs = model.graph.inputs.iter().filter(|input| !model.graph.initializers.contains_key(&input.name));
    inputs.filter_map(|input| Some((input.name.clone(), empty(input.value_type.as_ref()?)?))).collect()
}

fn empty(value_type: &ValueType) -> Option<Value> {
    Some(match value_type {
        ValueType::Sequence(item_type) => Value::Sequence(Sequence::new((**item_type).clone(), Vec::new())),
        ValueType::Optional(item_type) => Value::Optional(Optional { item_type: (**item_type).clone(), item: None }),
        ValueType::Map(key_type, value_type) => {
            Value::Map(Map { key_type: *key_type, value_type: (**value_type).clone(), entries: Arc::default() })
        }
        ValueType::Tensor(_) | ValueType::SparseTensor(_) => return None,
    })
}

/// Processes the model of a case in the harness without running it.
fn walk(model: Bytes) {
    named_cells(&model, Specs::embedded());
    let outputs = vec![ExpectedOutput { name: "any".to_owned(), expected: Expected::AnyOf(Vec::new()) }];
    let case = Case::new("fuzz", model, vec![DataSet { inputs: Vec::new(), outputs }]);
    // Errors of the model are expected.
    let _ = describe(&case);
    for variant in Variant::ALL {
        let _ = vary(&case, variant);
    }
}
