//! Question of a conversion to half precision, and the result of a run.

use std::collections::BTreeMap;
use std::path::Path;

use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::half::HalfRequest;
use onnx_conformance_reference::proto::ModelProto;
use onnx_conformance_reference::value::Value;

use super::single::Values;
use crate::models::proof::{RunFailure, TrialInputs};

/// Conversion to half precision that is to be compared on inputs.
pub struct HalfQuestion<'a> {
    /// The original model, complete with its weights.
    pub model: &'a ModelProto,
    /// The requested conversion.
    pub request: &'a HalfRequest,
    /// The folder of the model's external data.
    pub folder: Option<&'a Path>,
    /// Time and memory of all runs.
    pub limits: &'a Limits,
    /// Number of inputs.
    pub count: usize,
    /// Returns the number of ways to give the inputs of a run, by its number.
    pub ways: &'a dyn Fn(usize) -> usize,
    /// Returns the inputs of a run by its number and the way.
    pub inputs: &'a dyn Fn(usize, usize) -> Result<TrialInputs, RunFailure>,
}

/// Result of a run of a model.
pub(super) struct Ran {
    pub(super) outputs: Vec<Value>,
    /// All values of the main graph, with the inputs.
    pub(super) values: Values,
    /// Values of subgraphs, one for each time that they are computed; `None` if they take too much memory.
    pub(super) inner: Option<BTreeMap<String, Vec<Value>>>,
}
