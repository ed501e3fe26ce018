//! The converter under test: this project, or a program to compare it with.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use onnx_conformance::check::convert::{Refusal, Target, convert};
use onnx_conformance_reference::proto::{Message as _, ModelProto, decode};

/// Result of a conversion.
pub(crate) enum Converted {
    /// The converted model, and whether a node had to change.
    Model {
        model: Box<ModelProto>,
        is_edited: bool,
    },
    Refused(String),
    Crashed,
}

/// This project's conversion, or external processes: `CONVERT_WITH="python3 tests/convert/version_converter.py"`.
///
/// A process reads requests: a line `OPSET LENGTH`, then a model of that many bytes. It answers with `ok LENGTH` and a model, or
/// with `refused REASON`. A process that ends instead has crashed, and is restarted.
pub(crate) struct Converter {
    command: Option<String>,
    idle: Mutex<Vec<Process>>,
}

struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Converter {
    pub(crate) fn chosen() -> Converter {
        Converter { command: std::env::var("CONVERT_WITH").ok(), idle: Mutex::default() }
    }

    /// Returns true for this project's converter.
    pub(crate) fn is_own(&self) -> bool {
        self.command.is_none()
    }

    /// Converts a model to an opset of a domain.
    pub(crate) fn convert(&self, model: &ModelProto, domain: &str, target: &Target) -> Converted {
        let Some(command) = &self.command else {
            return match convert(model, target) {
                Ok(conversion) => {
                    let is_edited = conversion.edits.iter().any(|edit| !edit.concerns_model());
                    // The written file contains the converted model.
                    let file = model.encode_to_vec();
                    let written = conversion.file(model, &file).unwrap().bytes(&file);
                    let read = decode::model(written.into()).unwrap();
                    assert_eq!(read.encode_to_vec(), conversion.model.encode_to_vec());
                    Converted::Model { model: Box::new(conversion.model), is_edited }
                }
                Err(Refusal { reasons }) => {
                    Converted::Refused(reasons.into_iter().map(|reason| reason.text).collect::<Vec<_>>().join("; "))
                }
            };
        };
        let mut process = self.idle.lock().unwrap().pop().unwrap_or_else(|| Process::start(command));
        let Ok(converted) = process.convert(model, target.opsets[domain]) else { return Converted::Crashed };
        self.idle.lock().unwrap().push(process);
        converted
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start(command: &str) -> Process {
        let mut words = command.split_whitespace();
        let mut child = Command::new(words.next().expect("CONVERT_WITH is a command line"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("CONVERT_WITH={command}: {error}"));
        let (requests, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Process { child, requests, answers }
    }

    fn convert(&mut self, model: &ModelProto, opset: i64) -> std::io::Result<Converted> {
        let bytes = model.encode_to_vec();
        writeln!(self.requests, "{opset} {}", bytes.len())?;
        self.requests.write_all(&bytes)?;
        self.requests.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let line = line.trim_end();
        if let Some(reason) = line.strip_prefix("refused ") {
            return Ok(Converted::Refused(reason.to_owned()));
        }
        let length = line.strip_prefix("ok ").and_then(|length| length.parse().ok());
        let mut converted = vec![0; length.ok_or(std::io::ErrorKind::UnexpectedEof)?];
        self.answers.read_exact(&mut converted)?;
        Ok(match decode::model(converted.into()) {
            Ok(model) => Converted::Model { model: Box::new(model), is_edited: false },
            Err(error) => Converted::Refused(format!("what it wrote is no model: {error}")),
        })
    }
}
