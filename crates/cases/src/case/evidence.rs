//! Evidence for expected outputs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A source that confirms an expected output independently of our own kernels. Its text is its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Evidence {
    /// Derived by hand in the operator's YAML.
    Literal,
    /// Upstream's own node tests.
    Vendored,
    /// The function body of the operator gives the same value; tests/bodies.rs checks it.
    Body,
    /// The runtime of this name gives the same value.
    Runtime(Arc<str>),
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

impl From<String> for Evidence {
    fn from(name: String) -> Evidence {
        match name.as_str() {
            "literal" => Evidence::Literal,
            "vendored" => Evidence::Vendored,
            "body" => Evidence::Body,
            _ => Evidence::Runtime(name.into()),
        }
    }
}

impl From<Evidence> for String {
    fn from(evidence: Evidence) -> String {
        evidence.to_string()
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
            Evidence::Runtime(name) => name.as_ref(),
        })
    }
}
