//! Contents of a file under `specs/ir`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::Level;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::ir::tensor::{EncodingFile, SparseFile, TensorFile};

/// A file: cases, refusals, and encodings of tensors.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupFile {
    /// The subject of the cases in a sentence.
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) cases: Vec<CaseFile>,
    #[serde(default)]
    pub(crate) refuse: Vec<RefusalFile>,
    /// Tensors that are stored both in typed fields and in raw bytes, with the same elements.
    #[serde(default)]
    pub(crate) encodings: Vec<EncodingFile>,
}

/// A model that must run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseFile {
    pub(crate) name: String,
    /// The rule of the standard, in our own words, and its place.
    pub(crate) rule: String,
    #[serde(default)]
    pub(crate) level: Level,
    /// The model in ONNX's text syntax.
    pub(crate) model: String,
    /// Initializers of the main graph, as messages.
    #[serde(default)]
    pub(crate) initializers: Vec<TensorFile>,
    /// Sparse initializers of the main graph.
    #[serde(default)]
    pub(crate) sparse: Vec<SparseFile>,
    #[serde(default)]
    pub(crate) inputs: BTreeMap<String, ValueFile>,
    /// All outputs of the graph, by name.
    pub(crate) outputs: BTreeMap<String, ValueFile>,
}

/// A model that must be refused: that of its control, with one violation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefusalFile {
    pub(crate) name: String,
    /// The rule of the standard, in our own words, and its place.
    pub(crate) rule: String,
    #[serde(default)]
    pub(crate) level: Level,
    /// The case of the file that is the control.
    pub(crate) control: String,
    /// Replacements in the text of the control's model. Each key must occur exactly once.
    #[serde(default)]
    pub(crate) replace: BTreeMap<String, String>,
    /// The part to remove from the model.
    pub(crate) without: Option<Part>,
    /// Initializers that replace those of the control.
    pub(crate) initializers: Option<Vec<TensorFile>>,
    /// Sparse initializers that replace those of the control.
    pub(crate) sparse: Option<Vec<SparseFile>>,
}

/// A part of a model that the text syntax always writes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Part {
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
