//! Inputs of a model in files: arrays of numpy by name, or `input_0.pb` and so on, as in the test folders of ONNX.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use onnx_conformance_cases::case::{MAX_BINARY, Named, read_file};
use onnx_conformance_reference::proto::onnx::tensor_shape_proto::{Dimension, dimension};
use onnx_conformance_reference::proto::onnx::type_proto;
use onnx_conformance_reference::proto::{TypeProto, ValueInfoProto, decode};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use onnx_conformance_report::describe_case::shape_text;
use onnx_conformance_report::models::TrialInputs;

use crate::cli::npy::{arrays, read_array};

/// Inputs of one run: a folder with a file per input, or a `.npz` file.
pub(crate) struct InputSet(PathBuf);

/// Returns the sets of inputs in a `.npz` file or a folder: `.npz` files in it, and it and its subfolders as far as they have files of
/// inputs.
pub(crate) fn input_sets(path: &Path) -> anyhow::Result<Vec<InputSet>> {
    let context = || path.display().to_string();
    if !fs::metadata(path).with_context(context)?.is_dir() {
        if !has_ending(path, "npz") {
            bail!("{}: expected a .npz file, or a folder with a file per input, such as x.npy", path.display());
        }
        return Ok(vec![InputSet(path.to_owned())]);
    }
    let entries = fs::read_dir(path).with_context(context)?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let is_set = |path: &PathBuf| has_ending(path, "npz") || (path.is_dir() && has_inputs(path));
    let mut sets: Vec<PathBuf> = entries.with_context(context)?.into_iter().filter(is_set).collect();
    sets.extend(has_inputs(path).then(|| path.to_owned()));
    sets.sort();
    if sets.is_empty() {
        let files = "no input_0.pb, .npy or .npz file in the folder, and no input_0.pb or .npy file in its subfolders";
        bail!("{}: {files}", path.display());
    }
    Ok(sets.into_iter().map(InputSet).collect())
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// Returns true if a folder has a file of an input.
fn has_inputs(folder: &Path) -> bool {
    files_of_inputs(folder).is_ok_and(|files| !files.is_empty())
}

/// Returns the files of inputs in a folder by their names without an ending. `output_0.pb` and so on are no inputs.
fn files_of_inputs(folder: &Path) -> anyhow::Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut files: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let context = || folder.display().to_string();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let is_input = has_ending(&path, "npy") || has_ending(&path, "pb");
        if is_input && !stem.starts_with("output_") && path.is_file() {
            files.entry(stem).or_default().push(path);
        }
    }
    for paths in files.values_mut() {
        paths.sort();
    }
    Ok(files)
}

impl InputSet {
    /// Reads the inputs. Each of the model's inputs must be there, and nothing else.
    pub(crate) fn read(&self, wanted: &[&ValueInfoProto]) -> anyhow::Result<TrialInputs> {
        let name = self.0.display().to_string();
        let inputs = if self.0.is_dir() { in_folder(&self.0, wanted) } else { in_archive(&self.0, wanted) };
        Ok((name, inputs?))
    }
}

/// Reads the inputs in a folder: `x.npy`, `x.pb`, `input_0.npy` or `input_0.pb`.
fn in_folder(folder: &Path, wanted: &[&ValueInfoProto]) -> anyhow::Result<Vec<Named>> {
    let (shown, mut files) = (folder.display(), files_of_inputs(folder)?);
    let mut inputs = Vec::new();
    for (position, input) in wanted.iter().enumerate() {
        let numbered = format!("input_{position}");
        let mut found = files.remove(input.name()).unwrap_or_default();
        found.extend(files.remove(&numbered).unwrap_or_default());
        let path = match found.as_slice() {
            [path] => path,
            [] => bail!(
                "{shown}: input '{}' is missing; write it to {numbered}.pb, or to a .npy file of its name",
                input.name()
            ),
            [one, other, ..] => bail!(
                "{shown}: input '{}' is in {} and in {}; remove one of them",
                input.name(),
                file_name(one),
                file_name(other)
            ),
        };
        let declared = declared_type(input).with_context(|| path.display().to_string())?;
        let file: Bytes = read_file(path, MAX_BINARY).with_context(|| path.display().to_string())?.into();
        let value = if has_ending(path, "npy") {
            array(&file, input, &declared)
        } else {
            decode::value(file, &declared).map_err(anyhow::Error::from)
        };
        let fitting = value.and_then(|value| fitting(value, input, &declared));
        inputs.push(fitting.with_context(|| path.display().to_string())?);
    }
    if let Some((_, paths)) = files.pop_first() {
        bail!(
            "{shown}: {} is of no input; {}",
            paths.first().map(|path| file_name(path)).unwrap_or_default(),
            listed(wanted)
        );
    }
    Ok(inputs)
}

/// Reads the inputs in a `.npz` file by name, or those that `numpy.savez` names by their position.
fn in_archive(path: &Path, wanted: &[&ValueInfoProto]) -> anyhow::Result<Vec<Named>> {
    let context = || path.display().to_string();
    let archive = read_file(path, MAX_BINARY).with_context(context)?;
    let mut arrays = arrays(&archive, MAX_BINARY).with_context(context)?;
    let is_named = wanted.iter().any(|input| arrays.contains_key(input.name()));
    let mut inputs = Vec::new();
    for (position, input) in wanted.iter().enumerate() {
        let key = if is_named { input.name().to_owned() } else { format!("arr_{position}") };
        let Some(file) = arrays.remove(&key) else {
            bail!("{}: input '{}' is missing; {}", path.display(), input.name(), listed(wanted));
        };
        let value = declared_type(input).and_then(|declared| {
            let value = array(&file, input, &declared)?;
            fitting(value, input, &declared)
        });
        inputs.push(value.with_context(|| format!("{}, array '{key}'", path.display()))?);
    }
    match arrays.pop_first() {
        Some((key, _)) => bail!("{}: array '{key}' is of no input; {}", path.display(), listed(wanted)),
        None => Ok(inputs),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Lists the inputs that the model needs.
fn listed(wanted: &[&ValueInfoProto]) -> String {
    let names: Vec<String> = wanted.iter().map(|input| format!("'{}'", input.name())).collect();
    match names.as_slice() {
        [] => "the model has no inputs".to_owned(),
        names => format!("the model's inputs are {}", names.join(", ")),
    }
}

fn declared_type(input: &ValueInfoProto) -> anyhow::Result<ValueType> {
    let declared = input.r#type.as_ref().with_context(|| format!("input '{}' has no type", input.name()))?;
    Ok(decode::value_type(declared)?)
}

/// Reads an array as an input of the declared type.
fn array(file: &Bytes, input: &ValueInfoProto, declared: &ValueType) -> anyhow::Result<Value> {
    match declared {
        ValueType::Tensor(element) => Ok(Value::Tensor(read_array(file, *element)?)),
        other => bail!(
            "input '{}' is {other}, and an array can only be a tensor; write it to a .pb file of ONNX in a folder",
            input.name()
        ),
    }
}

/// Returns the input if the value has the declared type, and its shape as far as it is declared.
fn fitting(value: Value, input: &ValueInfoProto, declared: &ValueType) -> anyhow::Result<Named> {
    let (name, found) = (input.name(), value.value_type());
    if found != *declared {
        bail!("input '{name}' is {declared} in the model, but {found} here; convert it");
    }
    let shape = value.as_tensor().map(|tensor| tensor.shape().to_vec());
    let sizes = input.r#type.as_ref().and_then(declared_sizes);
    if let Some((shape, sizes)) = shape.zip(sizes)
        && !(shape.len() == sizes.len()
            && shape.iter().zip(&sizes).all(|(size, declared)| declared.is_none_or(|it| it == *size)))
    {
        let declared = input.r#type.as_ref().map(shape_text).unwrap_or_default();
        bail!("input '{name}' has the shape {declared} in the model, but {shape:?} here; reshape it");
    }
    Ok(Named { name: name.to_owned(), value })
}

/// Returns the declared sizes of a tensor, `None` for those that are not declared.
fn declared_sizes(declared: &TypeProto) -> Option<Vec<Option<usize>>> {
    let Some(type_proto::Value::TensorType(tensor)) = &declared.value else { return None };
    let size = |dim: &Dimension| match &dim.value {
        Some(dimension::Value::DimValue(size)) => usize::try_from(*size).ok(),
        _ => None,
    };
    Some(tensor.shape.as_ref()?.dim.iter().map(size).collect())
}
