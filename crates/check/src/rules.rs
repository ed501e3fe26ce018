//! Rules for models: id, level, sentence, and source in ONNX.

use std::fmt;

use serde::{Serialize, Serializer};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The model breaks a rule of the standard.
    Error,
    /// The model is valid or the standard is silent, but runtimes are known to differ.
    Warning,
    /// Information.
    Note,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        })
    }
}

/// Rule for models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each rule has its sentence in the table below")]
pub enum RuleId {
    FileEmpty,
    FileNoModel,
    FileTruncated,
    FileMalformed,
    FileNesting,
    FileLimit,
    FileText,
    FileUnknown,
    ModelNoGraph,
    IrMissing,
    IrUnknown,
    IrOld,
    IrInitializer,
    IrFunction,
    IrFeature,
    IrOpset,
    OpsetMissing,
    OpsetInvalid,
    OpsetUnknown,
    OpsetTwice,
    OpsetRepeated,
    OpsetNotImported,
    OpsetForeign,
    NodeOperator,
    NodeOpset,
    NodeDeprecated,
    NodeExperimental,
    NodeArity,
    NodeAttribute,
    NodeAttributeType,
    NodeAttributeMissing,
    NodeAttributeTwice,
    NodeAttributeValue,
    NodeAttributeForm,
    NodeAttributeReference,
    NodeType,
    NodeConstraint,
    NodeDead,
    ValueUndefined,
    ValueUnsorted,
    ValueCycle,
    ValueTwice,
    ValueShadowed,
    ValueType,
    ValueShape,
    ValueTypeForm,
    GraphInputType,
    GraphOutputType,
    GraphOutputMissing,
    GraphOutputTwice,
    GraphName,
    GraphInputName,
    SubgraphArity,
    SubgraphType,
    TensorType,
    TensorDims,
    TensorFields,
    TensorField,
    TensorSize,
    TensorSegment,
    TensorName,
    TensorText,
    SparseForm,
    ExternalEntry,
    ExternalLocation,
    ExternalMissing,
    ExternalSize,
    FunctionTwice,
    FunctionRecursive,
    FunctionArity,
    FunctionAttribute,
    FunctionAttributeMissing,
    FunctionAttributeTwice,
    FunctionOpset,
}

/// Definition of a rule.
struct Rule {
    id: &'static str,
    level: Level,
    sentence: &'static str,
    source: &'static str,
}

const fn rule(id: &'static str, level: Level, sentence: &'static str, source: &'static str) -> Rule {
    Rule { id, level, sentence, source }
}

impl RuleId {
    /// Every rule, in the order of the documentation.
    pub const ALL: [RuleId; 74] = [
        RuleId::FileEmpty,
        RuleId::FileNoModel,
        RuleId::FileTruncated,
        RuleId::FileMalformed,
        RuleId::FileNesting,
        RuleId::FileLimit,
        RuleId::FileText,
        RuleId::FileUnknown,
        RuleId::ModelNoGraph,
        RuleId::IrMissing,
        RuleId::IrUnknown,
        RuleId::IrOld,
        RuleId::IrInitializer,
        RuleId::IrFunction,
        RuleId::IrFeature,
        RuleId::IrOpset,
        RuleId::OpsetMissing,
        RuleId::OpsetInvalid,
        RuleId::OpsetUnknown,
        RuleId::OpsetTwice,
        RuleId::OpsetRepeated,
        RuleId::OpsetNotImported,
        RuleId::OpsetForeign,
        RuleId::NodeOperator,
        RuleId::NodeOpset,
        RuleId::NodeDeprecated,
        RuleId::NodeExperimental,
        RuleId::NodeArity,
        RuleId::NodeAttribute,
        RuleId::NodeAttributeType,
        RuleId::NodeAttributeMissing,
        RuleId::NodeAttributeTwice,
        RuleId::NodeAttributeValue,
        RuleId::NodeAttributeForm,
        RuleId::NodeAttributeReference,
        RuleId::NodeType,
        RuleId::NodeConstraint,
        RuleId::NodeDead,
        RuleId::ValueUndefined,
        RuleId::ValueUnsorted,
        RuleId::ValueCycle,
        RuleId::ValueTwice,
        RuleId::ValueShadowed,
        RuleId::ValueType,
        RuleId::ValueShape,
        RuleId::ValueTypeForm,
        RuleId::GraphInputType,
        RuleId::GraphOutputType,
        RuleId::GraphOutputMissing,
        RuleId::GraphOutputTwice,
        RuleId::GraphName,
        RuleId::GraphInputName,
        RuleId::SubgraphArity,
        RuleId::SubgraphType,
        RuleId::TensorType,
        RuleId::TensorDims,
        RuleId::TensorFields,
        RuleId::TensorField,
        RuleId::TensorSize,
        RuleId::TensorSegment,
        RuleId::TensorName,
        RuleId::TensorText,
        RuleId::SparseForm,
        RuleId::ExternalEntry,
        RuleId::ExternalLocation,
        RuleId::ExternalMissing,
        RuleId::ExternalSize,
        RuleId::FunctionTwice,
        RuleId::FunctionRecursive,
        RuleId::FunctionArity,
        RuleId::FunctionAttribute,
        RuleId::FunctionAttributeMissing,
        RuleId::FunctionAttributeTwice,
        RuleId::FunctionOpset,
    ];

    #[expect(clippy::too_many_lines, reason = "a table, a row per rule")]
    const fn row(self) -> Rule {
        use Level::{Error, Note, Warning};
        match self {
            RuleId::FileEmpty => rule("file/empty", Error, "The file holds no bytes.", "protobuf"),
            RuleId::FileNoModel => {
                rule("file/no-model", Error, "The file is something else than an ONNX model.", "onnx.proto, ModelProto")
            }
            RuleId::FileTruncated => {
                rule("file/truncated", Error, "A message ends before its length says.", "protobuf")
            }
            RuleId::FileMalformed => {
                rule("file/malformed", Error, "The bytes are no protobuf encoding of a model.", "protobuf")
            }
            RuleId::FileNesting => {
                rule("file/nesting", Error, "Messages nest deeper than protobuf's decoders take.", "protobuf")
            }
            RuleId::FileLimit => rule(
                "file/limit",
                Error,
                "The model is over the limits of this check, in memory, time or findings.",
                "this program",
            ),
            RuleId::FileText => rule("file/text", Error, "A text is not UTF-8.", "protobuf, string"),
            RuleId::FileUnknown => {
                rule("file/unknown-field", Note, "All fields are of messages as ONNX has them.", "onnx.proto")
            }
            RuleId::ModelNoGraph => rule("model/no-graph", Error, "A model has a graph.", "IR.md, Models"),
            RuleId::IrMissing => rule("ir/missing", Error, "A model states its IR version.", "IR.md, Models"),
            RuleId::IrUnknown => {
                rule("ir/unknown", Error, "The IR version is one that ONNX has published.", "IR.md, Versions")
            }
            RuleId::IrOld => rule(
                "ir/old",
                Error,
                "IR versions 1 and 2 name no operator sets, so that the meaning of nodes is open.",
                "onnx.proto, Version",
            ),
            RuleId::IrInitializer => rule(
                "ir/initializer",
                Error,
                "Before IR version 4, every initializer is an input of the graph.",
                "IR.md, Graphs",
            ),
            RuleId::IrFunction => {
                rule("ir/function", Error, "Functions of a model need IR version 8.", "onnx.proto, Version")
            }
            RuleId::IrFeature => {
                rule("ir/feature", Warning, "What a model uses is in its IR version.", "onnx.proto, Version")
            }
            RuleId::IrOpset => rule(
                "ir/opset",
                Warning,
                "The IR version is at least that of the first release with the imported opset.",
                "Versioning.md, released versions",
            ),
            RuleId::OpsetMissing => {
                rule("opset/missing", Error, "A model imports at least one operator set.", "IR.md, Operator sets")
            }
            RuleId::OpsetInvalid => {
                rule("opset/invalid", Error, "Opset versions begin with 1.", "IR.md, Operator sets")
            }
            RuleId::OpsetUnknown => rule(
                "opset/unknown",
                Error,
                "The imported version of a known domain is one that ONNX has published.",
                "Versioning.md",
            ),
            RuleId::OpsetTwice => {
                rule("opset/twice", Error, "A domain is imported in one version.", "IR.md, Operator sets")
            }
            RuleId::OpsetRepeated => {
                rule("opset/repeated", Warning, "A domain is imported once.", "IR.md, Operator sets")
            }
            RuleId::OpsetNotImported => {
                rule("opset/not-imported", Error, "The domain of every node is imported.", "IR.md, Nodes")
            }
            RuleId::OpsetForeign => rule(
                "opset/foreign",
                Note,
                "The domain is none of ONNX's own, so that its nodes are not checked.",
                "this program",
            ),
            RuleId::NodeOperator => rule("node/operator", Error, "The operator exists in its domain.", "Operators.md"),
            RuleId::NodeOpset => {
                rule("node/opset", Error, "The operator exists at the imported opset.", "Operators.md")
            }
            RuleId::NodeDeprecated => {
                rule("node/deprecated", Warning, "The imported opset has withdrawn the operator.", "Operators.md")
            }
            RuleId::NodeExperimental => {
                rule("node/experimental", Note, "The operator is experimental.", "Operators.md")
            }
            RuleId::NodeArity => rule(
                "node/arity",
                Error,
                "A node has the inputs and outputs that its operator version declares.",
                "Operators.md",
            ),
            RuleId::NodeAttribute => rule(
                "node/attribute",
                Error,
                "A node has only attributes that its operator version declares.",
                "Operators.md",
            ),
            RuleId::NodeAttributeType => rule(
                "node/attribute-type",
                Error,
                "An attribute has the type that the operator version declares.",
                "Operators.md",
            ),
            RuleId::NodeAttributeMissing => rule(
                "node/attribute-missing",
                Error,
                "A node has every attribute that its operator version requires.",
                "Operators.md",
            ),
            RuleId::NodeAttributeTwice => {
                rule("node/attribute-twice", Error, "A node has an attribute once.", "IR.md, Attributes")
            }
            RuleId::NodeAttributeValue => rule(
                "node/attribute-value",
                Error,
                "An enumerated attribute has one of the values in the operator's text.",
                "Operators.md",
            ),
            RuleId::NodeAttributeForm => rule(
                "node/attribute-form",
                Error,
                "An attribute has a name, a type, and a value of that type.",
                "IR.md, Attributes",
            ),
            RuleId::NodeAttributeReference => rule(
                "node/attribute-reference",
                Error,
                "Only nodes of functions refer to attributes of the caller, and only to declared ones.",
                "IR.md, Functions",
            ),
            RuleId::NodeType => {
                rule("node/type", Error, "The inputs have types that the operator version takes.", "Operators.md")
            }
            RuleId::NodeConstraint => rule(
                "node/constraint",
                Error,
                "Attributes, constants and shapes of a node fit each other.",
                "Operators.md",
            ),
            RuleId::NodeDead => rule("node/dead", Note, "No output of the node is used.", "this program"),
            RuleId::ValueUndefined => {
                rule("value/undefined", Error, "Every value that is read is made somewhere.", "IR.md, Graphs")
            }
            RuleId::ValueUnsorted => {
                rule("value/unsorted", Error, "Nodes stand in topological order.", "IR.md, Graphs")
            }
            RuleId::ValueCycle => rule("value/cycle", Error, "The nodes of a graph form no cycle.", "IR.md, Graphs"),
            RuleId::ValueTwice => rule(
                "value/twice",
                Error,
                "A name is assigned once in a graph and those around it.",
                "IR.md, Names within a graph",
            ),
            RuleId::ValueShadowed => rule(
                "value/shadowed",
                Warning,
                "A subgraph gives its inputs and initializers names of their own.",
                "IR.md, Names within a graph",
            ),
            RuleId::ValueType => {
                rule("value/type", Error, "The declared type of a value is the one that it has.", "IR.md, Graphs")
            }
            RuleId::ValueShape => rule(
                "value/shape",
                Error,
                "The declared shape of a value does not contradict the one that it has.",
                "IR.md, Graphs",
            ),
            RuleId::ValueTypeForm => {
                rule("value/type-form", Error, "A declared type is one of ONNX's.", "onnx.proto, TypeProto")
            }
            RuleId::GraphInputType => {
                rule("graph/input-type", Error, "Inputs of the main graph declare a type.", "IR.md, Graphs")
            }
            RuleId::GraphOutputType => {
                rule("graph/output-type", Error, "Outputs of the main graph declare a type.", "IR.md, Graphs")
            }
            RuleId::GraphOutputMissing => rule(
                "graph/output-missing",
                Error,
                "Every output of a graph is made in it or around it.",
                "IR.md, Graphs",
            ),
            RuleId::GraphOutputTwice => {
                rule("graph/output-twice", Warning, "An output of the main graph stands once.", "IR.md, Graphs")
            }
            RuleId::GraphName => rule("graph/name", Warning, "A graph has a name.", "IR.md, Graphs"),
            RuleId::GraphInputName => {
                rule("graph/input-name", Error, "Inputs of a graph have names, each its own.", "IR.md, Graphs")
            }
            RuleId::SubgraphArity => rule(
                "subgraph/arity",
                Error,
                "A subgraph has the inputs and outputs that its node calls for.",
                "Operators.md: If, Loop, Scan, SequenceMap",
            ),
            RuleId::SubgraphType => rule(
                "subgraph/type",
                Error,
                "What a subgraph takes and gives has the types that its node calls for.",
                "Operators.md: If, Loop, Scan, SequenceMap",
            ),
            RuleId::TensorType => {
                rule("tensor/type", Error, "A tensor has an element type of ONNX's.", "onnx.proto, TensorProto")
            }
            RuleId::TensorDims => rule(
                "tensor/dims",
                Error,
                "Dimensions are not negative, and their product can be counted.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorFields => {
                rule("tensor/fields", Error, "The elements of a tensor stand in one field.", "onnx.proto, TensorProto")
            }
            RuleId::TensorField => {
                rule("tensor/field", Error, "The elements stand in the field of their type.", "onnx.proto, TensorProto")
            }
            RuleId::TensorSize => rule(
                "tensor/size",
                Error,
                "A tensor has as many elements as its dimensions say.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorSegment => rule(
                "tensor/segment",
                Error,
                "No release of ONNX reads tensors in segments.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorName => rule("tensor/name", Error, "Initializers have names, each its own.", "IR.md, Graphs"),
            RuleId::TensorText => {
                rule("tensor/text", Error, "The elements of a tensor of strings are UTF-8.", "onnx.proto, TensorProto")
            }
            RuleId::SparseForm => rule(
                "tensor/sparse",
                Error,
                "A sparse tensor has values, and their positions in ascending order within its shape.",
                "onnx.proto, SparseTensorProto",
            ),
            RuleId::ExternalEntry => rule(
                "external/entry",
                Error,
                "External data has a location, and offset and length in decimal digits.",
                "onnx.proto, TensorProto",
            ),
            RuleId::ExternalLocation => rule(
                "external/location",
                Error,
                "External data lies inside the folder of the model.",
                "ExternalData.md",
            ),
            RuleId::ExternalMissing => {
                rule("external/missing", Error, "The file of external data is there.", "ExternalData.md")
            }
            RuleId::ExternalSize => rule(
                "external/size",
                Error,
                "The file holds the bytes that the tensor names and needs.",
                "ExternalData.md",
            ),
            RuleId::FunctionTwice => {
                rule("function/twice", Error, "A function is defined once.", "IR.md, Model-local functions")
            }
            RuleId::FunctionRecursive => rule(
                "function/recursive",
                Error,
                "A function does not call itself, directly or through others.",
                "IR.md, Functions",
            ),
            RuleId::FunctionArity => rule(
                "function/arity",
                Error,
                "A call gives a function no more inputs and takes no more outputs than it has.",
                "IR.md, Functions",
            ),
            RuleId::FunctionAttribute => rule(
                "function/attribute",
                Error,
                "A call sets only attributes that the function declares.",
                "IR.md, Functions",
            ),
            RuleId::FunctionAttributeMissing => rule(
                "function/attribute-missing",
                Warning,
                "A call sets the attributes that have no default.",
                "IR.md, Functions",
            ),
            RuleId::FunctionAttributeTwice => rule(
                "function/attribute-twice",
                Error,
                "A function declares an attribute once, with a default or without.",
                "IR.md, Functions",
            ),
            RuleId::FunctionOpset => rule(
                "function/opset",
                Warning,
                "A function imports a domain in the version of its model.",
                "IR.md, Model-local functions",
            ),
        }
    }

    /// The stable id: `node/type`.
    pub const fn id(self) -> &'static str {
        self.row().id
    }

    /// The level of its findings.
    pub const fn level(self) -> Level {
        self.row().level
    }

    /// The sentence that is true of a model that follows the rule; for a note, its statement.
    pub const fn sentence(self) -> &'static str {
        self.row().sentence
    }

    /// The source in ONNX.
    pub const fn source(self) -> &'static str {
        self.row().source
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_distinct_and_sentences_are_sentences() {
        let ids: BTreeSet<&str> = RuleId::ALL.iter().map(|rule| rule.id()).collect();
        assert_eq!(ids.len(), RuleId::ALL.len());
        for rule in RuleId::ALL {
            assert!(rule.sentence().ends_with('.') && !rule.source().is_empty(), "{rule}");
            let allowed = |c: char| c.is_ascii_lowercase() || c == '/' || c == '-';
            assert!(rule.id().chars().all(allowed), "{rule}");
        }
    }
}
