//! What a case is made of.

use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;
use onnx_conformance_reference::value::Value;
use serde::{Deserialize, Serialize};

use crate::case::Expected;

/// A model, its inputs, and what is expected of a runtime.
#[derive(Clone, Debug)]
pub struct Case {
    /// The stable name: `onnx-1.23.2/node/test_sum_example`.
    pub id: String,
    /// The serialized `ModelProto`.
    pub model: Bytes,
    /// The folder that holds the model, where it has external data.
    pub folder: Option<PathBuf>,
    /// What the model is run on, each with its own expected outputs.
    pub data: Vec<DataSet>,
    /// What to expect instead of outputs, for a case that must be refused.
    pub refusal: Option<Refusal>,
    /// How binding the expectation is.
    pub level: Level,
    /// What confirms the expected outputs besides our own kernels.
    pub evidence: Vec<Evidence>,
    /// The rule by which the case is judged other than upstream does.
    pub judged: Option<UpstreamOverride>,
    /// The rule of op.yaml that the case keeps or, where it must be refused, breaks.
    pub rule: Option<RuleRef>,
}

/// A rule of an op.yaml: its id, its sentence and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRef {
    /// The id, unique in the file: `C9`.
    pub id: String,
    /// The sentence.
    pub says: String,
    /// The file and the line: `specs/ai.onnx/Resize/op.yaml:13`.
    pub place: String,
}

impl fmt::Display for RuleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleRef { id, says, place } = self;
        write!(f, "{id}: {says} ({place})")
    }
}

impl Case {
    /// From what a runtime can tell that it must refuse the case; nothing where it must run. Where the model is that of the
    /// control, what differs are values of inputs.
    pub fn refusal_class(&self) -> Option<RefusalClass> {
        let refusal = self.refusal.as_ref()?;
        let by_values = self.model == refusal.control.model;
        Some(if by_values { RefusalClass::Value } else { RefusalClass::Static })
    }

    /// Whether there is an output whose values bear on a runtime, besides their type and shape.
    pub fn has_judged_output(&self) -> bool {
        let mut outputs = self.data.iter().flat_map(|data| &data.outputs);
        self.refusal.is_none()
            && self.level != Level::Open
            && outputs.any(|output| !matches!(output.expected, Expected::Unspecified(..)))
    }
}

/// The inputs of one run and the outputs expected of it.
#[derive(Clone, Debug, Default)]
pub struct DataSet {
    /// The inputs, by name.
    pub inputs: Vec<Named>,
    /// The outputs, in the order of the graph's.
    pub outputs: Vec<ExpectedOutput>,
}

/// A value and the name of the graph's input or output that it belongs to.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
}

/// What is expected of one output.
#[derive(Clone, Debug)]
pub struct ExpectedOutput {
    /// The name of the output.
    pub name: String,
    /// What it must be.
    pub expected: Expected,
}

/// Why a vendored case is judged other than by its stored values; docs/accuracy.md argues each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamOverride {
    /// The stored outputs are draws of a random operator.
    Draws,
    /// Dropout in training: which elements fall is drawn.
    Dropout,
    /// A lossy image format, of which decoders may differ.
    Lossy,
    /// Stored elements that are the rounding noise of a sum whose exact value may be zero.
    Noise,
}

impl UpstreamOverride {
    /// The rule in a few words.
    pub const fn reason(self) -> &'static str {
        match self {
            UpstreamOverride::Draws => "stored draws of a random operator: type, shape and mean",
            UpstreamOverride::Dropout => "dropout in training: what stays is scaled, and as many fall as chance allows",
            UpstreamOverride::Lossy => "a lossy image format: 4 of 255 in a channel",
            UpstreamOverride::Noise => "stored rounding noise of a sum near zero: the rounding of its terms",
        }
    }
}

/// What must be refused, and how it is known that the refusal is for that reason.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The rule that the case breaks, in a few words.
    pub rule: String,
    /// The same model with the one violation repaired, which must run.
    pub control: Box<Case>,
}

/// From what a runtime can tell that it must refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RefusalClass {
    /// From the model: its types, shapes, attributes and form.
    #[serde(rename = "refusal/static")]
    Static,
    /// From the values of inputs alone, which a runtime may never look at.
    #[serde(rename = "refusal/value")]
    Value,
}

impl fmt::Display for RefusalClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            RefusalClass::Static => "refusal/static",
            RefusalClass::Value => "refusal/value",
        })
    }
}

/// How binding an expectation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A sentence of the standard says so.
    #[default]
    Required,
    /// Implied by the standard, or common ground.
    Recommended,
    /// The standard is silent: recorded, never judged.
    Open,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Required => "required",
            Level::Recommended => "recommended",
            Level::Open => "open",
        })
    }
}

/// What confirms the expected outputs of a case besides our own kernels.
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
