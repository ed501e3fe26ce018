//! Reading a case from an ordinary ONNX test folder: `model.onnx` and `test_data_set_N/{input,output}_M.pb`.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::decode::{self, DecodeError};
use onnx_conformance_reference::proto::{GraphProto, TensorProto, ValueInfoProto, onnx};
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::{Case, DataSet, Evidence, Expected, ExpectedOutput, MAX_BINARY, Named, read_file};
use crate::compare::Accuracy;

/// A case whose files cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// A file cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// A file has the wrong content.
    #[error("{path}: {error}")]
    Decode {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: DecodeError,
    },
    /// The folder is not a test folder.
    #[error("{path}: {rule}")]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// The missing or surplus item.
        rule: String,
    },
}

/// Source of inputs that have no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feed {
    /// None: every input has a file.
    #[default]
    Files,
    /// Element i of n is i / n, as upstream feeds the light models.
    Ramp,
}

/// A test folder in memory.
#[derive(Clone, Copy, Debug)]
pub struct FolderInMemory<'a> {
    /// The files by their path in the folder.
    pub files: &'a BTreeMap<String, Bytes>,
    /// The path of the folder in messages.
    pub path: &'a Path,
}

/// The files of a test folder, on disk or in memory.
#[derive(Clone, Copy)]
enum TestFiles<'a> {
    Folder(&'a Path),
    Memory(FolderInMemory<'a>),
}

impl TestFiles<'_> {
    fn place(&self, name: &str) -> PathBuf {
        match self {
            TestFiles::Folder(folder) | TestFiles::Memory(FolderInMemory { path: folder, .. }) => folder.join(name),
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            TestFiles::Folder(folder) => folder.join(name).exists(),
            TestFiles::Memory(memory) => memory.files.contains_key(name),
        }
    }

    fn has_folder(&self, name: &str) -> bool {
        match self {
            TestFiles::Folder(folder) => folder.join(name).is_dir(),
            TestFiles::Memory(memory) => {
                let below = format!("{name}/");
                memory.files.range(below.clone()..).next().is_some_and(|(file, _)| file.starts_with(&below))
            }
        }
    }

    fn read(&self, name: &str) -> Result<Bytes, CaseError> {
        let io = |error| CaseError::Io { path: self.place(name), error };
        match self {
            TestFiles::Folder(folder) => read_file(&folder.join(name), MAX_BINARY).map(Bytes::from).map_err(io),
            TestFiles::Memory(memory) => memory.files.get(name).cloned().ok_or_else(|| io(ErrorKind::NotFound.into())),
        }
    }
}

/// Reads a test folder as the case of an id. The accuracy applies to floating types; all others are exact.
///
/// A file `model.onnx` that is not a model is a case, too. The reaction of a runtime is an outcome, but never a pass.
pub fn read_folder(id: &str, folder: &Path, accuracy: &Accuracy, feed: Feed) -> Result<Case, CaseError> {
    let case = read_test(id, TestFiles::Folder(folder), accuracy, feed)?;
    Ok(Case { folder: Some(folder.to_owned()), ..case })
}

/// Reads a test folder in memory, as [`read_folder`] does one on disk. The model has no external data.
pub fn read_files(id: &str, folder: FolderInMemory<'_>, accuracy: &Accuracy, feed: Feed) -> Result<Case, CaseError> {
    read_test(id, TestFiles::Memory(folder), accuracy, feed)
}

fn read_test(id: &str, files: TestFiles<'_>, accuracy: &Accuracy, feed: Feed) -> Result<Case, CaseError> {
    let model = files.read("model.onnx")?;
    let data = match decode::model(model.clone()).ok().and_then(|model| model.graph) {
        Some(graph) => read_data(files, &graph, accuracy, feed)?,
        None => vec![DataSet {
            inputs: Vec::new(),
            outputs: vec![ExpectedOutput { name: "any".to_owned(), expected: Expected::AnyOf(Vec::new()) }],
        }],
    };
    let mut case = Case { model, data, ..Case::without_data(id) };
    case.confirm(&Evidence::Vendored);
    Ok(case)
}

/// Reads the data sets for a model's main graph.
fn read_data(
    files: TestFiles<'_>,
    graph: &GraphProto,
    accuracy: &Accuracy,
    feed: Feed,
) -> Result<Vec<DataSet>, CaseError> {
    let initializers: HashSet<&str> = graph.initializer.iter().map(TensorProto::name).collect();
    let inputs: Vec<&ValueInfoProto> = graph.input.iter().filter(|info| !initializers.contains(info.name())).collect();
    let outputs: Vec<&ValueInfoProto> = graph.output.iter().collect();
    let mut data = Vec::new();
    for set in data_sets(files)? {
        data.push(DataSet {
            inputs: match feed {
                Feed::Files => read_values(files, &set, "input", &inputs)?,
                Feed::Ramp => {
                    let path = files.place("model.onnx");
                    inputs.iter().map(|info| ramp(&path, info)).collect::<Result<_, _>>()?
                }
            },
            outputs: read_values(files, &set, "output", &outputs)?
                .into_iter()
                .map(|Named { name, value }| ExpectedOutput {
                    name,
                    expected: Expected::Value(value, accuracy.clone()),
                })
                .collect(),
        });
    }
    Ok(data)
}

fn folder_error(path: &Path, rule: impl Into<String>) -> CaseError {
    CaseError::Folder { path: path.to_owned(), rule: rule.into() }
}

/// Lists the folders `test_data_set_0`, `test_data_set_1`, ..., which must be contiguous.
fn data_sets(files: TestFiles<'_>) -> Result<Vec<String>, CaseError> {
    let set = |number: usize| format!("test_data_set_{number}");
    let count = (0..usize::MAX).find(|number| !files.has_folder(&set(*number))).unwrap_or(0);
    let sets: Vec<String> = (0..count).map(set).collect();
    let missing = || folder_error(&files.place(""), "there is no test_data_set_0 next to model.onnx");
    if sets.is_empty() { Err(missing()) } else { Ok(sets) }
}

/// Reads the values `KIND_0.pb`, `KIND_1.pb`, ... of a data set, which belong to the parameters in order.
fn read_values(
    files: TestFiles<'_>,
    set: &str,
    kind: &str,
    parameters: &[&ValueInfoProto],
) -> Result<Vec<Named>, CaseError> {
    let mut values = Vec::new();
    for (number, info) in parameters.iter().enumerate() {
        let name = format!("{set}/{kind}_{number}.pb");
        if !files.has(&name) {
            break;
        }
        let path = files.place(&name);
        let declared = declared_type(&path, info)?;
        let value = decode::value(files.read(&name)?, &declared).map_err(|error| CaseError::Decode { path, error })?;
        values.push(Named { name: info.name().to_owned(), value });
    }
    let next = format!("{set}/{kind}_{}.pb", parameters.len());
    if files.has(&next) {
        return Err(folder_error(
            &files.place(&next),
            format!("the model has {} {kind}s, so this file is surplus", parameters.len()),
        ));
    }
    if kind == "output" && values.len() != parameters.len() {
        return Err(folder_error(
            &files.place(set),
            format!("the model has {} outputs, but there are {} files", parameters.len(), values.len()),
        ));
    }
    Ok(values)
}

fn declared_type(path: &Path, info: &ValueInfoProto) -> Result<ValueType, CaseError> {
    let Some(declared) = &info.r#type else {
        return Err(folder_error(path, format!("the model declares no type for '{}'", info.name())));
    };
    decode::value_type(declared).map_err(|error| CaseError::Decode { path: path.to_owned(), error })
}

/// Generates the input that upstream's runner feeds a light model. A dimension without a size counts as 1.
fn ramp(path: &Path, info: &ValueInfoProto) -> Result<Named, CaseError> {
    use onnx::tensor_shape_proto::dimension::Value as Dim;
    let dims = match info.r#type.as_ref().and_then(|declared| declared.value.as_ref()) {
        Some(onnx::type_proto::Value::TensorType(tensor)) if tensor.elem_type() == ElementType::Float.code() => {
            tensor.shape.clone().unwrap_or_default().dim
        }
        _ => {
            return Err(folder_error(
                path,
                format!("input '{}' is not a float tensor, so it cannot be filled with a ramp", info.name()),
            ));
        }
    };
    let size = |dim: &onnx::tensor_shape_proto::Dimension| match dim.value {
        Some(Dim::DimValue(size)) => usize::try_from(size).unwrap_or(0),
        _ => 1,
    };
    let shape: Vec<usize> = dims.iter().map(size).collect();
    let count: usize = shape.iter().product();
    let values: Vec<f64> = (0..count).map(|at| at as f64 / count as f64).collect();
    let tensor = Tensor::of_floats(ElementType::Float, &shape, &values)
        .map_err(|error| folder_error(path, format!("input '{}': {error}", info.name())))?;
    Ok(Named { name: info.name().to_owned(), value: Value::Tensor(tensor) })
}
