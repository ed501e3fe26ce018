//! Findings: what is wrong with a model, where, where it comes from, and the edit that mends it.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::facts::{Origin, ValueFact};
use crate::rules::{Level, RuleId};

/// Something that is wrong with a model, or worth knowing of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: RuleId,
    /// How much it weighs.
    pub level: Level,
    /// Where.
    pub place: Place,
    /// What is wrong, the cause first: a lower-case fragment.
    pub message: String,
    /// The inputs of the node, as far as they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Described>,
    /// Where the type or value comes from that the rule excludes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The edit that mends it, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<String>,
    /// The byte of the file at which it stands, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl Finding {
    /// A finding of a rule, at the rule's level.
    pub fn new(rule: RuleId, place: Place, message: impl Into<String>) -> Finding {
        let (level, message) = (rule.level(), message.into());
        Finding { rule, level, place, message, inputs: Vec::new(), origin: None, edit: None, offset: None }
    }

    /// The same finding with the edit that mends it.
    #[must_use]
    pub fn with_edit(self, edit: impl Into<String>) -> Finding {
        Finding { edit: Some(edit.into()), ..self }
    }

    /// The same finding with the place where the offending type or value comes from.
    #[must_use]
    pub fn with_origin(self, origin: Option<Origin>) -> Finding {
        Finding { origin, ..self }
    }

    /// The same finding with the byte of the file.
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

/// Where in a model something stands: the graphs and functions around it, outermost first, then the node or the value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The graphs, functions and nodes around it; empty for the model itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<PathStep>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodePlace>,
    /// The value, tensor or attribute, by kind and name: `initializer 'w'`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
}

/// One step into a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PathStep {
    /// A graph, by its name.
    Graph(String),
    /// A function of the model: `local/f`.
    Function(String),
    /// A node, and the attribute of it that holds the graph that follows.
    Subgraph {
        /// The node.
        node: NodePlace,
        /// The attribute.
        attribute: String,
    },
    /// A node that calls the function that follows.
    Call(NodePlace),
}

/// A node, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodePlace {
    /// The position in the node list of its graph.
    pub index: usize,
    /// The name, which may be empty.
    pub name: String,
    /// The operator version where there is one (`ai.onnx/Cast-13`), or else domain and operator (`local/f`).
    pub operator: String,
    /// The name of the first output, which names nodes without a name.
    pub output: String,
}

impl NodePlace {
    /// The operator without the domain of ONNX itself: `Cast-13`, `ai.onnx.ml/ZipMap-1`.
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

/// The steps of a path that a line shows; those between are counted.
const SHOWN_STEPS: usize = 8;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.path.len().saturating_sub(SHOWN_STEPS);
        let mut parts: Vec<String> = self.path.iter().take(SHOWN_STEPS).map(ToString::to_string).collect();
        parts.extend((hidden > 0).then(|| format!("{hidden} steps further in")));
        parts.extend(self.node.iter().map(ToString::to_string));
        parts.extend(self.item.clone());
        if parts.is_empty() { f.write_str("model") } else { f.write_str(&parts.join(", ")) }
    }
}

/// A value with what is known of it, for people to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// The name; empty for an input that is left out.
    pub name: String,
    /// The type, where it is known.
    #[serde(rename = "type", serialize_with = "type_text", skip_serializing_if = "Option::is_none")]
    pub value_type: Option<onnx_conformance_reference::types::ValueType>,
    /// The dimensions, where the rank is known: a size, a name, or `?`.
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
    /// The value of this name, of which this is known.
    pub fn new(name: &str, fact: Option<&ValueFact>) -> Described {
        let shape = fact.and_then(|fact| fact.shape.as_ref());
        Described {
            name: name.to_owned(),
            value_type: fact.and_then(|fact| fact.value_type.clone()),
            shape: shape.map(|shape| shape.iter().map(crate::facts::dim_text).collect()),
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
