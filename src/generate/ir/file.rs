//! What a file under `specs/ir` says.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::Level;
use crate::generate::ir::tensor::{EncodingFile, SparseFile, TensorFile};
use crate::generate::operator::ValueFile;

/// A file: cases, what must be refused, and encodings of tensors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupFile {
    /// What the cases are about, in a sentence.
    pub(super) summary: String,
    #[serde(default)]
    pub(super) cases: Vec<CaseFile>,
    #[serde(default)]
    pub(super) refuse: Vec<RefusalFile>,
    /// Tensors that stand in typed fields, in raw bytes and in a file, all with the same elements.
    #[serde(default)]
    pub(super) encodings: Vec<EncodingFile>,
}

/// A model that must run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseFile {
    pub(super) name: String,
    /// What the standard says, in our own words, and where.
    pub(super) rule: String,
    #[serde(default)]
    pub(super) level: Level,
    /// The model in ONNX's text syntax.
    pub(super) model: String,
    /// Initializers of the main graph, as messages.
    #[serde(default)]
    pub(super) initializers: Vec<TensorFile>,
    /// Sparse initializers of the main graph.
    #[serde(default)]
    pub(super) sparse: Vec<SparseFile>,
    #[serde(default)]
    pub(super) inputs: BTreeMap<String, ValueFile>,
    /// By name; all outputs of the graph.
    pub(super) outputs: BTreeMap<String, ValueFile>,
}

/// A model that must be refused: that of its control with one violation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RefusalFile {
    pub(super) name: String,
    /// What the standard says, in our own words, and where.
    pub(super) rule: String,
    #[serde(default)]
    pub(super) level: Level,
    /// The case of the file that this one breaks.
    pub(super) control: String,
    /// What stands in the control's model, once, and what stands there instead.
    #[serde(default)]
    pub(super) replace: BTreeMap<String, String>,
    /// What is taken out of the model.
    pub(super) without: Option<Part>,
    /// In place of the control's initializers.
    pub(super) initializers: Option<Vec<TensorFile>>,
    /// In place of the control's sparse initializers.
    pub(super) sparse: Option<Vec<SparseFile>>,
}

/// A part of a model that the text syntax always writes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Part {
    /// The main graph.
    Graph,
    /// The version of the format.
    IrVersion,
    /// All imports of operator sets.
    Imports,
    /// The operator of the first node.
    Operator,
    /// The name of the first attribute of the first node.
    AttributeName,
    /// The type of the first attribute of the first node.
    AttributeType,
    /// The value of the first attribute of the first node.
    AttributeValue,
    /// The type of the first input.
    InputType,
    /// The element type of the first input.
    InputElement,
    /// The name of the first input.
    InputName,
    /// The second half of the serialized message.
    Tail,
}
