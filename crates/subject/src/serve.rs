//! Serving a runtime in Rust as an adapter: the other end of the protocol.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

use bytes::Bytes;
use onnx_conformance_reference::proto::decode::{self, DecodeError};
use onnx_conformance_reference::proto::encode;
use onnx_conformance_reference::types::{TypeError, ValueType};
use serde::Serialize;

use crate::message::{Answer, Answered, Command, Failure, MAX_MESSAGE, Optimized, Started, Unsupported, ValueFile};
use crate::named::Named;
use crate::platform::take_standard_streams;
use crate::{Ask, Output, Phase, Request, Response, Runtime, has_external_data};

/// Serves a runtime by the adapter protocol (docs/protocol.md) on standard input and output, until the harness ends it.
/// This is the whole `main` of an adapter in Rust.
///
/// On Unix the runtime may print: its standard output is redirected to standard error, and it reads nothing. A panic
/// ends the process, and the harness restarts it.
pub fn serve(runtime: &impl Runtime) -> ExitCode {
    match take_standard_streams().and_then(|(input, output)| answer_all(runtime, input, output)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed.
            let _ = writeln!(io::stderr(), "cannot serve the harness: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer_all(runtime: &dyn Runtime, input: impl io::Read, mut output: impl Write) -> io::Result<()> {
    for line in BufReader::new(input).lines() {
        match serde_json::from_str(&line?)? {
            Command::Start { .. } => send(&mut output, &Started { runtime: runtime.declaration() })?,
            Command::Run { seq, model, inputs, outputs } => {
                let result = run(runtime, Path::new(&model), &inputs, &outputs).unwrap_or_else(|error| {
                    Answered::Error(Failure { phase: Phase::Load, message: error.to_string() })
                });
                send(&mut output, &Answer { seq, result })?;
            }
            Command::Ask { seq, ask, model, result, opset } => {
                let ask = Ask { question: ask, opset };
                let result =
                    answer(runtime, Path::new(&model), ask, result.as_deref().map(Path::new)).unwrap_or_else(|error| {
                        Answered::Error(Failure { phase: Phase::Load, message: error.to_string() })
                    });
                send(&mut output, &Answer { seq, result })?;
            }
            Command::Optimize { seq, model } => {
                let bytes = read(Path::new(&model)).map_err(|error| error.to_string());
                let result = bytes.and_then(|bytes| runtime.optimize(&bytes)).map_err(shortened);
                send(&mut output, &Optimized { seq, result })?;
            }
            Command::Stop {} => break,
        }
    }
    Ok(())
}

fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Error of the files of a request.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{path}: {source}")]
    Value { path: String, source: DecodeError },
    #[error("{name}: {source}")]
    Type { name: String, source: TypeError },
}

/// Runs a model on inputs from files, and writes its outputs to files.
fn run(
    runtime: &dyn Runtime,
    model: &Path,
    inputs: &[ValueFile],
    outputs: &[ValueFile],
) -> Result<Answered, RequestError> {
    let bytes: Bytes = read(model)?.into();
    let request = Request {
        // The protocol hides it.
        id: "",
        model: &bytes,
        folder: model.parent().filter(|_| has_external_data(&bytes)),
        inputs: &inputs.iter().map(input).collect::<Result<Vec<_>, _>>()?,
        outputs: &outputs
            .iter()
            .map(|file| Ok(Output::new(&file.name, value_type(file)?, 0)))
            .collect::<Result<Vec<_>, RequestError>>()?,
        ask: Ask::RUN,
    };
    match runtime.run(&request).checked(&request) {
        Response::Outputs { values, .. } => {
            for (file, value) in outputs.iter().zip(&values) {
                fs::write(&file.path, encode::value(value, &file.name))
                    .map_err(|source| RequestError::File { path: file.path.clone(), source })?;
            }
            Ok(Answered::Ok)
        }
        other => Ok(without_result(other)),
    }
}

/// Asks a question about a model, and writes the resulting model to a file.
fn answer(runtime: &dyn Runtime, model: &Path, ask: Ask, result: Option<&Path>) -> Result<Answered, RequestError> {
    let bytes: Bytes = read(model)?.into();
    let folder = model.parent().filter(|_| has_external_data(&bytes));
    match (runtime.run(&Request::asking("", &bytes, folder, ask)), result) {
        (Response::Model(model), Some(path)) => {
            fs::write(path, model).map_err(|source| RequestError::File { path: path.display().to_string(), source })?;
            Ok(Answered::Ok)
        }
        (Response::Valid, None) => Ok(Answered::Ok),
        (other, _) => Ok(without_result(other)),
    }
}

/// Returns the answer for a response without outputs or a model.
fn without_result(response: Response) -> Answered {
    match response {
        Response::Outputs { .. } | Response::Model(_) | Response::Valid => {
            let message = "the runtime answered another question".to_owned();
            Answered::Error(Failure { phase: Phase::Load, message })
        }
        // No feature of the standard has a name of that length: it is the model's.
        Response::Unsupported { what, .. } if what.len() > MAX_MESSAGE => {
            Answered::Error(Failure { phase: Phase::Load, message: shortened(format!("no {what}")) })
        }
        Response::Unsupported { what, message } => {
            Answered::Unsupported(Unsupported { what, message: shortened(message) })
        }
        Response::Error { phase, message } => Answered::Error(Failure { phase, message: shortened(message) }),
    }
}

/// Cuts a message to the length that the harness keeps, so that its line is never too long.
fn shortened(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE) {
        message.truncate(end);
    }
    message
}

fn input(file: &ValueFile) -> Result<Named, RequestError> {
    let bytes = read(Path::new(&file.path))?;
    let value = decode::value(bytes.into(), &value_type(file)?)
        .map_err(|source| RequestError::Value { path: file.path.clone(), source })?;
    Ok(Named { name: file.name.clone(), value })
}

fn value_type(file: &ValueFile) -> Result<ValueType, RequestError> {
    file.value_type.parse().map_err(|source| RequestError::Type { name: file.name.clone(), source })
}

fn read(path: &Path) -> Result<Vec<u8>, RequestError> {
    fs::read(path).map_err(|source| RequestError::File { path: path.display().to_string(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Declaration;

    /// Runtime whose messages are too long.
    struct Verbose(fn() -> Response);

    impl Runtime for Verbose {
        fn declaration(&self) -> Declaration {
            Declaration::named("verbose", "1")
        }

        fn run(&self, _: &Request<'_>) -> Response {
            self.0()
        }
    }

    #[test]
    fn a_long_message_fits_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model.onnx");
        fs::write(&model, b"").unwrap();
        let answers: [fn() -> Response; 3] = [
            || Response::run_error("\u{e9}".repeat(1 << 20)),
            || Response::Unsupported { what: "operator ai.onnx/Abs".to_owned(), message: "\u{e9}".repeat(1 << 20) },
            || Response::Unsupported {
                what: format!("operator x/{}", "\u{e9}".repeat(1 << 20)),
                message: String::new(),
            },
        ];
        for answer in answers {
            let answered = run(&Verbose(answer), &model, &[], &[]).unwrap();
            let (Answered::Error(Failure { message, .. }) | Answered::Unsupported(Unsupported { message, .. })) =
                answered
            else {
                panic!("neither an error nor unsupported")
            };
            assert_eq!(message.chars().count(), MAX_MESSAGE);
        }
    }

    /// Runtime that answers with the id of the case.
    struct Telling;

    impl Runtime for Telling {
        fn declaration(&self) -> Declaration {
            Declaration::named("telling", "1")
        }

        fn run(&self, request: &Request<'_>) -> Response {
            Response::run_error(format!("the case '{}'", request.id))
        }
    }

    #[test]
    fn a_served_runtime_does_not_know_the_case() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model.onnx");
        fs::write(&model, b"").unwrap();
        for answered in [run(&Telling, &model, &[], &[]), answer(&Telling, &model, Ask::RUN, None)] {
            let Ok(Answered::Error(Failure { message, .. })) = answered else { panic!("no error") };
            assert_eq!(message, "the case ''");
        }
    }
}
