//! Actual outputs of failing cases, kept until they are written next to the expected ones.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{ThreadId, current};
use std::{fs, io};

use onnx_conformance_cases::case::Case;
use onnx_conformance_reference::proto::encode;
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Declaration, Ended, Host, Ran, Request, Response};

use crate::run::{CaseResult, Outcome};

/// Maximum number of cases whose outputs are kept.
const MAX_CASES: usize = 1_000;

/// The outputs of a request.
struct Answer {
    /// The id of the request.
    id: String,
    /// True if the request ran in a separate process.
    is_alone: bool,
    values: Vec<Value>,
}

/// Outputs of each executed data set, in order.
type Sets = Vec<Vec<Value>>;

/// A host that records the outputs of another host.
pub struct Recorder<'a> {
    host: Box<dyn Host + Send + 'a>,
    /// The runtime's declaration, completed by the results of the probe.
    declaration: Declaration,
    /// Outputs of the requests of each thread, by request id, until their case has a result.
    pending: Mutex<HashMap<ThreadId, Vec<Answer>>>,
    /// Outputs of failing cases, by id.
    failed: Mutex<BTreeMap<String, Sets>>,
}

impl<'a> Recorder<'a> {
    /// Records the answers of this host for a runtime with this declaration.
    pub fn new(host: Box<dyn Host + Send + 'a>, declaration: Declaration) -> Recorder<'a> {
        Recorder { host, declaration, pending: Mutex::default(), failed: Mutex::default() }
    }

    /// Returns the host, whose answers are not recorded.
    pub fn host(&self) -> &(dyn Host + 'a) {
        &*self.host
    }

    /// Returns the name and version of the runtime.
    pub fn runtime(&self) -> String {
        format!("{} {}", self.declaration.name, self.declaration.version)
    }

    fn note(&self, request: &Request<'_>, ran: &Ran, is_alone: bool) {
        if let Ended::Answered(Response::Outputs { values, .. }) = &ran.ended {
            let answer = Answer { id: request.id.to_owned(), is_alone, values: values.clone() };
            lock(&self.pending).entry(current().id()).or_default().push(answer);
        }
    }

    /// Keeps the outputs of a failing case and drops all others. Must be called on the thread that ran the case.
    pub fn end_case(&self, case: &Case, result: &CaseResult) {
        let control = case.refusal.as_ref().map(|refusal| refusal.control.id.as_str());
        let mut sets = Vec::new();
        if let Some(pending) = lock(&self.pending).get_mut(&current().id()) {
            let (own, others): (Vec<_>, Vec<_>) = std::mem::take(pending)
                .into_iter()
                .filter(|answer| Some(answer.id.as_str()) != control)
                .partition(|answer| answer.id == case.id);
            *pending = others;
            sets.extend(own.into_iter().map(|answer| answer.values));
        }
        let mut failed = lock(&self.failed);
        let is_failure = result.outcome != Outcome::Pass && !result.outcome.is_inconclusive();
        if is_failure && !sets.is_empty() && failed.len() < MAX_CASES {
            failed.insert(case.id.clone(), sets);
        }
    }

    /// Returns the outputs of a failing case by data set, if it has any.
    pub fn outputs(&self, id: &str) -> Option<Vec<Vec<Value>>> {
        lock(&self.failed).get(id).cloned()
    }

    /// Writes the outputs of a case below its folder, as `actual/test_data_set_0/output_0.pb`. Does nothing if it has none.
    pub fn write(&self, folder: &Path, case: &Case) -> io::Result<()> {
        let Some(sets) = lock(&self.failed).remove(&case.id) else { return Ok(()) };
        for (set, values) in sets.iter().enumerate() {
            let home = folder.join(format!("actual/test_data_set_{set}"));
            fs::create_dir_all(&home)?;
            let outputs = case.data.get(set).map_or(&[][..], |data| &data.outputs);
            for (number, value) in values.iter().enumerate() {
                let name = outputs.get(number).map_or_else(|| format!("output_{number}"), |output| output.name.clone());
                fs::write(home.join(format!("output_{number}.pb")), encode::value(value, &name))?;
            }
        }
        Ok(())
    }
}

impl Host for Recorder<'_> {
    fn declaration(&self) -> Declaration {
        self.declaration.clone()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        let ran = self.host.run(request);
        self.note(request, &ran, false);
        ran
    }

    fn run_alone(&self, request: &Request<'_>) -> Option<Ran> {
        let ran = self.host.run_alone(request)?;
        // This run replaces the earlier one.
        if let Some(pending) = lock(&self.pending).get_mut(&current().id()) {
            pending.retain(|answer| answer.is_alone || answer.id != request.id);
        }
        self.note(request, &ran, true);
        Some(ran)
    }

    fn jobs(&self) -> Option<usize> {
        self.host.jobs()
    }

    fn refuses_memory(&self) -> bool {
        self.host.refuses_memory()
    }

    fn finish(&self) -> Vec<String> {
        self.host.finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
