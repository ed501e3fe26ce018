//! Runs that verify a conversion, on inputs from files and on generated inputs.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_check::Limits;
use onnx_conformance_reference::proto::GraphProto;
use onnx_conformance_report::models::{
    InputPlan, Proof, RunFailure, TrialInputs, Trials, generated_trial, load_on_builtin, model_name,
};
use onnx_conformance_subject::{Builtin, KeptData};

use crate::cli::input_files::{InputSet, input_sets};
use crate::cli::limits::Allowance;

/// Settings of the runs.
pub(crate) struct Verification<'a> {
    /// File of the original model. Its external data is in the same folder.
    pub(crate) model: &'a Path,
    /// Number of generated inputs.
    pub(crate) count: usize,
    /// A file or a folder with inputs.
    pub(crate) inputs: Option<&'a Path>,
    /// Limits of all runs together.
    pub(crate) allowance: Allowance,
}

/// Inputs of the runs.
pub(crate) struct RunInputs<'a> {
    plan: InputPlan<'a>,
    given: Vec<InputSet>,
    /// Number of generated inputs.
    made: usize,
    limits: Limits,
}

impl<'a> RunInputs<'a> {
    /// Prepares the inputs for a graph. The inner error is the reason why there are none.
    pub(crate) fn new(
        verification: &Verification<'_>,
        graph: &'a GraphProto,
    ) -> anyhow::Result<Result<RunInputs<'a>, String>> {
        let (plan, limits) = (InputPlan::new(graph), verification.allowance.limits());
        let given = verification.inputs.map(input_sets).transpose()?.unwrap_or_default();
        let mut made = verification.count;
        if made > 0
            && let Err(failure) = generated_trial(&plan, 0, 0, &limits)
        {
            match failure {
                RunFailure::Limit(why) => return Err(not_verified(verification, &why)),
                RunFailure::Model(why) | RunFailure::Never(why) if given.is_empty() => {
                    return Ok(Err(format!("{why}; provide inputs with --inputs")));
                }
                RunFailure::Model(_) | RunFailure::Never(_) => made = 0,
            }
        }
        // Unreadable inputs are an error before anything runs.
        for set in &given {
            set.read(plan.wanted())?;
        }
        Ok(Ok(RunInputs { plan, given, made, limits }))
    }

    /// The number of runs.
    pub(crate) fn count(&self) -> usize {
        self.given.len() + self.made
    }

    /// The number of ways to give the inputs of a run.
    pub(crate) fn ways(&self, number: usize) -> usize {
        if number < self.given.len() { 1 } else { self.plan.ways() }
    }

    /// Returns the inputs of a run.
    pub(crate) fn inputs(&self, number: usize, way: usize) -> Result<TrialInputs, RunFailure> {
        match self.given.get(number) {
            Some(set) => set.read(self.plan.wanted()).map_err(|error| RunFailure::Model(format!("{error:#}"))),
            None => generated_trial(&self.plan, way, number - self.given.len(), &self.limits),
        }
    }
}

/// Runs the model in `file` on inputs for `graph`, and the result of `convert` on the file, and compares the outputs. Returns
/// the proof and the converted model.
pub(crate) fn verify(
    verification: &Verification,
    graph: Option<&GraphProto>,
    file: Bytes,
    convert: impl FnOnce(Bytes) -> anyhow::Result<Bytes>,
) -> anyhow::Result<(Proof, Bytes)> {
    let Some(graph) = graph else { return Ok((Proof::not_verified("the model has no graph"), convert(file)?)) };
    let inputs = match RunInputs::new(verification, graph)? {
        Ok(inputs) => inputs,
        Err(why) => return Ok((Proof::not_verified(&why), convert(file)?)),
    };
    let folder = folder_of(verification.model);
    let data = KeptData::default();
    let allowance = verification.allowance;
    let load = |model: &Bytes| {
        let builtin = Builtin::new(allowance.time_left()).with_memory(allowance.memory()).sharing_data(&data);
        load_on_builtin(&builtin, model, Some(folder))
    };
    let ways = |number: usize| inputs.ways(number);
    let run_inputs = |number: usize, way: usize| inputs.inputs(number, way);
    let trials = Trials { count: inputs.count(), ways: &ways, inputs: &run_inputs, load: &load };
    let expected = trials.before(&file).map_err(|error| not_verified(verification, &error.0))?;
    let converted = convert(file)?;
    let proof = trials.after(&expected, &converted).map_err(|error| not_verified(verification, &error.0))?;
    Ok((proof, converted))
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the error of runs that exceed a limit.
pub(crate) fn not_verified(verification: &Verification, why: &str) -> anyhow::Error {
    let name = model_name(verification.model);
    verification
        .allowance
        .limit_error(&format!("{name} was not verified, so nothing is written ({why})"))
        .context("the verification did not finish; --verify 0 skips it")
}
