//! Detection of faults by required cases.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onnx_conformance_cases::case::{Case, Level};
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog, cases};
use onnx_conformance_harness::run::{Outcome, judge};
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::executor::{RunError, run_faulty};
use onnx_conformance_reference::kernels::framework::budget::ExecutionLimits;
use onnx_conformance_reference::kernels::framework::call::Call;
use onnx_conformance_reference::kernels::framework::registry::Kernel;
use onnx_conformance_reference::model::{LoadLimits, ModelError, read_model};
use onnx_conformance_reference::proto::decode::NoExternalData;
use onnx_conformance_reference::spec::{OperatorVersion, Specs};
use onnx_conformance_reference::value::Value;
use onnx_conformance_subject::{Declaration, Ended, Host, Ran, Request, Response};
use rayon::prelude::*;

use crate::Fault;
use crate::call::NOT_APPLICABLE;

/// Time limit of a faulty kernel per case.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Result for a fault.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The fault.
    pub fault: Fault,
    /// The first required case that detects it, with its message; `None` if none does.
    pub noticed: Option<(String, String)>,
    /// The first other case that detects it, if no required case does: the standard does not determine the result.
    pub otherwise: Option<String>,
    /// The number of required cases.
    pub cases: usize,
}

/// Runs those required cases of each fault's operator that are selected, in order, until one detects the fault.
pub fn measure(faults: Vec<Fault>, is_selected: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<Verdict>, GenerateError> {
    let operators = OperatorCatalog::embedded();
    let mut by_operator: BTreeMap<(String, String), Vec<Fault>> = BTreeMap::new();
    for fault in faults {
        by_operator.entry((fault.domain.clone(), fault.operator.clone())).or_default().push(fault);
    }
    let groups: Vec<_> = by_operator.into_iter().collect();
    let verdicts: Result<Vec<Vec<Verdict>>, GenerateError> = groups
        .into_par_iter()
        .map(|((domain, name), faults)| {
            let mut cases_by_version = BTreeMap::new();
            for since in Specs::embedded().versions(&domain, &name) {
                let version = OperatorVersion::new(&domain, &name, since);
                cases_by_version.insert(since, with_outputs(&operators, &version, is_selected)?);
            }
            Ok(faults.into_iter().map(|fault| measure_fault(fault, &cases_by_version)).collect())
        })
        .collect();
    Ok(verdicts?.into_iter().flatten().collect())
}

/// Returns the selected cases with outputs, required or not.
fn with_outputs(
    operators: &OperatorCatalog,
    version: &OperatorVersion,
    is_selected: &dyn Fn(&str) -> bool,
) -> Result<Vec<Case>, GenerateError> {
    if !operators.has(version) {
        return Ok(Vec::new());
    }
    let mut cases = cases(operators, version, &|id| !id.contains("/refuse/") && is_selected(id))?;
    cases.retain(|case| case.refusal.is_none());
    Ok(cases)
}

fn measure_fault(fault: Fault, cases_by_version: &BTreeMap<u32, Vec<Case>>) -> Verdict {
    let (first, last) = fault.versions;
    let cases = cases_by_version.range(first..=last).flat_map(|(_, cases)| cases);
    let (required, others): (Vec<&Case>, Vec<&Case>) = cases.partition(|case| case.level == Level::Required);
    let host = Faulty { fault: &fault };
    let noticed = required.iter().find_map(|case| notice(case, &host));
    let missed = if noticed.is_none() { others } else { Vec::new() };
    let otherwise = missed.iter().find_map(|case| {
        let judged = Case { level: Level::Required, ..(*case).clone() };
        notice(&judged, &host).map(|(id, _)| id)
    });
    let cases = required.len();
    Verdict { fault, noticed, otherwise, cases }
}

/// Returns the case and the message if the faulty kernel fails it.
fn notice(case: &Case, host: &Faulty<'_>) -> Option<(String, String)> {
    let result = judge(case, host, &host.declaration());
    let is_noticed = match result.outcome {
        Outcome::Mismatch | Outcome::WrongShape | Outcome::WrongType => true,
        Outcome::Error => !result.message.contains(NOT_APPLICABLE),
        _ => false,
    };
    is_noticed.then(|| (case.id.clone(), result.message))
}

/// Reference executor with a faulty kernel.
struct Faulty<'a> {
    fault: &'a Fault,
}

/// Reason why a case has no outputs.
#[derive(Debug, thiserror::Error)]
enum NoOutputs {
    #[error(transparent)]
    Load(#[from] ModelError),
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Faulty<'_> {
    fn compute(&self, request: &Request<'_>) -> Result<Vec<Value>, NoOutputs> {
        let model = read_model(request.model.clone(), &NoExternalData, &LoadLimits::default())?;
        let inputs = request.inputs.iter().map(|input| (input.name.clone(), input.value.clone())).collect();
        let started = Instant::now();
        let limits = ExecutionLimits {
            deadline: Deadline::new(move || started.elapsed() > TIMEOUT),
            ..ExecutionLimits::default()
        };
        let run_kernel = |call: &Call<'_>, kernel: &'static Kernel| {
            let version = &call.spec.version;
            let (first, last) = self.fault.versions;
            let is_faulty = version.name == self.fault.operator
                && version.domain == self.fault.domain
                && (first..=last).contains(&version.since);
            if is_faulty { self.fault.change.run(call, kernel) } else { kernel.run(call) }
        };
        Ok(run_faulty(&model, inputs, limits, &run_kernel)?)
    }
}

impl Host for Faulty<'_> {
    fn declaration(&self) -> Declaration {
        Declaration::named("faulty", env!("CARGO_PKG_VERSION"))
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        let response = match self.compute(request) {
            Ok(values) => Response::Outputs { values, cells: Vec::new() },
            Err(error) => Response::run_error(error.to_string()),
        };
        Ended::Answered(response).into()
    }
}
