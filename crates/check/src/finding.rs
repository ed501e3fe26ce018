//! Findings: a problem of a model with its place, its cause, and the edit that fixes it.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::facts::{Origin, ValueFact};
use crate::rules::{Level, RuleId};

/// Problem of a model, or a note about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: RuleId,
    /// The severity.
    pub level: Level,
    /// The place in the model.
    pub place: Place,
    /// The problem, beginning with its cause: a lower-case fragment.
    pub message: String,
    /// The inputs of the node, as far as they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Described>,
    /// The source of the offending type or value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The edit that fixes it, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<String>,
    /// True if `check --fix` applies the edit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fixable: bool,
    /// The byte offset in the file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Rules that have a safe edit of the file, outside of functions.
const FIXABLE: &[RuleId] = &[
    RuleId::IrMissing,
    RuleId::IrUnknown,
    RuleId::IrInitializer,
    RuleId::IrFunction,
    RuleId::IrFeature,
    RuleId::OpsetRepeated,
    RuleId::OpsetUnused,
    RuleId::NodeDead,
    RuleId::NodeName,
    RuleId::ValueUnsorted,
    RuleId::GraphName,
    RuleId::GraphOutputType,
];

impl Finding {
    /// A finding of a rule, at the rule's level.
    pub fn new(rule: RuleId, place: Place, message: impl Into<String>) -> Finding {
        let (level, message) = (rule.level(), message.into());
        Finding {
            rule,
            level,
            place,
            message,
            inputs: Vec::new(),
            origin: None,
            edit: None,
            fixable: false,
            offset: None,
        }
    }

    /// Adds the edit that fixes it.
    #[must_use]
    pub fn with_edit(self, edit: impl Into<String>) -> Finding {
        Finding { edit: Some(edit.into()), ..self }
    }

    /// Marks the finding if a safe edit of the file fixes it: one that changes neither what the model computes nor
    /// which runtimes load it.
    pub(crate) fn with_fixability(self) -> Finding {
        let is_in_graphs =
            self.place.path.iter().all(|step| matches!(step, PathStep::Graph(_) | PathStep::Subgraph { .. }));
        // The type of an output must be known.
        let is_known = self.rule != RuleId::GraphOutputType || self.edit.is_some();
        Finding { fixable: FIXABLE.contains(&self.rule) && is_in_graphs && is_known, ..self }
    }

    /// Adds the source of the offending type or value.
    #[must_use]
    pub fn with_origin(self, origin: Option<Origin>) -> Finding {
        Finding { origin, ..self }
    }

    /// Adds the byte offset in the file.
    #[must_use]
    pub fn with_offset(self, offset: u64) -> Finding {
        Finding { offset: Some(offset), ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}: {}", self.level, self.rule, self.place, self.message)?;
        if let Some(origin) = &self.origin {
            write!(f, "; it comes from {origin}")?;
        }
        match &self.edit {
            Some(edit) => write!(f, "; {edit}"),
            None => Ok(()),
        }
    }
}

/// Place in a model: the enclosing graphs and functions, outermost first, then the node or the value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The enclosing graphs, functions and nodes; empty for the model itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodePlace>,
    /// The value, tensor or attribute, by kind and name: `initializer 'w'`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// Step of a path into a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PathStep {
    /// A graph, by its name.
    Graph(String),
    /// A function of the model: `local/f`.
    Function(String),
    /// A node, and its attribute with the graph of the next step.
    Subgraph {
        /// The node.
        node: NodePlace,
        /// The attribute.
        attribute: String,
    },
    /// A node that calls the function of the next step.
    Call(NodePlace),
}

/// Node as named in messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodePlace {
    /// The position in the node list of its graph.
    pub index: usize,
    /// The name, which may be empty.
    pub name: String,
    /// The operator version if there is one (`ai.onnx/Cast-13`), otherwise domain and operator (`local/f`).
    pub operator: String,
    /// The name of the first output, which identifies nodes without a name.
    pub output: String,
}

impl NodePlace {
    /// The operator without ONNX's default domain: `Cast-13`, `ai.onnx.ml/ZipMap-1`.
    pub fn short_operator(&self) -> &str {
        self.operator.strip_prefix("ai.onnx/").unwrap_or(&self.operator)
    }
}

impl fmt::Display for NodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = self.short_operator();
        match (self.name.as_str(), self.output.as_str()) {
            ("", "") => write!(f, "node {} ({operator})", self.index),
            ("", output) => write!(f, "node {} for '{output}' ({operator})", self.index),
            (name, _) => write!(f, "node '{name}' ({operator})"),
        }
    }
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathStep::Graph(name) => write!(f, "graph '{name}'"),
            PathStep::Function(name) => write!(f, "function {name}"),
            PathStep::Subgraph { node, attribute } => write!(f, "{node}, attribute '{attribute}'"),
            PathStep::Call(node) => write!(f, "{node}"),
        }
    }
}

/// Maximum number of steps of a path in one line; further ones are counted.
const SHOWN_STEPS: usize = 8;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.path.len().saturating_sub(SHOWN_STEPS);
        let mut parts: Vec<String> = self.path.iter().take(SHOWN_STEPS).map(ToString::to_string).collect();
        parts.extend((hidden > 0).then(|| format!("{hidden} more levels")));
        parts.extend(self.node.iter().map(ToString::to_string));
        parts.extend(self.item.clone());
        if parts.is_empty() { f.write_str("model") } else { f.write_str(&parts.join(", ")) }
    }
}

/// Value with the known facts about it, for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// The name; empty for an omitted input.
    pub name: String,
    /// The type, if known.
    #[serde(rename = "type", serialize_with = "type_text", skip_serializing_if = "Option::is_none")]
    pub value_type: Option<onnx_conformance_reference::types::ValueType>,
    /// The dimensions, if the rank is known: a size, a name, or `?`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<String>>,
}

#[expect(clippy::ref_option, reason = "the form that serde calls")]
fn type_text<S: Serializer>(
    value_type: &Option<onnx_conformance_reference::types::ValueType>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value_type {
        Some(value_type) => serializer.collect_str(value_type),
        None => serializer.serialize_none(),
    }
}

impl Described {
    /// Describes the value of this name by the known facts.
    pub fn new(name: &str, fact: Option<&ValueFact>) -> Described {
        let shape = fact.and_then(|fact| fact.shape.as_ref());
        Described {
            name: name.to_owned(),
            value_type: fact.and_then(|fact| fact.value_type.clone()),
            shape: shape.map(|shape| shape.iter().map(ToString::to_string).collect()),
        }
    }
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return f.write_str("-");
        }
        match &self.value_type {
            Some(value_type) => write!(f, "'{}' {value_type}", self.name)?,
            None => write!(f, "'{}'", self.name)?,
        }
        match &self.shape {
            Some(shape) => write!(f, "[{}]", shape.join(", ")),
            None => Ok(()),
        }
    }
}
