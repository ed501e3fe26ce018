//! The built-in executor as a runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use onnx_conformance_reference::executor::{RunError, run};
use onnx_conformance_reference::kernels::budget::{Limits, Observer};
use onnx_conformance_reference::kernels::error::KernelError;
use onnx_conformance_reference::model::{ModelError, read_model};
use onnx_conformance_reference::value::Value;

use crate::case::FolderData;
use crate::runtime::in_process::catching;
use crate::runtime::{Declaration, Ended, Host, Ran, Request, Response};

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

    fn run_model(&self, request: &Request<'_>) -> Ended {
        let external = FolderData::new(request.folder);
        let model = match read_model(request.model.clone(), &external) {
            Ok(model) => model,
            Err(error) => return Ended::Answered(refused(&error)),
        };
        let inputs: BTreeMap<String, Value> =
            request.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
        let cells = Arc::new(Mutex::new(BTreeSet::new()));
        let (started, timeout) = (Instant::now(), self.timeout);
        let limits = Limits {
            expired: Some(Arc::new(move || started.elapsed() > timeout)),
            observer: Some(collect_cells(&cells)),
            ..Limits::default()
        };
        match run(&model, inputs, limits) {
            Ok(values) => {
                let cells = std::mem::take(&mut *cells.lock().unwrap_or_else(PoisonError::into_inner));
                Ended::Answered(Response::Outputs { values, cells: cells.into_iter().collect() })
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
    Response::load_error(error.to_string())
}

fn failed(error: RunError) -> Ended {
    let message = error.to_string();
    let RunError::Kernel(error) = error else { return Ended::Answered(Response::run_error(message)) };
    match error.root() {
        KernelError::Unsupported { .. } => {
            let what = error.missing().unwrap_or_else(|| "model".to_owned());
            Ended::Answered(Response::unsupported(what, message))
        }
        KernelError::Limit(_) => Ended::OutOfMemory(message),
        KernelError::Deadline => Ended::Timeout("no answer in time".to_owned()),
        _ => Ended::Answered(Response::run_error(message)),
    }
}

impl Host for Builtin {
    fn declaration(&self) -> Declaration {
        Declaration::named("builtin", env!("CARGO_PKG_VERSION"))
    }

    fn jobs(&self) -> Option<usize> {
        self.jobs
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        catching(|| self.run_model(request)).into()
    }
}
