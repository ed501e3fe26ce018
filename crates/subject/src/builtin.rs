//! The built-in executor as a runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor::{RunError, run};
use onnx_conformance_reference::kernels::framework::budget::{ExecutionLimits, Observer};
use onnx_conformance_reference::kernels::framework::error::KernelError;
use onnx_conformance_reference::model::{LoadLimits, Model, ModelError, read_model};
use onnx_conformance_reference::proto::measure::MeasureError;
use onnx_conformance_reference::value::Value;

use crate::folder_data::{FolderData, KeptData};
use crate::in_process::catch_panics;
use crate::{Declaration, Ended, Host, Named, Ran, Request, Response, Stop};

/// The built-in executor.
#[derive(Debug, Clone)]
pub struct Builtin {
    timeout: Duration,
    memory: usize,
    stop: Stop,
    deadline: Deadline,
    jobs: Option<usize>,
    kept: Option<KeptData>,
}

impl Builtin {
    /// The name that the executor declares.
    pub const NAME: &str = "builtin";

    /// Creates the executor. A run stops after `timeout`, or if it would take more than 4 GiB.
    pub fn new(timeout: Duration) -> Builtin {
        Builtin {
            timeout,
            memory: ExecutionLimits::default().bytes,
            stop: Stop::default(),
            deadline: Deadline::never(),
            jobs: None,
            kept: None,
        }
    }

    /// Limits the memory of a run in bytes: the model, its inputs, and all computed values.
    #[must_use]
    pub fn with_memory(self, memory: usize) -> Builtin {
        Builtin { memory, ..self }
    }

    /// Makes runs stop as soon as the flag is set.
    #[must_use]
    pub fn stopped_by(self, stop: &Stop) -> Builtin {
        Builtin { stop: stop.clone(), ..self }
    }

    /// Stops runs at this deadline, if it is earlier than their own.
    #[must_use]
    pub fn until(self, deadline: &Deadline) -> Builtin {
        Builtin { deadline: deadline.clone(), ..self }
    }

    /// Shares external data with another model of the same folder.
    #[must_use]
    pub fn sharing_data(self, kept: &KeptData) -> Builtin {
        Builtin { kept: Some(kept.clone()), ..self }
    }

    /// Sets the number of cases that run at a time.
    #[must_use]
    pub fn with_jobs(self, jobs: Option<usize>) -> Builtin {
        Builtin { jobs, ..self }
    }

    /// Loads a model for several runs, with the external data in a folder. The time of the executor is that of loading and all runs.
    pub fn load(&self, model: &Bytes, folder: Option<&Path>) -> Result<LoadedModel, Ended> {
        catch_panics(|| self.load_within(model, folder, 0)).flatten()
    }

    /// Loads a model while this many other bytes are in use.
    fn load_within(&self, model: &Bytes, folder: Option<&Path>, held: usize) -> Result<LoadedModel, Ended> {
        let (started, timeout, stop, end) = (Instant::now(), self.timeout, self.stop.clone(), self.deadline.clone());
        let deadline = Deadline::new(move || stop.is_set() || end.is_over() || started.elapsed() > timeout);
        let external = FolderData::new(folder, deadline.clone()).sharing(self.kept.clone());
        // The model shares its weights with its file, which is counted here. Other files count when the model is
        // loaded.
        let held = held.saturating_add(model.len());
        let Some(left) = self.memory.checked_sub(held) else {
            let memory = self.memory;
            return Err(Ended::OutOfMemory(format!(
                "the model and the expected outputs have {held} bytes, over the limit of {memory} bytes"
            )));
        };
        let loading = LoadLimits { deadline: deadline.clone(), bytes: left };
        match read_model(model.clone(), &external, &loading) {
            Ok(model) => Ok(LoadedModel { model, deadline, bytes: left }),
            Err(error) => Err(refused(&error)),
        }
    }

    fn run_model(&self, request: &Request<'_>) -> Ended {
        let expected = request.outputs.iter().map(|output| usize::try_from(output.bytes).unwrap_or(usize::MAX));
        match self.load_within(request.model, request.folder, expected.fold(0, usize::saturating_add)) {
            Ok(model) => model.run_within(request.inputs, model.bytes),
            Err(ended) => ended,
        }
    }
}

/// A model that the built-in executor has loaded.
#[derive(Debug)]
pub struct LoadedModel {
    model: Model,
    deadline: Deadline,
    /// Memory that is left for a run.
    bytes: usize,
}

impl LoadedModel {
    /// Runs the model while this many other bytes are in use.
    pub fn run(&self, inputs: &[Named], held: usize) -> Ended {
        catch_panics(|| self.run_within(inputs, self.bytes.saturating_sub(held))).unwrap_or_else(|ended| ended)
    }

    fn run_within(&self, inputs: &[Named], bytes: usize) -> Ended {
        let inputs: BTreeMap<String, Value> =
            inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
        let cells = Arc::new(Mutex::new(BTreeSet::new()));
        let observer = Some(collect_cells(&cells));
        let limits = ExecutionLimits { deadline: self.deadline.clone(), bytes, observer, ..ExecutionLimits::default() };
        match run(&self.model, inputs, limits) {
            Ok(values) => {
                let cells = std::mem::take(&mut *cells.lock().unwrap_or_else(PoisonError::into_inner));
                Ended::Answered(Response::Outputs { values, cells: cells.into_iter().collect() })
            }
            Err(error) => failed(error),
        }
    }
}

/// Records the operator version and the bound types of every executed node.
fn collect_cells(cells: &Arc<Mutex<BTreeSet<String>>>) -> Observer {
    let cells = Arc::clone(cells);
    Arc::new(move |spec, types| {
        let mut cells = cells.lock().unwrap_or_else(PoisonError::into_inner);
        let version = spec.version.qualified();
        cells.extend(types.iter().map(|(parameter, value_type)| format!("{version} {parameter}={value_type}")));
        cells.insert(version);
    })
}

fn refused(error: &ModelError) -> Ended {
    match error {
        ModelError::Limit(MeasureError::Deadline) => Ended::Timeout("the model did not load in time".to_owned()),
        ModelError::Limit(MeasureError::Limit(_)) => Ended::OutOfMemory(error.to_string()),
        _ => Ended::Answered(Response::load_error(error.to_string())),
    }
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

    fn refuses_memory(&self) -> bool {
        true
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        catch_panics(|| self.run_model(request)).unwrap_or_else(|ended| ended).into()
    }
}
