//! What the harness asks of a runtime, and what it may answer.

use std::path::Path;

use bytes::Bytes;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::case::{Expected, Named};
use crate::runtime::Declaration;

/// Something that runs models.
pub trait Runtime: Sync {
    /// What the runtime says of itself.
    fn declaration(&self) -> Declaration;

    /// Runs a model on inputs. Whatever happens is an answer.
    fn run(&self, request: &Request<'_>) -> Response;

    /// How many requests it takes at a time; as many as there are threads, where it does not say.
    fn jobs(&self) -> Option<usize> {
        None
    }

    /// Ends the runtime after the last case, and says what went against the protocol outside of any case.
    fn finish(&self) -> Vec<String> {
        Vec::new()
    }
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
}

impl Output {
    /// What is asked of a runtime, for outputs that are expected.
    pub fn of_expected(expected: &[Expected]) -> Vec<Output> {
        let output =
            |expected: &Expected| Output { name: expected.name.clone(), value_type: expected.want.declared().0 };
        expected.iter().map(output).collect()
    }
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
    Timeout(String),
    /// More memory than allowed.
    OutOfMemory(String),
    /// The runtime died.
    Crash(String),
    /// The answer broke the protocol.
    ProtocolError(String),
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
