//! The built-in executor as a runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor::{RunError, run};
use onnx_conformance_reference::kernels::budget::{Limits, Observer};
use onnx_conformance_reference::kernels::error::KernelError;
use onnx_conformance_reference::model::{LoadLimits, ModelError, read_model};
use onnx_conformance_reference::proto::measure::MeasureError;
use onnx_conformance_reference::value::Value;

use crate::case::FolderData;
use crate::runtime::{Declaration, Phase, Request, Response, Runtime};

/// The built-in executor.
#[derive(Debug, Clone)]
pub struct Builtin {
    timeout: Duration,
    jobs: Option<usize>,
}

impl Builtin {
    /// The executor, which stops a run after `timeout`.
    pub fn new(timeout: Duration) -> Builtin {
        Builtin { timeout, jobs: None }
    }

    /// The executor, which runs so many cases at a time.
    #[must_use]
    pub fn with_jobs(self, jobs: Option<usize>) -> Builtin {
        Builtin { jobs, ..self }
    }

    fn run_model(&self, request: &Request<'_>) -> Response {
        let (started, timeout) = (Instant::now(), self.timeout);
        let deadline = Deadline::new(move || started.elapsed() > timeout);
        let external = FolderData::new(request.folder, deadline.clone());
        let loading = LoadLimits { deadline: deadline.clone(), ..LoadLimits::default() };
        let model = match read_model(request.model.clone(), &external, &loading) {
            Ok(model) => model,
            Err(error) => return refused(&error),
        };
        let inputs: BTreeMap<String, Value> =
            request.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
        let cells = Arc::new(Mutex::new(BTreeSet::new()));
        let limits = Limits { deadline, observer: Some(collect_cells(&cells)), ..Limits::default() };
        match run(&model, inputs, limits) {
            Ok(values) => {
                let cells = std::mem::take(&mut *cells.lock().unwrap_or_else(PoisonError::into_inner));
                Response::Outputs { values, cells: cells.into_iter().collect() }
            }
            Err(error) => failed(error),
        }
    }
}

/// Notes the operator version and the bound types of every node that runs.
fn collect_cells(cells: &Arc<Mutex<BTreeSet<String>>>) -> Observer {
    let cells = Arc::clone(cells);
    Arc::new(move |spec, types| {
        let mut cells = cells.lock().unwrap_or_else(PoisonError::into_inner);
        let version = spec.version.qualified();
        cells.extend(types.iter().map(|(parameter, value_type)| format!("{version} {parameter}={value_type}")));
        cells.insert(version);
    })
}

fn refused(error: &ModelError) -> Response {
    match error {
        ModelError::Limit(MeasureError::Deadline) => Response::Timeout("the model did not load in time".to_owned()),
        ModelError::Limit(MeasureError::Limit(_)) => Response::OutOfMemory(error.to_string()),
        _ => Response::Error { phase: Phase::Load, message: error.to_string() },
    }
}

fn failed(error: RunError) -> Response {
    let message = error.to_string();
    let RunError::Kernel(error) = error else { return Response::Error { phase: Phase::Run, message } };
    match error.root() {
        KernelError::Unsupported { .. } => {
            Response::Unsupported { what: error.missing().unwrap_or_else(|| "model".to_owned()), message }
        }
        KernelError::Limit(_) => Response::OutOfMemory(message),
        KernelError::Deadline => Response::Timeout("no answer in time".to_owned()),
        _ => Response::Error { phase: Phase::Run, message },
    }
}

impl Runtime for Builtin {
    fn declaration(&self) -> Declaration {
        Declaration::named("builtin", env!("CARGO_PKG_VERSION"))
    }

    fn jobs(&self) -> Option<usize> {
        self.jobs
    }

    fn run(&self, request: &Request<'_>) -> Response {
        catch_unwind(AssertUnwindSafe(|| self.run_model(request))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Response::Crash(format!("the executor panicked: {}", text.unwrap_or_else(|| "no message".to_owned())))
        })
    }
}
