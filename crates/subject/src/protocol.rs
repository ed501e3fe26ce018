//! What the harness asks of a runtime, what the runtime may answer, and how a request may end.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::Declaration;
use crate::named::Named;

/// A runtime under test: something that runs models. `docs/runtimes.md` has a complete one.
///
/// It need not survive what it is asked: where it hangs, aborts or takes all memory, that is the outcome of the case.
pub trait Runtime: Sync {
    /// What the runtime says of itself.
    fn declaration(&self) -> Declaration;

    /// Runs a model on inputs.
    fn run(&self, request: &Request<'_>) -> Response;

    /// How many requests it takes at a time, all processes together; as many as there are threads, where it does not say.
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

    fn jobs(&self) -> Option<usize> {
        (**self).jobs()
    }
}

/// Where a runtime runs: in this process or in others. A host finds what a runtime cannot say of itself.
pub trait Host: Sync {
    /// What the runtime says of itself.
    fn declaration(&self) -> Declaration;

    /// Puts a request to the runtime. However that ends, the host lives.
    fn run(&self, request: &Request<'_>) -> Ran;

    /// Puts a request to a process of the runtime that has run nothing yet. Nothing, where [`Host::run`] does no other.
    fn run_alone(&self, request: &Request<'_>) -> Option<Ran> {
        let _ = request;
        None
    }

    /// How many requests it takes at a time; as many as there are threads, where it does not say.
    fn jobs(&self) -> Option<usize> {
        None
    }

    /// Whether a lack of memory is an answer: the run asked for more than its limit, and was refused before it took it.
    fn refuses_memory(&self) -> bool {
        false
    }

    /// Ends the runtime after the last case, and says what went against the protocol outside of any case.
    fn finish(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A model to be run.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The id of the case, for messages; what a runtime does must not depend on it.
    pub id: &'a str,
    /// The serialized model.
    pub model: &'a Bytes,
    /// The folder that the locations of the model's external data are relative to; nothing where it has none. It need not
    /// hold the model itself.
    pub folder: Option<&'a Path>,
    /// The inputs by name.
    pub inputs: &'a [Named],
    /// The outputs that are asked for, in the order of the graph's.
    pub outputs: &'a [Output],
}

/// An output that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The name of the graph's output.
    pub name: String,
    /// The type that it has, which says how its file is written.
    pub value_type: ValueType,
    /// How many bytes the expected value has; the file of an adapter may have some times as many.
    pub(super) bytes: u64,
}

impl Output {
    /// An output of about this many bytes.
    pub fn new(name: impl Into<String>, value_type: ValueType, bytes: u64) -> Output {
        Output { name: name.into(), value_type, bytes }
    }
}

/// What a runtime answers.
///
/// Outputs have the types that the model declares: a runtime that computes `int32` in `int64` converts the result, or
/// answers `Unsupported` with `tensor(int32)`. An output of any other type is the outcome `wrong-type`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Response {
    /// The outputs that were asked for, in their order.
    Outputs {
        /// The values.
        values: Vec<Value>,
        /// The type cells that the run went through, where the runtime can tell: `ai.onnx/Sum-13 T=float`.
        cells: Vec<String>,
    },
    /// The runtime does not have something that the standard has, and says so before it runs the model.
    Unsupported {
        /// What, in a form that is the same for all cases that need it:
        ///
        /// | `what` | is missing |
        /// |---|---|
        /// | `operator ai.onnx/Abs`, `operator ai.onnx/Abs-13` | an operator, or one of its versions |
        /// | `tensor(bfloat16)` | a type altogether |
        /// | `tensor(bfloat16) in ai.onnx/Abs-13` | a type in an operator version |
        /// | `attribute mode of ai.onnx/Resize-19` | an attribute |
        /// | `opset 24 of ai.onnx` | an opset |
        what: String,
        /// The runtime's own words.
        message: String,
    },
    /// The runtime refused the model or failed on it. When in doubt, it is this and not `Unsupported`.
    Error {
        /// When.
        phase: Phase,
        /// The runtime's own words.
        message: String,
    },
}

impl Response {
    /// The outputs of a run, in the order in which they were asked for.
    pub fn outputs(values: Vec<Value>) -> Response {
        Response::Outputs { values, cells: Vec::new() }
    }

    /// The refusal of a model of which nothing is missing but what is named; `Response::Unsupported` has the forms of `what`.
    pub fn unsupported(what: impl Into<String>, message: impl Into<String>) -> Response {
        Response::Unsupported { what: what.into(), message: message.into() }
    }

    /// A failure while the model was read or prepared.
    pub fn load_error(message: impl Into<String>) -> Response {
        Response::Error { phase: Phase::Load, message: message.into() }
    }

    /// A failure while the model ran.
    pub fn run_error(message: impl Into<String>) -> Response {
        Response::Error { phase: Phase::Run, message: message.into() }
    }

    /// The response if it has as many outputs as were asked for, else an error that says so.
    pub(super) fn checked(self, request: &Request<'_>) -> Response {
        match &self {
            Response::Outputs { values, .. } if values.len() != request.outputs.len() => {
                let (given, asked) = (values.len(), request.outputs.len());
                Response::run_error(format!("the runtime gave {given} outputs where {asked} are asked for"))
            }
            _ => self,
        }
    }
}

/// How a request ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The runtime answered.
    Answered(Response),
    /// No answer in time.
    Timeout(String),
    /// More memory than allowed.
    OutOfMemory(String),
    /// The runtime died.
    Crash(String),
    /// The answer broke the protocol.
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

    /// Returns what the runtime or the host says of a request without outputs.
    pub fn message(&self) -> &str {
        match self {
            Ended::Answered(Response::Outputs { .. }) => "",
            Ended::Answered(Response::Unsupported { message, .. } | Response::Error { message, .. })
            | Ended::Timeout(message)
            | Ended::OutOfMemory(message)
            | Ended::Crash(message)
            | Ended::ProtocolError(message) => message,
        }
    }
}

/// How a request ended, and whether it had to be put twice.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How the request ended; where it was put a second time, that second time.
    pub ended: Ended,
    /// How the runtime died on the request at first, where it did otherwise when it was given the request alone.
    pub flaky: Option<String>,
}

impl From<Ended> for Ran {
    fn from(ended: Ended) -> Ran {
        Ran { ended, flaky: None }
    }
}

/// When a runtime failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// While it read or prepared the model.
    Load,
    /// While it ran it.
    Run,
}
