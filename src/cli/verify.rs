//! Runs that verify a conversion, on inputs from files and on generated inputs.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::proto::GraphProto;
use onnx_conformance_report::models::{InputPlan, Proof, RunFailure, RunLoaded, Trials, generated_trial, model_name};
use onnx_conformance_subject::{Builtin, Ended, Phase, Response};

use crate::cli::input_files::input_sets;
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

/// Runs the model in `file` on inputs for `graph`, and the result of `convert` on the file, and compares the outputs. Returns
/// the proof and the converted model.
pub(crate) fn verify(
    verification: &Verification,
    graph: Option<&GraphProto>,
    file: Bytes,
    convert: impl FnOnce(Bytes) -> anyhow::Result<Bytes>,
) -> anyhow::Result<(Proof, Bytes)> {
    let Some(graph) = graph else { return Ok((Proof::not_verified("the model has no graph"), convert(file)?)) };
    let (plan, limits) = (InputPlan::new(graph), verification.allowance.limits());
    let given = verification.inputs.map(input_sets).transpose()?.unwrap_or_default();
    let mut made = verification.count;
    if made > 0
        && let Err(failure) = generated_trial(&plan, 0, 0, &limits)
    {
        match failure {
            RunFailure::Limit(why) => return Err(not_verified(verification, &why)),
            RunFailure::Model(why) | RunFailure::Never(why) if given.is_empty() => {
                return Ok((Proof::not_verified(&format!("{why}; provide inputs with --inputs")), convert(file)?));
            }
            RunFailure::Model(_) | RunFailure::Never(_) => made = 0,
        }
    }
    // Unreadable inputs are an error before anything runs.
    for set in &given {
        set.read(plan.wanted())?;
    }
    let inputs = |number: usize, way: usize| match given.get(number) {
        Some(set) => set.read(plan.wanted()).map_err(|error| RunFailure::Model(format!("{error:#}"))),
        None => generated_trial(&plan, way, number - given.len(), &limits),
    };
    let folder = verification.model.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let load = |model: &Bytes| load(model, folder, verification.allowance);
    let ways = |number: usize| if number < given.len() { 1 } else { plan.ways() };
    let trials = Trials { count: given.len() + made, ways: &ways, inputs: &inputs, load: &load };
    let expected = trials.before(&file).map_err(|error| not_verified(verification, &error.0))?;
    let converted = convert(file)?;
    let proof = trials.after(&expected, &converted).map_err(|error| not_verified(verification, &error.0))?;
    Ok((proof, converted))
}

fn not_verified(verification: &Verification, why: &str) -> anyhow::Error {
    let name = model_name(verification.model);
    verification
        .allowance
        .limit_error(&format!("{name} was not verified, so nothing is written ({why})"))
        .context("the verification did not finish; --verify 0 skips it")
}

/// Loads a model on the built-in executor.
fn load(model: &Bytes, folder: &Path, allowance: Allowance) -> Result<RunLoaded<'static>, RunFailure> {
    let builtin = Builtin::new(allowance.time_left()).with_memory(allowance.memory());
    let loaded = builtin.load(model, Some(folder)).map_err(failure)?;
    Ok(Box::new(move |inputs, held| loaded.run(inputs, held).into_values().map_err(failure)))
}

fn failure(ended: Ended) -> RunFailure {
    match ended {
        Ended::Timeout(message) | Ended::OutOfMemory(message) => RunFailure::Limit(message),
        Ended::Answered(Response::Unsupported { message, .. } | Response::Error { phase: Phase::Load, message }) => {
            RunFailure::Never(message)
        }
        other => RunFailure::Model(other.message().to_owned()),
    }
}
