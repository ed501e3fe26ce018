//! The files of a request: a model and its inputs as an adapter reads them, and the outputs as it writes them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnx_conformance_reference::proto::{
    MapProto, Message as _, OptionalProto, SequenceProto, SparseTensorProto, TensorProto, decode, encode,
};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::runtime::message::{Command, Problem, ValueFile};
use crate::runtime::{Output, Request};

/// The largest file of an output, in bytes, whatever is expected.
const LARGEST: u64 = 16 << 20;

/// How many times as many bytes as the expected value has its file may have besides: some ways of writing numbers take
/// more room than others.
const TIMES: u64 = 16;

/// The files of one request, which go away with the value.
pub(super) struct RequestFiles {
    home: PathBuf,
    outputs: Vec<(Output, PathBuf)>,
}

impl RequestFiles {
    /// Writes a request's files into a new folder `home`.
    pub(super) fn write(home: PathBuf, request: &Request<'_>) -> io::Result<RequestFiles> {
        fs::create_dir(&home)?;
        let exchange = RequestFiles { outputs: outputs(&home, request.outputs), home };
        fs::create_dir(exchange.home.join("out"))?;
        for (number, input) in request.inputs.iter().enumerate() {
            fs::write(exchange.input(number), encode::value(&input.value, &input.name))?;
        }
        Ok(exchange)
    }

    /// The message of the request.
    pub(super) fn command(&self, seq: u64, request: &Request<'_>) -> io::Result<Command> {
        let file = |name: &str, value_type: &ValueType, path: &Path| {
            let (name, value_type) = (name.to_owned(), value_type.to_string());
            Ok::<_, io::Error>(ValueFile { name, value_type, path: text(path)? })
        };
        let inputs = request.inputs.iter().enumerate();
        let inputs = inputs.map(|(number, input)| file(&input.name, &input.value.value_type(), &self.input(number)));
        let outputs = self.outputs.iter().map(|(output, path)| file(&output.name, &output.value_type, path));
        Ok(Command::Run {
            seq,
            model: text(&self.model(request)?)?,
            inputs: inputs.collect::<Result<_, _>>()?,
            outputs: outputs.collect::<Result<_, _>>()?,
        })
    }

    fn input(&self, number: usize) -> PathBuf {
        self.home.join(format!("input_{number}.pb"))
    }

    /// The file of the model: where it has data outside itself, the one that is read from there, if it is the same.
    fn model(&self, request: &Request<'_>) -> io::Result<PathBuf> {
        if let Some(folder) = request.folder {
            let original = folder.join("model.onnx");
            if fs::read(&original).is_ok_and(|bytes| bytes == *request.model) {
                return original.canonicalize();
            }
            copy_data(folder, &self.home)?;
        }
        let path = self.home.join("model.onnx");
        fs::write(&path, request.model)?;
        Ok(path)
    }

    /// Reads the outputs that were asked for.
    pub(super) fn read(&self) -> Result<Vec<Value>, Problem> {
        let values = self.outputs.iter().map(|(output, path)| read(output, path)).collect::<Result<_, _>>()?;
        let known: BTreeSet<&Path> = self.outputs.iter().map(|(_, path)| path.as_path()).collect();
        let found = fs::read_dir(self.home.join("out")).into_iter().flatten().filter_map(Result::ok);
        match found.map(|entry| entry.path()).find(|path| !known.contains(path.as_path())) {
            None => Ok(values),
            Some(path) => Err(problem(
                format!("{} was written, which was not asked for", file_name(&path)),
                "write each output to its `path`, and nothing else beside it",
            )),
        }
    }
}

impl Drop for RequestFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn outputs(home: &Path, outputs: &[Output]) -> Vec<(Output, PathBuf)> {
    let path = |number: usize| home.join("out").join(format!("output_{number}.pb"));
    outputs.iter().enumerate().map(|(number, output)| (output.clone(), path(number))).collect()
}

fn text(path: &Path) -> io::Result<String> {
    let rule = || io::Error::other(format!("the path {} is not UTF-8; set TMPDIR to one that is", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(rule)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What a test folder holds besides a model and its data sets.
fn data(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let is_data = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name != "model.onnx" && !name.to_string_lossy().starts_with("test_data_set_")
    };
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).filter(is_data)
}

/// Copies the files and folders beside a model. Links stay behind: a copy of what they lead to would be something else.
fn copy_data(from: &Path, to: &Path) -> io::Result<()> {
    for entry in data(from) {
        let (source, target, kind) = (entry.path(), to.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_data(&source, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

fn problem(rule: String, fix: &str) -> Problem {
    Problem::new(&[], rule, fix)
}

fn read(output: &Output, path: &Path) -> Result<Value, Problem> {
    let (name, declared) = (&output.name, &output.value_type);
    let place = format!("output '{name}' ({})", file_name(path));
    let fix = "write every output that is asked for to its `path` before the answer";
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(problem(format!("{place} was not written"), fix));
        }
        Err(error) => return Err(problem(format!("{place} cannot be read: {error}"), fix)),
    };
    if !metadata.is_file() {
        return Err(problem(format!("{place} is no regular file"), fix));
    }
    // Nothing is read, or unpacked, that is much larger than what is expected.
    let most = output.bytes.saturating_mul(TIMES).saturating_add(LARGEST);
    if metadata.len() > most {
        let rule = format!("{place} has {} bytes, and at most {most} are read of this output", metadata.len());
        return Err(problem(rule, "write the value alone, as the runtime gave it"));
    }
    let bytes = fs::read(path).map_err(|error| problem(format!("{place} cannot be read: {error}"), fix))?;
    let bytes = Bytes::from(bytes);
    let message = message(declared);
    let value = decode::value(bytes.clone(), declared).map_err(|error| {
        let fix = format!("write it as {message}, which is what {declared} calls for");
        problem(format!("{place} holds no {message}: {error}"), &fix)
    })?;
    match message_name(bytes, declared) {
        found if found.is_empty() || found == *name => Ok(value),
        found => Err(problem(
            format!("{place} holds a value by the name '{found}'"),
            "write outputs in the order in which they are asked for; leave the name out, or write the output's",
        )),
    }
}

/// The message that a file holds for a type.
fn message(declared: &ValueType) -> &'static str {
    match declared {
        ValueType::Tensor(_) => "TensorProto",
        ValueType::SparseTensor(_) => "SparseTensorProto",
        ValueType::Sequence(_) => "SequenceProto",
        ValueType::Optional(_) => "OptionalProto",
        ValueType::Map(..) => "MapProto",
    }
}

/// The name that a message gives its value; empty where it gives none.
fn message_name(bytes: Bytes, declared: &ValueType) -> String {
    let name = match declared {
        ValueType::Tensor(_) => TensorProto::decode(bytes).map(|message| message.name().to_owned()),
        ValueType::SparseTensor(_) => SparseTensorProto::decode(bytes)
            .map(|message| message.values.map_or_else(String::new, |values| values.name().to_owned())),
        ValueType::Sequence(_) => SequenceProto::decode(bytes).map(|message| message.name().to_owned()),
        ValueType::Optional(_) => OptionalProto::decode(bytes).map(|message| message.name().to_owned()),
        ValueType::Map(..) => MapProto::decode(bytes).map(|message| message.name().to_owned()),
    };
    name.unwrap_or_default()
}
