//! Requests of the harness to a runtime, the answers, and the ways a request can end.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::named::Named;
use crate::{Ask, Declaration, Operators};

/// A runtime under test: something that runs models. `docs/runtimes.md` has a complete example.
///
/// It need not survive a request: if it hangs, aborts or takes all memory, that is the outcome of the case.
pub trait Runtime: Sync {
    /// Returns the declaration of the runtime.
    fn declaration(&self) -> Declaration;

    /// Runs a model on inputs.
    fn run(&self, request: &Request<'_>) -> Response;

    /// Returns the operators of a model before and after optimization, or the reason why they are unknown. A runtime that
    /// implements it sets [`Declaration::optimize`]. The model is not run.
    fn optimize(&self, model: &[u8]) -> Result<Operators, String> {
        let _ = model;
        Err("this runtime does not report its operators".to_owned())
    }

    /// Returns the number of requests that it can run at a time in all processes together; by default the number of
    /// threads.
    fn jobs(&self) -> Option<usize> {
        None
    }
}

impl<R: Runtime + Send + ?Sized> Runtime for Box<R> {
    fn declaration(&self) -> Declaration {
        (**self).declaration()
    }

    fn run(&self, request: &Request<'_>) -> Response {
        (**self).run(request)
    }

    fn optimize(&self, model: &[u8]) -> Result<Operators, String> {
        (**self).optimize(model)
    }

    fn jobs(&self) -> Option<usize> {
        (**self).jobs()
    }
}

/// The place where a runtime runs: this process or others. A host detects outcomes that a runtime cannot report itself.
pub trait Host: Sync {
    /// Returns the declaration of the runtime.
    fn declaration(&self) -> Declaration;

    /// Sends a request to the runtime. The host survives every outcome.
    fn run(&self, request: &Request<'_>) -> Ran;

    /// Sends a request to a fresh process of the runtime. Returns `None` if [`Host::run`] already does so.
    fn run_alone(&self, request: &Request<'_>) -> Option<Ran> {
        let _ = request;
        None
    }

    /// Returns the operators of a model before and after optimization, or the reason why they are unknown. Returns `None` if
    /// the runtime does not report them. The host survives every outcome.
    fn optimize(&self, model: &Bytes) -> Option<Result<Operators, String>> {
        let _ = model;
        None
    }

    /// Returns the number of requests that it can run at a time; by default the number of threads.
    fn jobs(&self) -> Option<usize> {
        None
    }

    /// Returns true if lack of memory counts as an answer: the run was refused before it exceeded its limit.
    fn refuses_memory(&self) -> bool {
        false
    }

    /// Ends the runtime after the last case, and returns protocol violations outside of any case.
    fn finish(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<H: Host + ?Sized> Host for &H {
    fn declaration(&self) -> Declaration {
        (**self).declaration()
    }

    fn run(&self, request: &Request<'_>) -> Ran {
        (**self).run(request)
    }

    fn run_alone(&self, request: &Request<'_>) -> Option<Ran> {
        (**self).run_alone(request)
    }

    fn optimize(&self, model: &Bytes) -> Option<Result<Operators, String>> {
        (**self).optimize(model)
    }

    fn jobs(&self) -> Option<usize> {
        (**self).jobs()
    }

    fn refuses_memory(&self) -> bool {
        (**self).refuses_memory()
    }

    fn finish(&self) -> Vec<String> {
        (**self).finish()
    }
}

/// A request to run a model.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The id of the case, for messages only; the runtime must not depend on it. A runtime in this process gets it. It is empty in an
    /// adapter, and in the processes that a test binary starts: the protocol hides it, so that no case is treated specially by its name.
    pub id: &'a str,
    /// The serialized model.
    pub model: &'a Bytes,
    /// The folder to which the locations of external data are relative; `None` if the model has none. It need not
    /// contain the model itself; [`Request::model_file`] returns a file beside the data.
    pub folder: Option<&'a Path>,
    /// The inputs by name.
    pub inputs: &'a [Named],
    /// The requested outputs, in the order of the graph's.
    pub outputs: &'a [Output],
    /// The question. A subject that only runs models gets no other than [`Ask::RUN`].
    pub ask: Ask,
}

impl<'a> Request<'a> {
    /// Creates a question about a model that is not run.
    pub fn asking(id: &'a str, model: &'a Bytes, folder: Option<&'a Path>, ask: Ask) -> Request<'a> {
        Request { id, model, folder, inputs: &[], outputs: &[], ask }
    }
}

/// A requested output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The name of the graph's output.
    pub name: String,
    /// Its type, which decides the encoding of its file.
    pub value_type: ValueType,
    /// Size of the expected value in bytes. The file of an adapter may be some times larger.
    pub(super) bytes: u64,
}

impl Output {
    /// Creates a requested output of about this many bytes.
    pub fn new(name: impl Into<String>, value_type: ValueType, bytes: u64) -> Output {
        Output { name: name.into(), value_type, bytes }
    }
}

/// Answer of a runtime.
///
/// Outputs have the types that the model declares. A runtime that computes `int32` in `int64` must convert the result,
/// or answer `Unsupported` with `tensor(int32)`. An output of any other type is the outcome `wrong-type`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Response {
    /// The requested outputs, in order.
    Outputs {
        /// The values.
        values: Vec<Value>,
        /// The type cells that the run exercised, if the runtime knows them: `ai.onnx/Sum-13 T=float`.
        cells: Vec<String>,
    },
    /// The resulting model of a question that is answered by one.
    Model(Bytes),
    /// The model is valid: the answer to [`Question::Check`](crate::Question::Check).
    Valid,
    /// The runtime does not support a feature of the standard, and reports it before it runs the model.
    Unsupported {
        /// The feature, in a form that is the same for all cases that need it:
        ///
        /// | `what` | is missing |
        /// |---|---|
        /// | `operator ai.onnx/Abs`, `operator ai.onnx/Abs-13` | an operator, or one of its versions |
        /// | `tensor(bfloat16)` | a type in general |
        /// | `tensor(bfloat16) in ai.onnx/Abs-13` | a type in an operator version |
        /// | `attribute mode of ai.onnx/Resize-19` | an attribute |
        /// | `opset 24 of ai.onnx` | an opset |
        what: String,
        /// The message of the runtime, unchanged.
        message: String,
    },
    /// The runtime refused the model or failed on it. If in doubt, use this and not `Unsupported`.
    Error {
        /// The phase of the failure.
        phase: Phase,
        /// The message of the runtime, unchanged.
        message: String,
    },
}

impl Response {
    /// Creates the response with the outputs of a run, in the requested order.
    pub fn outputs(values: Vec<Value>) -> Response {
        Response::Outputs { values, cells: Vec::new() }
    }

    /// Creates the refusal of a model that needs `what`, which the runtime does not have. `Response::Unsupported` lists
    /// the forms of `what`.
    pub fn unsupported(what: impl Into<String>, message: impl Into<String>) -> Response {
        Response::Unsupported { what: what.into(), message: message.into() }
    }

    /// Creates a failure to read or prepare the model.
    pub fn load_error(message: impl Into<String>) -> Response {
        Response::Error { phase: Phase::Load, message: message.into() }
    }

    /// Creates a failure to run the model.
    pub fn run_error(message: impl Into<String>) -> Response {
        Response::Error { phase: Phase::Run, message: message.into() }
    }

    /// Returns the response, or an error if it does not have as many outputs as requested.
    pub(super) fn checked(self, request: &Request<'_>) -> Response {
        match &self {
            Response::Outputs { values, .. } if values.len() != request.outputs.len() => {
                let (given, asked) = (values.len(), request.outputs.len());
                Response::run_error(format!("the runtime returned {given} outputs, but {asked} were requested"))
            }
            _ => self,
        }
    }
}

/// End of a request.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The runtime answered.
    Answered(Response),
    /// No answer within the time limit.
    Timeout(String),
    /// More memory than the limit.
    OutOfMemory(String),
    /// The runtime died.
    Crash(String),
    /// The answer violated the protocol.
    ProtocolError(String),
}

impl Ended {
    /// Returns the values of the outputs, or how the request ended without them.
    pub fn into_values(self) -> Result<Vec<Value>, Ended> {
        match self {
            Ended::Answered(Response::Outputs { values, .. }) => Ok(values),
            other => Err(other),
        }
    }

    /// Returns the message of a request that ended without outputs.
    pub fn message(&self) -> &str {
        match self {
            Ended::Answered(Response::Outputs { .. } | Response::Model(_) | Response::Valid) => "",
            Ended::Answered(Response::Unsupported { message, .. } | Response::Error { message, .. })
            | Ended::Timeout(message)
            | Ended::OutOfMemory(message)
            | Ended::Crash(message)
            | Ended::ProtocolError(message) => message,
        }
    }
}

/// The end of a request, and whether it was sent twice.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The end of the request; of the second run if it was sent twice.
    pub ended: Ended,
    /// The crash of the first run, if the second run, alone in a process, ended otherwise.
    pub flaky: Option<String>,
}

impl From<Ended> for Ran {
    fn from(ended: Ended) -> Ran {
        Ran { ended, flaky: None }
    }
}

/// Phase of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Reading or preparing the model.
    Load,
    /// Running the model.
    Run,
}
