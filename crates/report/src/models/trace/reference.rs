//! The runtime whose values count as correct.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use onnx_conformance_cases::case::FolderData;
use onnx_conformance_check::Limits;
use onnx_conformance_check::convert::{Target, convert_within};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor::{RunError, Step, run_traced};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::{LoadLimits, ModelError, read_model};
use onnx_conformance_reference::proto::decode;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Ended, Host, Request};

use crate::models::trace::error::TraceError;

/// The runtime whose values count as correct.
#[derive(Clone, Copy)]
pub enum Reference<'a> {
    /// The built-in executor, with this number of bytes.
    Builtin(usize),
    /// Another runtime.
    Host(&'a dyn Host),
    /// A runtime that runs the model at other opsets.
    Converted(&'a dyn Host, &'a OtherOpsets),
}

/// Opsets that a model is converted to.
#[derive(Debug)]
pub struct OtherOpsets {
    /// The opsets.
    pub target: Target,
    /// Label of the opsets: `opset 12`.
    pub label: String,
    /// Limits of a conversion.
    pub limits: Limits,
}

impl OtherOpsets {
    /// Converts a model. The error has the reasons.
    fn converted(&self, file: &Bytes) -> Result<Bytes, String> {
        let model = decode::model(file.clone()).map_err(|error| error.to_string())?;
        let converted = convert_within(&model, &self.target, &self.limits).map_err(|refusal| refusal.to_string())?;
        let written = converted.file(&model, file).map_err(|error| error.to_string())?;
        Ok(written.bytes(file).into())
    }
}

/// Types of values by name.
pub(in crate::models) type Types = BTreeMap<String, ValueType>;

/// Values of the main graph that a run computed.
#[derive(Debug, Default)]
pub(in crate::models) struct Seen {
    /// The types of all values.
    pub(in crate::models) types: Types,
    /// All values; `None` if they take more than `bytes`.
    pub(in crate::models) values: Option<BTreeMap<String, Value>>,
    /// The values of subgraphs whose names are keys, one for each time that they are computed; `None` if they take more than
    /// `bytes`.
    pub(in crate::models) inner: Option<BTreeMap<String, Vec<Value>>>,
    /// Remaining bytes.
    pub(in crate::models) bytes: usize,
}

impl Seen {
    fn add(&mut self, name: &str, value: &Value) {
        self.types.insert(name.to_owned(), value.value_type());
        let left = self.bytes.checked_sub(value.size());
        self.bytes = left.unwrap_or(0);
        match (&mut self.values, left) {
            (Some(values), Some(_)) => drop(values.insert(name.to_owned(), value.clone())),
            _ => self.values = None,
        }
    }

    fn add_inner(&mut self, name: &str, value: &Value) {
        let Some(values) = self.inner.as_mut().and_then(|inner| inner.get_mut(name)) else { return };
        match self.bytes.checked_sub(value.size()) {
            Some(left) => {
                self.bytes = left;
                values.push(value.clone());
            }
            None => self.inner = None,
        }
    }
}

impl Reference<'_> {
    /// Name of the reference with its version.
    pub(super) fn name(&self) -> String {
        match self {
            Reference::Builtin(_) => "the built-in executor".to_owned(),
            Reference::Host(host) => named(*host),
            Reference::Converted(host, opsets) => format!("{} at {}", named(*host), opsets.label),
        }
    }

    /// Runs a model and returns the requested outputs. The built-in executor adds each value of the main graph to
    /// `seen`.
    pub(in crate::models) fn run(
        &self,
        request: &Request<'_>,
        deadline: &Deadline,
        seen: &mut Seen,
    ) -> Result<Vec<Value>, TraceError> {
        let failed = |message: String| TraceError::Reference { name: self.name(), message };
        match self {
            Reference::Builtin(bytes) => run_builtin(request, deadline, *bytes, seen)?.map_err(failed),
            Reference::Host(host) => run_host(*host, request, deadline)?.map_err(failed),
            Reference::Converted(host, opsets) => {
                let model = opsets.converted(request.model).map_err(|why| {
                    if deadline.is_over() {
                        TraceError::Late
                    } else {
                        TraceError::NotConverted { label: opsets.label.clone(), why }
                    }
                })?;
                run_host(*host, &Request { model: &model, ..*request }, deadline)?.map_err(failed)
            }
        }
    }
}

/// Runs a model on another runtime. The inner error is the reason why it does not run on the inputs.
fn run_host(
    host: &dyn Host,
    request: &Request<'_>,
    deadline: &Deadline,
) -> Result<Result<Vec<Value>, String>, TraceError> {
    match host.run(request).ended.into_values() {
        Ok(values) => Ok(Ok(values)),
        Err(Ended::Timeout(_)) if deadline.is_over() => Err(TraceError::Late),
        Err(ended) => Ok(Err(ended.message().to_owned())),
    }
}

/// Returns the name of a runtime with its version.
fn named(host: &dyn Host) -> String {
    let declaration = host.declaration();
    format!("{} {}", declaration.name, declaration.version)
}

/// Runs a model on the built-in executor. The inner error is the reason why it does not run on the inputs.
fn run_builtin(
    request: &Request<'_>,
    deadline: &Deadline,
    bytes: usize,
    seen: &mut Seen,
) -> Result<Result<Vec<Value>, String>, TraceError> {
    let external = FolderData::new(request.folder, deadline.clone());
    let loading = LoadLimits { deadline: deadline.clone(), bytes };
    let limit = |message: String| if deadline.is_over() { TraceError::Late } else { TraceError::Memory(message) };
    let model = read_model(request.model.clone(), &external, &loading).map_err(|error| match error {
        ModelError::Limit(_) => limit(error.to_string()),
        _ => TraceError::NotLoaded(error.to_string()),
    })?;
    let inputs = request.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
    let limits = ExecutionLimits { deadline: deadline.clone(), bytes, ..ExecutionLimits::default() };
    let all = Mutex::new(std::mem::take(seen));
    let step = |step: &Step<'_>| {
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, value) in step.node.outputs.iter().zip(step.outputs) {
            match value {
                Some(value) if step.depth == 0 => all.add(name, value),
                Some(value) => all.add_inner(name, value),
                None => {}
            }
        }
    };
    let ran = run_traced(&model, inputs, limits, &step);
    *seen = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    match ran {
        Ok(values) => Ok(Ok(values)),
        Err(RunError::Kernel(error)) if matches!(error.root(), KernelError::Limit(_) | KernelError::Deadline) => {
            Err(limit(error.to_string()))
        }
        Err(error) => Ok(Err(error.to_string())),
    }
}
