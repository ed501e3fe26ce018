//! The proof of a conversion: the model before and after runs on the same inputs, and gives the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_conformance_reference::dtype::{ElementType, Kind};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::dimension;
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{GraphProto, Message as _, ModelProto, ValueInfoProto, decode};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{MOST_BINARY, Named, read_file};
use crate::compare::{Accuracy, compare};
use crate::generate::Random;
use crate::runtime::{Builtin, Ended, Host as _, Request, Response};

/// How long one run may take.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The most elements that one made-up input has.
const MOST_ELEMENTS: usize = 1 << 22;

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
        let mut sizes = BTreeMap::new();
        let mut inputs = Vec::new();
        for input in &wanted {
            let random = Random::new(&format!("{trial} {}", input.name()));
            match made_up(input, random, &mut sizes) {
                Ok(value) => inputs.push(Named { name: input.name().to_owned(), value }),
                Err(_) if !given.is_empty() => return Ok(Ok((given, Vec::new()))),
                Err(why) => return Err(format!("{why}; give inputs by --inputs")),
            }
        }
        made.push((format!("made-up input {trial}"), inputs));
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

/// A tensor of the declared type; a dimension without a size gets a small one, the same wherever its name stands.
fn made_up(input: &ValueInfoProto, mut random: Random, sizes: &mut BTreeMap<String, usize>) -> Result<Value, String> {
    let name = input.name();
    let declared = input.r#type.as_ref().ok_or_else(|| format!("input '{name}' has no type"))?;
    let Ok(ValueType::Tensor(element)) = decode::value_type(declared) else {
        return Err(format!("input '{name}' is no tensor"));
    };
    let Some(type_proto::Value::TensorType(tensor)) = &declared.value else {
        return Err(format!("input '{name}' is no tensor"));
    };
    let Some(declared) = &tensor.shape else { return Err(format!("the rank of input '{name}' is not declared")) };
    let mut shape = Vec::new();
    for dim in &declared.dim {
        let small = |random: &mut Random| usize::try_from(random.between(1, 4)).unwrap_or(1);
        shape.push(match &dim.value {
            Some(dimension::Value::DimValue(size)) => {
                usize::try_from(*size).map_err(|_| format!("input '{name}' has a negative dimension"))?
            }
            Some(dimension::Value::DimParam(dim)) => *sizes.entry(dim.clone()).or_insert_with(|| small(&mut random)),
            None => small(&mut random),
        });
    }
    let count = shape.iter().try_fold(1_usize, |count, size| count.checked_mul(*size));
    let Some(count) = count.filter(|count| *count <= MOST_ELEMENTS) else {
        return Err(format!("input '{name}' is too large to be made up"));
    };
    filled(element, &shape, count, &mut random).map_err(|error| format!("input '{name}': {error}"))
}

/// Small numbers: floats are multiples of 1/8 from -8 to 8, integers 0 to 3.
fn filled(element: ElementType, shape: &[usize], count: usize, random: &mut Random) -> Result<Value, String> {
    let error = |error: onnx_conformance_reference::tensor::TensorError| error.to_string();
    let tensor = match element.kind() {
        Kind::Signed | Kind::Unsigned => {
            let values: Vec<i128> = (0..count).map(|_| i128::from(random.between(0, 3))).collect();
            Tensor::of_integers(element, shape, &values).map_err(error)?
        }
        _ if element == ElementType::String => {
            let texts: Vec<&str> = (0..count).map(|_| if random.below(2) == 0 { "a" } else { "b" }).collect();
            Tensor::of_strings(shape, &texts).map_err(error)?
        }
        _ if element.is_float() => {
            let values: Vec<f64> = (0..count).map(|_| random.between(-64, 64) as f64 / 8.0).collect();
            Tensor::of_floats(element, shape, &values).map_err(error)?
        }
        _ if element == ElementType::Bool => {
            let builder = onnx_conformance_reference::tensor::TensorBuilder::unlimited(element, shape.to_vec());
            let values: Vec<bool> = (0..count).map(|_| random.below(2) == 1).collect();
            builder.and_then(|builder| builder.bools(values)).map_err(error)?
        }
        _ => return Err(format!("no values of {element} are made up")),
    };
    Ok(Value::Tensor(tensor))
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
