//! What the harness asks of a runtime, and what it may answer.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::case::Named;

/// Something that runs models.
pub trait Runtime: Sync {
    /// What the runtime says of itself.
    fn declaration(&self) -> Declaration;

    /// Runs a model on inputs. Whatever happens is an answer.
    fn run(&self, request: &Request<'_>) -> Response;
}

/// What a runtime says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// The name, as in `expectations/<name>.yaml`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A model to be run.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The id of the case.
    pub id: &'a str,
    /// The serialized model.
    pub model: &'a Bytes,
    /// Where its external data lies.
    pub folder: Option<&'a Path>,
    /// The inputs by name.
    pub inputs: &'a [Named],
}

/// What a runtime answers.
#[derive(Clone, Debug)]
pub enum Response {
    /// The outputs, in the order of the graph's.
    Outputs {
        /// The values.
        values: Vec<Value>,
        /// The type cells that the run went through, where the runtime can tell: `ai.onnx/Sum-13 T=float`.
        cells: Vec<String>,
    },
    /// The runtime does not have something that the standard has.
    Unsupported {
        /// What, in a form that is the same for all cases that lack it: `operator ai.onnx/Abs`.
        what: String,
        /// The runtime's own words.
        message: String,
    },
    /// The runtime refused the model or failed on it.
    Error {
        /// When.
        phase: Phase,
        /// The runtime's own words.
        message: String,
    },
    /// No answer in time.
    Timeout,
    /// More memory than allowed.
    OutOfMemory(String),
    /// The runtime died.
    Crash(String),
    /// The answer broke the protocol.
    ProtocolError(String),
}

/// When a runtime failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// While it read or prepared the model.
    Load,
    /// While it ran it.
    Run,
}
