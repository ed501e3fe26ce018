//! The runs that prove a conversion: on inputs from a folder, and on inputs that are made up.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_conformance_reference::proto::{ModelProto, ValueInfoProto, decode};
use onnx_conformance_reference::value::Value;

use crate::case::{MOST_BINARY, Named, read_file};
use crate::models::{Proof, TrialInputs, inputs_to_give, made_up_trials, prove};
use crate::runtime::{Builtin, Ended, Host as _, Request, Response};

/// How long one run may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// What both models are run on.
pub(crate) struct Trials<'a> {
    /// The file of the model before, beside which its external data is.
    pub(crate) model: &'a Path,
    /// How many inputs are made up.
    pub(crate) count: usize,
    /// A folder of inputs.
    pub(crate) inputs: Option<&'a Path>,
}

/// Runs both models on the inputs, and compares.
pub(crate) fn verify(trials: &Trials, before: &ModelProto, after: &ModelProto) -> anyhow::Result<Proof> {
    let Some(graph) = &before.graph else { return Ok(Proof::not_verified("the model has no graph")) };
    let wanted = inputs_to_give(graph);
    let mut inputs = trials.inputs.map(|folder| of_folder(folder, &wanted)).transpose()?.unwrap_or_default();
    match made_up_trials(graph, trials.count) {
        Ok(made) => inputs.extend(made),
        Err(why) if inputs.is_empty() => return Ok(Proof::not_verified(&format!("{why}; give inputs by --inputs"))),
        Err(_) => {}
    }
    let folder = trials.model.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(prove(before, after, &inputs, &|model, values| run(model, folder, values)))
}

/// The inputs in a folder, or in the folders in it.
fn of_folder(folder: &Path, wanted: &[&ValueInfoProto]) -> anyhow::Result<Vec<TrialInputs>> {
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        folders.push(entry.with_context(|| folder.display().to_string())?.path());
    }
    folders.retain(|folder| folder.join("input_0.pb").is_file());
    folders.sort();
    if folders.is_empty() {
        bail!("{}: neither it nor a folder in it has a file input_0.pb", folder.display());
    }
    let mut all = Vec::new();
    for folder in folders {
        let mut inputs = Vec::new();
        for (position, input) in wanted.iter().enumerate() {
            let path = folder.join(format!("input_{position}.pb"));
            let context = || path.display().to_string();
            let declared = input
                .r#type
                .as_ref()
                .context("an input has no type")
                .and_then(|declared| Ok(decode::value_type(declared)?));
            let bytes = read_file(&path, MOST_BINARY).with_context(context)?;
            let value = decode::value(bytes.into(), &declared.with_context(context)?).with_context(context)?;
            inputs.push(Named { name: input.name().to_owned(), value });
        }
        all.push((folder.display().to_string(), inputs));
    }
    Ok(all)
}

/// The outputs of a model on the built-in executor.
fn run(model: &Bytes, folder: &Path, inputs: &[Named]) -> Result<Vec<Value>, String> {
    let request = Request { id: "convert", model, folder: Some(folder), inputs, outputs: &[] };
    match Builtin::new(TIMEOUT).run(&request).ended {
        Ended::Answered(Response::Outputs { values, .. }) => Ok(values),
        Ended::Answered(Response::Unsupported { message, .. } | Response::Error { message, .. })
        | Ended::Timeout(message)
        | Ended::OutOfMemory(message)
        | Ended::Crash(message)
        | Ended::ProtocolError(message) => Err(message),
    }
}
