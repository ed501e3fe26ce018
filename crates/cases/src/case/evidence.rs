//! Evidence: what confirms an expected output.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Evidence: what confirms an expected output besides our own kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Derived by hand, in the operator's YAML.
    Literal,
    /// Upstream's own node tests.
    Vendored,
    /// The function body that defines the operator gives the same, which tests/bodies.rs holds.
    Body,
    /// Another implementation gave the same.
    Onnxruntime,
    /// Upstream's reference implementation gave the same.
    OnnxReference,
    /// Another implementation gave the same.
    Openvino,
    /// Another implementation gave the same.
    Tract,
}

/// What confirms one output of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputEvidence {
    /// The name of the output.
    pub output: String,
    /// What confirms it.
    pub sources: BTreeSet<Evidence>,
}

impl Evidence {
    /// What the agreement of a runtime is, for the runtimes whose agreement counts.
    pub fn of_runtime(name: &str) -> Option<Evidence> {
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
    /// One source for an output.
    pub fn of(output: &str, source: Evidence) -> OutputEvidence {
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
