//! The files of a request: a model and its inputs for an adapter to read, and the outputs that it writes.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use onnx_conformance_reference::deadline::Deadline;
use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::measure::{Kind, decoded_size};
use onnx_conformance_reference::proto::{
    MapProto, Message as _, OptionalProto, SequenceProto, SparseTensorProto, TensorProto, decode, encode,
};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::contents::Contents;
use crate::exchange_folder::ExchangeFolder;
use crate::files::read_file;
use crate::message::{Command, Problem, ValueFile};
use crate::platform::open_plain;
use crate::shared_data::SharedData;
use crate::{Ask, Output, Question, Request, Response};

/// Constant part of the size limit of an output file, in bytes.
const BASE_LIMIT: u64 = 16 << 20;

/// Proportional part of the size limit: file bytes allowed per byte of the expected value. Some encodings of numbers
/// need more space than others.
const LIMIT_FACTOR: u64 = 16;

/// Addition to the size limit of a resulting model: a tool may compute large weights of a small model.
const RESULT_LIMIT: u64 = 1 << 30;

/// Memory limit for a decoded output in bytes. A file of many small messages takes many times its size.
const MAX_DECODED: usize = 256 << 20;

/// Time limit for emptying the folder of a request.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// The file of a resulting model.
struct ResultFile {
    path: PathBuf,
    /// Size limit in bytes.
    limit: u64,
}

/// The files of one request, removed when the value is dropped.
pub(super) struct RequestFiles {
    exchange: Arc<ExchangeFolder>,
    /// The number of the request.
    pub(super) seq: u64,
    /// The name of the request's folder, which no adapter can predict.
    name: String,
    home: PathBuf,
    outputs: Vec<(Output, PathBuf)>,
    /// The file for the answer to a question that is answered by a model.
    result: Option<ResultFile>,
    /// The initial contents of the folder.
    given: Contents,
    /// The copied data, with the model next to it.
    data: Option<Arc<SharedData>>,
    is_removed: bool,
}

impl RequestFiles {
    /// Writes a request's files into a new folder, and returns them with the message of the request.
    pub(super) fn write(
        exchange: &Arc<ExchangeFolder>,
        seq: u64,
        request: &Request<'_>,
    ) -> io::Result<(RequestFiles, Command)> {
        let name = seq.to_string();
        let home = exchange.begin(&name)?;
        let outputs = outputs(&home, request.outputs);
        let result = request.ask.question.is_answered_by_a_model().then(|| ResultFile {
            path: home.join("out").join("model.onnx"),
            limit: size_limit(request.model.len() as u64).saturating_add(RESULT_LIMIT),
        });
        let (exchange, given) = (Arc::clone(exchange), Contents::default());
        let mut files =
            RequestFiles { exchange, seq, name, home, outputs, result, given, data: None, is_removed: false };
        fs::create_dir(files.home.join("out"))?;
        for (number, input) in request.inputs.iter().enumerate() {
            write_new(&files.input(number), &encode::value(&input.value, &input.name))?;
        }
        let model = files.write_model(request)?;
        let command = files.command(seq, request, &model)?;
        files.given = files.exchange.given(&files.name)?;
        Ok((files, command))
    }

    /// Returns the number of bytes that the adapter has added.
    pub(super) fn added(&self) -> Result<u64, Problem> {
        self.exchange.added(&self.name, &self.given, self.data.as_deref())
    }

    /// Removes the folder. Files that cannot be removed while the adapter runs are removed after its end.
    pub(super) fn remove(&mut self) -> Result<(), Problem> {
        let model = self.data.take().map_or(Ok(()), |data| data.remove_model(&self.model_name()));
        let removed = self.exchange.end(&self.name, Instant::now() + REMOVAL_TIMEOUT).and(model);
        self.is_removed = removed.is_ok();
        removed.map_err(|error| {
            let rule = format!("the folder of the request cannot be removed: {error}");
            problem(rule, "keep the files of the request unchanged, and write only the requested outputs")
        })
    }

    /// Makes the message of the request.
    fn command(&self, seq: u64, request: &Request<'_>, model: &Path) -> io::Result<Command> {
        if request.ask.question != Question::Run {
            let result = self.result.as_ref().map(|result| text(&result.path)).transpose()?;
            let Ask { question: ask, opset } = request.ask;
            return Ok(Command::Ask { seq, ask, model: text(model)?, result, opset });
        }
        let file = |name: &str, value_type: &ValueType, path: &Path| {
            let (name, value_type) = (name.to_owned(), value_type.to_string());
            Ok::<_, io::Error>(ValueFile { name, value_type, path: text(path)? })
        };
        let inputs = request.inputs.iter().enumerate();
        let inputs = inputs.map(|(number, input)| file(&input.name, &input.value.value_type(), &self.input(number)));
        let outputs = self.outputs.iter().map(|(output, path)| file(&output.name, &output.value_type, path));
        Ok(Command::Run {
            seq,
            model: text(model)?,
            inputs: inputs.collect::<Result<_, _>>()?,
            outputs: outputs.collect::<Result<_, _>>()?,
        })
    }

    fn input(&self, number: usize) -> PathBuf {
        self.home.join(format!("input_{number}.pb"))
    }

    /// Writes the model. If it has external data, the original file is used, or a new one next to a copy of the data if its contents
    /// differ.
    fn write_model(&mut self, request: &Request<'_>) -> io::Result<PathBuf> {
        if let Some(folder) = request.folder {
            let original = folder.join("model.onnx");
            if read_file(&original, request.model.len() as u64).is_ok_and(|bytes| bytes == *request.model) {
                return original.canonicalize();
            }
            let name = self.model_name();
            let data = self.data.insert(self.exchange.data(folder)?);
            return data.write_model(&name, request.model);
        }
        let path = self.home.join("model.onnx");
        write_new(&path, request.model)?;
        Ok(path)
    }

    fn model_name(&self) -> String {
        format!("{}.onnx", self.name)
    }

    /// Reads the answer to a request that the subject has answered with `ok`.
    pub(super) fn response(&self, question: Question) -> Result<Response, Problem> {
        let response = match (&self.result, question) {
            (Some(result), _) => Response::Model(read_result(result)?),
            (None, Question::Run) => Response::Outputs { values: self.values()?, cells: Vec::new() },
            (None, _) => Response::Valid,
        };
        self.check_unrequested()?;
        Ok(response)
    }

    /// Reads the requested outputs.
    fn values(&self) -> Result<Vec<Value>, Problem> {
        self.outputs.iter().map(|(output, path)| read(output, path)).collect()
    }

    /// Returns an error if the subject wrote other files than those that were requested.
    fn check_unrequested(&self) -> Result<(), Problem> {
        let outputs = self.outputs.iter().map(|(_, path)| path.as_path());
        let known: BTreeSet<&Path> = outputs.chain(self.result.as_ref().map(|result| result.path.as_path())).collect();
        let found = fs::read_dir(self.home.join("out")).map_err(|error| {
            problem(format!("the folder of the outputs cannot be read: {error}"), "leave the folder as it is")
        })?;
        match found.filter_map(Result::ok).map(|entry| entry.path()).find(|path| !known.contains(path.as_path())) {
            None => Ok(()),
            Some(path) => Err(problem(
                format!("{} was written but not requested", file_name(&path)),
                "write each output to its `path`, and nothing else",
            )),
        }
    }
}

impl Drop for RequestFiles {
    fn drop(&mut self) {
        if !self.is_removed {
            // The rest is removed with the folder of the run.
            let _ = self.remove();
        }
    }
}

/// Writes a new file, and fails if the file exists.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::File::create_new(path)?.write_all(bytes)
}

fn outputs(home: &Path, outputs: &[Output]) -> Vec<(Output, PathBuf)> {
    let path = |number: usize| home.join("out").join(format!("output_{number}.pb"));
    outputs.iter().enumerate().map(|(number, output)| (output.clone(), path(number))).collect()
}

fn text(path: &Path) -> io::Result<String> {
    let rule = || io::Error::other(format!("the path {} is not UTF-8; set TMPDIR to a path in UTF-8", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(rule)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn problem(rule: String, fix: &str) -> Problem {
    Problem::new(&[], rule, fix)
}

/// Returns the size limit of a file for a value or model of this many bytes.
const fn size_limit(bytes: u64) -> u64 {
    bytes.saturating_mul(LIMIT_FACTOR).saturating_add(BASE_LIMIT)
}

/// Reads the model that answers a question.
fn read_result(result: &ResultFile) -> Result<Bytes, Problem> {
    let hints = Hints {
        missing: "write the resulting model to `result` before the answer; if there is none, answer with an `error`",
        large: "write only the resulting model",
    };
    read_regular(&result.path, "the resulting model", result.limit, &hints)
}

/// Remedies for the problems of a file.
struct Hints {
    missing: &'static str,
    large: &'static str,
}

/// Reads a file that the subject wrote. One that is much larger than expected is not read.
fn read_regular(path: &Path, place: &str, limit: u64, hints: &Hints) -> Result<Bytes, Problem> {
    let fix = hints.missing;
    let unreadable = |error: io::Error| problem(format!("{place} cannot be read: {error}"), fix);
    let irregular = || problem(format!("{place} is not a regular file"), fix);
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(irregular()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(problem(format!("{place} was not written"), fix));
        }
        Err(error) => return Err(unreadable(error)),
    }
    // The file may have been replaced since.
    let file = open_plain(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(irregular());
    }
    let too_large = |size: u64| {
        let rule = format!("{place} has {size} bytes, over the limit of {limit} bytes for this output");
        problem(rule, hints.large)
    };
    if found.len() > limit {
        return Err(too_large(found.len()));
    }
    let mut bytes = Vec::new();
    let size = file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)? as u64;
    if size > limit { Err(too_large(size)) } else { Ok(bytes.into()) }
}

fn read(output: &Output, path: &Path) -> Result<Value, Problem> {
    let (name, declared) = (&output.name, &output.value_type);
    let place = format!("output '{name}' ({})", file_name(path));
    let hints = Hints {
        missing: "write every requested output to its `path` before the answer",
        large: "write only the value, as the runtime returned it",
    };
    let limit = size_limit(output.bytes);
    let bytes = read_regular(path, &place, limit, &hints)?;
    let kind = kind(declared);
    let message = kind.message_name().unwrap_or("message");
    let limit = MAX_DECODED.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX));
    decoded_size(kind, &bytes, limit, &Deadline::never()).map_err(|error| {
        problem(
            format!("{place} contains a {message} that is too large: {error}"),
            "write the value as the runtime returned it",
        )
    })?;
    let value = decode::value(bytes.clone(), declared).map_err(|error| {
        let fix = format!("write it as {message}, the message for {declared}");
        problem(format!("{place} is not a valid {message}: {error}"), &fix)
    });
    let value = value.and_then(|value| match message_name(bytes.clone(), declared) {
        found if found.is_empty() || found == *name => Ok(value),
        found => Err(problem(
            format!("{place} contains a value named '{found}'"),
            "write the outputs in the requested order; omit the name, or use that of the output",
        )),
    });
    match value {
        // No message of another kind is one of a tensor.
        Ok(value) if kind == Kind::Tensor => Ok(value),
        Ok(value) if encode::value(&value, name) == bytes => Ok(value),
        // The message of a scalar is also a valid message of an empty sequence with unknown fields. Adapters write the
        // message of a value without contents in several ways, so it may be the message of a declared value.
        Ok(value) => Ok(of_another_kind(&bytes, output).filter(has_contents).unwrap_or(value)),
        Err(error) => of_another_kind(&bytes, output).ok_or(error),
    }
}

/// Returns the value of a message whose kind is not the declared one. A tensor in place of an optional one is a wrong
/// type, not a damaged file. Such a message has exactly the bytes that are written for the value. A sequence of one
/// tensor and an optional tensor have the same bytes, so they cannot be distinguished.
fn of_another_kind(bytes: &Bytes, output: &Output) -> Option<Value> {
    let element = output.value_type.element_type();
    let tensor = || Box::new(ValueType::Tensor(element));
    let types = [
        ValueType::Tensor(element),
        ValueType::SparseTensor(element),
        ValueType::Sequence(tensor()),
        ValueType::Optional(tensor()),
        ValueType::Map(ElementType::String, tensor()),
    ];
    let others = types.iter().filter(|other| kind(other) != kind(&output.value_type));
    let mut values = others.filter_map(|other| decode::value(bytes.clone(), other).ok());
    values.find(|value| !bytes.is_empty() && encode::value(value, &output.name) == *bytes)
}

/// Returns false for an empty sequence and an absent optional.
fn has_contents(value: &Value) -> bool {
    match value {
        Value::Sequence(sequence) => !sequence.items.is_empty(),
        Value::Optional(optional) => optional.item.is_some(),
        Value::Tensor(_) | Value::Sparse(_) | Value::Map(_) => true,
    }
}

/// Returns the kind of message in the file of a type.
fn kind(declared: &ValueType) -> Kind {
    match declared {
        ValueType::Tensor(_) => Kind::Tensor,
        ValueType::SparseTensor(_) => Kind::SparseTensor,
        ValueType::Sequence(_) => Kind::Sequence,
        ValueType::Optional(_) => Kind::Optional,
        ValueType::Map(..) => Kind::Map,
    }
}

/// Returns the name of the value in a message; empty if there is none.
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

#[cfg(test)]
mod tests {
    use onnx_conformance_reference::value::{Map, MapKey, Sequence};

    use super::*;

    fn rule(bytes: &[u8], declared: ValueType) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output_0.pb");
        fs::write(&path, bytes).unwrap();
        read(&Output::new("y", declared, 0), &path).unwrap_err().rule
    }

    #[test]
    fn a_request_does_not_name_its_case() {
        let exchange = Arc::new(ExchangeFolder::new(1).unwrap());
        let (id, model) = ("ai.onnx/Abs-13/known_values", Bytes::new());
        let request = Request { id, model: &model, folder: None, inputs: &[], outputs: &[], ask: Ask::RUN };
        let (_files, command) = RequestFiles::write(&exchange, 7, &request).unwrap();
        let line = serde_json::to_string(&command).unwrap();
        assert!(line.contains("\"cmd\":\"run\"") && id.split('/').all(|part| !line.contains(part)), "{line}");
    }

    #[test]
    fn a_value_of_another_kind_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output_0.pb");
        let tensor = ValueType::Tensor(ElementType::Float);
        let boxed = || Box::new(tensor.clone());
        let of_floats = |shape: &[usize]| {
            let values = vec![1.5; shape.iter().product()];
            onnx_conformance_reference::tensor::Tensor::of_floats(ElementType::Float, shape, &values).unwrap()
        };
        for shape in [&[2, 3][..], &[1], &[]] {
            let value = Value::Tensor(of_floats(shape));
            fs::write(&path, encode::value(&value, "y")).unwrap();
            for declared in [ValueType::Optional(boxed()), ValueType::Sequence(boxed())] {
                assert_eq!(read(&Output::new("y", declared.clone(), 0), &path).unwrap(), value, "{declared} {shape:?}");
                // Another name belongs to another output. A scalar without a name could be anything.
                assert!(shape.is_empty() || read(&Output::new("z", declared, 0), &path).is_err());
            }
        }
        let bytes = encode::value(&Value::Tensor(of_floats(&[2])), "y");
        assert!(rule(&bytes[..bytes.len() - 1], ValueType::Optional(boxed())).contains("OptionalProto"));
    }

    #[test]
    fn sequences_and_maps_are_read_whatever_is_declared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output_0.pb");
        let tensor = ValueType::Tensor(ElementType::Float);
        let boxed = || Box::new(tensor.clone());
        let item = |shape: &[usize]| {
            let values = vec![1.5; shape.iter().product()];
            Value::Tensor(
                onnx_conformance_reference::tensor::Tensor::of_floats(ElementType::Float, shape, &values).unwrap(),
            )
        };
        let sequence = Value::Sequence(Sequence::new(tensor.clone(), vec![item(&[2, 3]), item(&[2, 3])]));
        let entries = [(MapKey::String("a".into()), item(&[]))].into_iter().collect();
        let map = Map { key_type: ElementType::String, value_type: tensor.clone(), entries: Arc::new(entries) };
        let declared = [
            tensor.clone(),
            ValueType::Sequence(boxed()),
            ValueType::Optional(boxed()),
            ValueType::Map(ElementType::String, boxed()),
        ];
        for value in [item(&[2, 3]), sequence, Value::Map(map)] {
            fs::write(&path, encode::value(&value, "y")).unwrap();
            for declared in &declared {
                let found = read(&Output::new("y", declared.clone(), 0), &path).map_err(|problem| problem.rule);
                assert_eq!(found.as_ref(), Ok(&value), "{declared}");
            }
        }
        // An absent optional may have a type, and then has the bytes of an empty sequence.
        fs::write(&path, encode::value(&Value::Sequence(Sequence::new(tensor.clone(), Vec::new())), "y")).unwrap();
        let found = read(&Output::new("y", ValueType::Optional(boxed()), 0), &path).unwrap();
        assert!(!has_contents(&found) && matches!(found, Value::Optional(_)));
    }

    /// Each message has two bytes and takes a hundred times as many when decoded.
    #[test]
    fn a_file_of_many_small_messages_is_not_decoded() {
        let sequence = ValueType::Sequence(Box::new(ValueType::Tensor(ElementType::Float)));
        let empty = TensorProto::default();
        let start = SequenceProto { elem_type: Some(1), tensor_values: vec![empty], ..SequenceProto::default() };
        let mut bytes = start.encode_to_vec();
        let item = bytes[bytes.len() - 2..].to_vec();
        bytes.extend(item.iter().cycle().take(8 << 20));
        assert!(rule(&bytes, sequence).contains("contains a SequenceProto that is too large"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_not_waited_for_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        fs::write(at("file"), "").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        assert!(made.success() && open_plain(&at("file")).is_ok() && open_plain(&at("link")).is_err());
        assert!(!open_plain(&at("pipe")).unwrap().metadata().unwrap().is_file());
    }
}
