//! Evidence for expected outputs.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A source that confirms an expected output independently of our own kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Derived by hand in the operator's YAML.
    Literal,
    /// Upstream's own node tests.
    Vendored,
    /// The function body of the operator gives the same value; tests/bodies.rs checks it.
    Body,
    /// The runtime `onnxruntime` gives the same value.
    Onnxruntime,
    /// Upstream's reference implementation gives the same value.
    OnnxReference,
    /// The runtime `openvino` gives the same value.
    Openvino,
    /// The runtime `tract` gives the same value.
    Tract,
}

/// Evidence for one output of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputEvidence {
    /// The name of the output.
    pub output: String,
    /// The sources.
    pub sources: BTreeSet<Evidence>,
}

impl Evidence {
    /// Returns the evidence that an agreeing runtime provides, or `None` if the runtime does not count.
    pub fn from_runtime(name: &str) -> Option<Evidence> {
        match name {
            "onnxruntime" => Some(Evidence::Onnxruntime),
            "onnx-reference" => Some(Evidence::OnnxReference),
            "openvino" => Some(Evidence::Openvino),
            "tract" => Some(Evidence::Tract),
            _ => None,
        }
    }
}

impl OutputEvidence {
    /// Creates the evidence of one source for an output.
    pub fn new(output: &str, source: Evidence) -> OutputEvidence {
        OutputEvidence { output: output.to_owned(), sources: [source].into() }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Evidence::Literal => "literal",
            Evidence::Vendored => "vendored",
            Evidence::Body => "body",
            Evidence::Onnxruntime => "onnxruntime",
            Evidence::OnnxReference => "onnx.reference",
            Evidence::Openvino => "openvino",
            Evidence::Tract => "tract",
        })
    }
}
