//! Rules for models: id, level, sentence, and the section of the ONNX standard.

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
#[non_exhaustive]
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
    const fn definition(self) -> Rule {
        use Level::{Error, Note, Warning};
        match self {
            RuleId::FileEmpty => rule("file/empty", Error, "The file is not empty.", "protobuf"),
            RuleId::FileNoModel => rule("file/no-model", Error, "The file is an ONNX model.", "onnx.proto, ModelProto"),
            RuleId::FileTruncated => {
                rule("file/truncated", Error, "The file contains every message in full.", "protobuf")
            }
            RuleId::FileMalformed => {
                rule("file/malformed", Error, "The file is a valid protobuf encoding of a model.", "protobuf")
            }
            RuleId::FileNesting => {
                rule("file/nesting", Error, "Messages nest no deeper than protobuf decoders allow.", "protobuf")
            }
            RuleId::FileLimit => rule(
                "file/limit",
                Error,
                "The check stays within its limits of memory, time and findings.",
                "this program",
            ),
            RuleId::FileText => rule("file/text", Error, "Every string is UTF-8.", "protobuf, string"),
            RuleId::FileUnknown => {
                rule("file/unknown-field", Note, "The file contains fields that ONNX does not define.", "onnx.proto")
            }
            RuleId::ModelNoGraph => rule("model/no-graph", Error, "A model has a graph.", "IR.md, Models"),
            RuleId::IrMissing => rule("ir/missing", Error, "A model declares its IR version.", "IR.md, Models"),
            RuleId::IrUnknown => {
                rule("ir/unknown", Error, "The IR version is one that ONNX has published.", "IR.md, Versions")
            }
            RuleId::IrOld => rule(
                "ir/old",
                Error,
                "The IR version is at least 3: older ones import no operator sets, so the meaning of nodes is undefined.",
                "onnx.proto, Version",
            ),
            RuleId::IrInitializer => rule(
                "ir/initializer",
                Error,
                "Before IR version 4, every initializer is also an input of the graph.",
                "IR.md, Graphs",
            ),
            RuleId::IrFunction => rule(
                "ir/function",
                Error,
                "Model-local functions require IR version 8 or newer.",
                "onnx.proto, Version",
            ),
            RuleId::IrFeature => rule(
                "ir/feature",
                Warning,
                "The IR version supports every feature that the model uses.",
                "onnx.proto, Version",
            ),
            RuleId::IrOpset => rule(
                "ir/opset",
                Warning,
                "The IR version is at least that of the first ONNX release with the imported opsets.",
                "Versioning.md, released versions",
            ),
            RuleId::OpsetMissing => {
                rule("opset/missing", Error, "A model imports at least one operator set.", "IR.md, Operator sets")
            }
            RuleId::OpsetInvalid => rule("opset/invalid", Error, "Opset versions start at 1.", "IR.md, Operator sets"),
            RuleId::OpsetUnknown => rule(
                "opset/unknown",
                Error,
                "The imported version of a known domain is one that ONNX has published.",
                "Versioning.md",
            ),
            RuleId::OpsetTwice => {
                rule("opset/twice", Error, "A domain is imported at one version only.", "IR.md, Operator sets")
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
                "The domain is not one of ONNX's, so its nodes are not checked.",
                "this program",
            ),
            RuleId::NodeOperator => rule("node/operator", Error, "The operator exists in its domain.", "Operators.md"),
            RuleId::NodeOpset => {
                rule("node/opset", Error, "The operator exists at the imported opset.", "Operators.md")
            }
            RuleId::NodeDeprecated => rule(
                "node/deprecated",
                Warning,
                "The operator is not deprecated at the imported opset.",
                "Operators.md",
            ),
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
                rule("node/attribute-twice", Error, "A node sets each attribute at most once.", "IR.md, Attributes")
            }
            RuleId::NodeAttributeValue => rule(
                "node/attribute-value",
                Error,
                "An enumerated attribute has one of the values that the operator version lists.",
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
                "Only nodes in functions refer to the caller's attributes, and only to declared ones.",
                "IR.md, Functions",
            ),
            RuleId::NodeType => {
                rule("node/type", Error, "Every input has a type that the operator version allows.", "Operators.md")
            }
            RuleId::NodeConstraint => rule(
                "node/constraint",
                Error,
                "The attributes, constants and shapes of a node are consistent.",
                "Operators.md",
            ),
            RuleId::NodeDead => rule("node/dead", Note, "No output of the node is used.", "this program"),
            RuleId::ValueUndefined => {
                rule("value/undefined", Error, "Every value that is read is defined.", "IR.md, Graphs")
            }
            RuleId::ValueUnsorted => rule("value/unsorted", Error, "Nodes are in topological order.", "IR.md, Graphs"),
            RuleId::ValueCycle => {
                rule("value/cycle", Error, "The nodes of a graph do not form a cycle.", "IR.md, Graphs")
            }
            RuleId::ValueTwice => rule(
                "value/twice",
                Error,
                "A name is assigned only once in a graph and its enclosing graphs.",
                "IR.md, Names within a graph",
            ),
            RuleId::ValueShadowed => rule(
                "value/shadowed",
                Warning,
                "No enclosing graph uses the names of the inputs and initializers of a subgraph.",
                "IR.md, Names within a graph",
            ),
            RuleId::ValueType => {
                rule("value/type", Error, "The declared type of a value is its actual type.", "IR.md, Graphs")
            }
            RuleId::ValueShape => rule(
                "value/shape",
                Error,
                "The declared shape of a value does not contradict its actual shape.",
                "IR.md, Graphs",
            ),
            RuleId::ValueTypeForm => {
                rule("value/type-form", Error, "A declared type is a valid ONNX type.", "onnx.proto, TypeProto")
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
                "Every output of a graph is defined in it or in an enclosing graph.",
                "IR.md, Graphs",
            ),
            RuleId::GraphOutputTwice => rule(
                "graph/output-twice",
                Warning,
                "The outputs of the main graph have distinct names.",
                "IR.md, Graphs",
            ),
            RuleId::GraphName => rule("graph/name", Warning, "A graph has a name.", "IR.md, Graphs"),
            RuleId::GraphInputName => {
                rule("graph/input-name", Error, "The inputs of a graph have distinct, nonempty names.", "IR.md, Graphs")
            }
            RuleId::SubgraphArity => rule(
                "subgraph/arity",
                Error,
                "A subgraph has the inputs and outputs that its node requires.",
                "Operators.md: If, Loop, Scan, SequenceMap",
            ),
            RuleId::SubgraphType => rule(
                "subgraph/type",
                Error,
                "The inputs and outputs of a subgraph have the types that its node requires.",
                "Operators.md: If, Loop, Scan, SequenceMap",
            ),
            RuleId::TensorType => rule(
                "tensor/type",
                Error,
                "The element type of a tensor is one that ONNX defines.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorDims => rule(
                "tensor/dims",
                Error,
                "Dimensions are not negative, and their product does not overflow.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorFields => rule(
                "tensor/fields",
                Error,
                "The elements of a tensor are stored in a single field.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorField => rule(
                "tensor/field",
                Error,
                "The elements of a tensor are stored in the field for their type.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorSize => rule(
                "tensor/size",
                Error,
                "A tensor stores as many elements as its dimensions require.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorSegment => rule(
                "tensor/segment",
                Error,
                "A tensor is not split into segments, which no release of ONNX reads.",
                "onnx.proto, TensorProto",
            ),
            RuleId::TensorName => {
                rule("tensor/name", Error, "Initializers have distinct, nonempty names.", "IR.md, Graphs")
            }
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
                "External data has a location, and its offset and length are decimal numbers.",
                "onnx.proto, TensorProto",
            ),
            RuleId::ExternalLocation => rule(
                "external/location",
                Error,
                "External data is stored in the folder of the model.",
                "ExternalData.md",
            ),
            RuleId::ExternalMissing => {
                rule("external/missing", Error, "The file with the external data exists.", "ExternalData.md")
            }
            RuleId::ExternalSize => rule(
                "external/size",
                Error,
                "The file contains the bytes that the tensor refers to and needs.",
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
                "A call has no more inputs and outputs than its function.",
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
                "A call sets every attribute that has no default.",
                "IR.md, Functions",
            ),
            RuleId::FunctionAttributeTwice => rule(
                "function/attribute-twice",
                Error,
                "A function declares an attribute once, with or without a default.",
                "IR.md, Functions",
            ),
            RuleId::FunctionOpset => rule(
                "function/opset",
                Warning,
                "A function imports a domain at the same version as its model.",
                "IR.md, Model-local functions",
            ),
        }
    }

    /// The stable id: `node/type`.
    pub const fn id(self) -> &'static str {
        self.definition().id
    }

    /// The level of its findings.
    pub const fn level(self) -> Level {
        self.definition().level
    }

    /// The sentence that holds for a model that follows the rule; for a note, what the note states.
    pub const fn sentence(self) -> &'static str {
        self.definition().sentence
    }

    /// The section of the ONNX standard that defines it.
    pub const fn source(self) -> &'static str {
        self.definition().source
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
