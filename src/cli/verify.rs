//! Runs that verify a conversion, on inputs from a folder and on generated inputs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_conformance_cases::case::{MAX_BINARY, Named, read_file};
use onnx_conformance_reference::proto::{GraphProto, ValueInfoProto, decode};
use onnx_conformance_report::models::{
    Proof, RunFailure, RunLoaded, TrialInputs, Trials, generated_trial, inputs_to_give, model_name,
};
use onnx_conformance_subject::{Builtin, Ended};

use crate::cli::limits::Allowance;

/// Settings of the runs.
pub(crate) struct Verification<'a> {
    /// File of the original model. Its external data is in the same folder.
    pub(crate) model: &'a Path,
    /// Number of generated inputs.
    pub(crate) count: usize,
    /// A folder of inputs.
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
    let (wanted, limits) = (inputs_to_give(graph), verification.allowance.limits());
    let folders = verification.inputs.map(folders_of_inputs).transpose()?.unwrap_or_default();
    let mut made = verification.count;
    if made > 0
        && let Err(failure) = generated_trial(&wanted, 0, &limits)
    {
        match failure {
            RunFailure::Limit(why) => return Err(not_verified(verification, &why)),
            RunFailure::Model(why) if folders.is_empty() => {
                return Ok((Proof::not_verified(&format!("{why}; provide inputs with --inputs")), convert(file)?));
            }
            RunFailure::Model(_) => made = 0,
        }
    }
    // Unreadable inputs are an error before anything runs.
    for folder in &folders {
        inputs_in_folder(folder, &wanted)?;
    }
    let inputs = |number: usize| match folders.get(number) {
        Some(folder) => inputs_in_folder(folder, &wanted).map_err(|error| RunFailure::Model(format!("{error:#}"))),
        None => generated_trial(&wanted, number - folders.len(), &limits),
    };
    let folder = verification.model.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let load = |model: &Bytes| load(model, folder, verification.allowance);
    let trials = Trials { count: folders.len() + made, inputs: &inputs, load: &load };
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

/// Returns the folder and its subfolders, as far as they contain inputs.
fn folders_of_inputs(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        folders.push(entry.with_context(|| folder.display().to_string())?.path());
    }
    folders.retain(|folder| folder.join("input_0.pb").is_file());
    folders.sort();
    if folders.is_empty() {
        bail!("{}: no input_0.pb in the folder or its subfolders", folder.display());
    }
    Ok(folders)
}

/// Reads the inputs in a folder.
fn inputs_in_folder(folder: &Path, wanted: &[&ValueInfoProto]) -> anyhow::Result<TrialInputs> {
    let mut inputs = Vec::new();
    for (position, input) in wanted.iter().enumerate() {
        let path = folder.join(format!("input_{position}.pb"));
        let context = || path.display().to_string();
        let declared = input
            .r#type
            .as_ref()
            .context("an input has no type")
            .and_then(|declared| Ok(decode::value_type(declared)?));
        let bytes = read_file(&path, MAX_BINARY).with_context(context)?;
        let value = decode::value(bytes.into(), &declared.with_context(context)?).with_context(context)?;
        inputs.push(Named { name: input.name().to_owned(), value });
    }
    Ok((folder.display().to_string(), inputs))
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
        other => RunFailure::Model(other.message().to_owned()),
    }
}
