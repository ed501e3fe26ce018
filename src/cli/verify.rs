//! The proof of a conversion: the model before and after runs on the same inputs, and gives the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto, ValueInfoProto, decode};
use onnx_conformance_reference::value::Value;

use crate::case::{MOST_BINARY, Named, read_file};
use crate::compare::{Accuracy, compare};
use crate::models::made_up_inputs;
use crate::runtime::{Builtin, Ended, Host as _, Request, Response};

/// How long one run may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// How near an element that is not the same must be: upstream's rule.
const CLOSE: Accuracy = Accuracy::Close { relative: 1e-3, absolute: 1e-7 };

/// What both models are run on.
pub(crate) struct Trials<'a> {
    /// The file of the model before, beside which its external data is.
    pub(crate) model: &'a Path,
    /// How many inputs are made up.
    pub(crate) count: usize,
    /// A folder of inputs.
    pub(crate) inputs: Option<&'a Path>,
}

/// What the trials showed.
pub(crate) enum Proof {
    /// Both models gave the same.
    Same(String),
    /// Nothing could be compared, because of this.
    NotVerified(String),
    /// Some output differs.
    Differs(String),
}

/// Runs both models on the inputs, and compares.
pub(crate) fn prove(trials: &Trials, before: &ModelProto, after: &ModelProto) -> anyhow::Result<Proof> {
    let not_verified = |why: String| Ok(Proof::NotVerified(format!("not verified: {why}")));
    let Some(graph) = &before.graph else { return not_verified("the model has no graph".to_owned()) };
    let (given, made) = match inputs(trials, graph) {
        Ok(inputs) => inputs?,
        Err(why) => return not_verified(why),
    };
    if given.is_empty() && made.is_empty() {
        return not_verified("no inputs were asked for".to_owned());
    }
    let models = [before, after].map(|model| Bytes::from(model.encode_to_vec()));
    let folder = trials.model.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (mut compared, mut exact, mut why) = (0, true, String::new());
    for (name, inputs) in given.iter().chain(&made) {
        let expected = match run(&models[0], folder, inputs) {
            Ok(values) => values,
            Err(error) => {
                why = error;
                continue;
            }
        };
        let actual = match run(&models[1], folder, inputs) {
            Ok(values) => values,
            Err(error) => {
                return Ok(Proof::Differs(format!("on {name} the model runs, and converted it does not: {error}")));
            }
        };
        for (position, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
            exact &= expected == actual;
            if let Err(difference) = compare(expected, actual, &CLOSE) {
                return Ok(Proof::Differs(format!("on {name}, output {position}: {}", difference.message)));
            }
        }
        compared += 1;
    }
    if compared == 0 {
        return not_verified(format!("the model does not run on the inputs: {why}"));
    }
    let how = if exact { "the same to the last bit" } else { "the same within 1e-3 of each element" };
    Ok(Proof::Same(format!("verified: {compared} of {} inputs give {how}", given.len() + made.len())))
}

/// Inputs of a run, with what they are called.
type Inputs = Vec<(String, Vec<Named>)>;

/// The inputs of the folder, and those that are made up; or why none can be.
fn inputs(trials: &Trials, graph: &GraphProto) -> Result<anyhow::Result<(Inputs, Inputs)>, String> {
    let is_default = |input: &ValueInfoProto| graph.initializer.iter().any(|tensor| tensor.name() == input.name());
    let wanted: Vec<&ValueInfoProto> = graph.input.iter().filter(|input| !is_default(input)).collect();
    let given = match trials.inputs.map(|folder| of_folder(folder, &wanted)).transpose() {
        Ok(given) => given.unwrap_or_default(),
        Err(error) => return Ok(Err(error)),
    };
    let mut made = Vec::new();
    for trial in 0..trials.count {
        match made_up_inputs(&wanted, trial) {
            Ok(inputs) => made.push((format!("made-up input {trial}"), inputs)),
            Err(_) if !given.is_empty() => return Ok(Ok((given, Vec::new()))),
            Err(why) => return Err(format!("{why}; give inputs by --inputs")),
        }
    }
    Ok(Ok((given, made)))
}

/// The inputs in a folder, or in the folders in it.
fn of_folder(folder: &Path, wanted: &[&ValueInfoProto]) -> anyhow::Result<Inputs> {
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
