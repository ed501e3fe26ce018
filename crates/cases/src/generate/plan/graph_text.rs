//! Nodes and functions of a case in ONNX's text syntax, with parameters: `$T` stands for a type, `$perm` for a text under `set`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use onnx_conformance_reference::model::text::{TextError, parse_function, parse_graph, parse_model, parse_nodes};
use onnx_conformance_reference::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};
use onnx_conformance_reference::types::ValueType;

use crate::generate::file::yaml_text::YamlText;
use crate::generate::plan::settings::type_text;
use crate::generate::plan::types::Assignment;

/// Domain of a graph's functions.
pub(crate) const FUNCTIONS: &str = "local";

/// Mistake in nodes or functions.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum GraphTextError {
    /// The text cannot be parsed.
    #[error("{part}: {}", .error.rule)]
    Text {
        /// The key with the text.
        part: &'static str,
        /// The place and the rule.
        error: TextError,
    },
    /// The text has a parameter without a value.
    #[error("'${0}' has no value; give it under `set` or `types`")]
    UnknownParameter(String),
}

impl GraphTextError {
    /// Returns the line and column in the text, counted from 1.
    pub(crate) fn place(&self) -> Option<(usize, usize)> {
        match self {
            GraphTextError::Text { error, .. } => Some((error.line, error.column)),
            GraphTextError::UnknownParameter(_) => None,
        }
    }
}

/// Values of the parameters in texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Returns the type parameters. A tensor's is the name of its element type.
    pub(crate) fn of_types(types: &Assignment) -> Parameters {
        let text = |value_type: &ValueType| match value_type {
            ValueType::Tensor(element) => element.to_string(),
            other => type_text(other),
        };
        Parameters(types.iter().map(|(name, value_type)| (name.clone(), text(value_type))).collect())
    }

    /// Adds a parameter.
    pub(crate) fn insert(&mut self, name: &str, text: String) {
        self.0.insert(name.to_owned(), text);
    }

    /// Parses nodes. `part` is their key in the file.
    pub(crate) fn nodes(&self, part: &'static str, text: &str) -> Result<Vec<NodeProto>, GraphTextError> {
        parse_nodes(&self.resolve(text)?).map_err(|error| GraphTextError::Text { part, error })
    }

    /// Parses a function. If it declares no imports, it imports the default domain at an opset, and the other
    /// functions.
    pub(crate) fn function(&self, text: &str, opset: u32) -> Result<FunctionProto, GraphTextError> {
        let parsed = parse_function(&self.resolve(text)?);
        let mut function = parsed.map_err(|error| GraphTextError::Text { part: "functions", error })?;
        function.domain.get_or_insert_with(|| FUNCTIONS.to_owned());
        if function.opset_import.is_empty() {
            function.opset_import = vec![import("", opset), import(FUNCTIONS, 1)];
        }
        Ok(function)
    }

    /// Parses a whole model.
    pub(crate) fn model(&self, text: &str) -> Result<ModelProto, GraphTextError> {
        parse_model(&self.resolve(text)?).map_err(|error| GraphTextError::Text { part: "model", error })
    }

    /// Parses a graph. `part` is its key in the file.
    pub(crate) fn graph(&self, part: &'static str, text: &str) -> Result<GraphProto, GraphTextError> {
        parse_graph(&self.resolve(text)?).map_err(|error| GraphTextError::Text { part, error })
    }

    /// Replaces each `$NAME`.
    pub(crate) fn resolve(&self, text: &str) -> Result<String, GraphTextError> {
        let mut resolved = String::new();
        let mut from = 0;
        for (at, name) in parameters(text) {
            let value = self.0.get(name).ok_or_else(|| GraphTextError::UnknownParameter(name.to_owned()))?;
            resolved.push_str(text.get(from..at).unwrap_or_default());
            resolved.push_str(value);
            from = at + 1 + name.len();
        }
        resolved.push_str(text.get(from..).unwrap_or_default());
        Ok(resolved)
    }
}

/// Returns the import of an operator set.
pub(crate) fn import(domain: &str, version: u32) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(i64::from(version)) }
}

/// Finds each `$NAME` of a text: the position of `$`, and the name.
pub(crate) fn parameters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('$').map(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        (at, rest.get(..end).unwrap_or_default())
    })
}

/// Returns the names that nodes read, with those that their subgraphs read.
pub(crate) fn read_names(nodes: &[NodeProto]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for node in nodes {
        names.extend(node.input.iter().filter(|name| !name.is_empty()).map(ToString::to_string));
        for attribute in &node.attribute {
            for graph in attribute.all_graphs() {
                names.extend(names_of_graph(graph));
            }
        }
    }
    names
}

/// Returns the names that a subgraph reads, its own outputs included.
fn names_of_graph(graph: &GraphProto) -> BTreeSet<String> {
    let mut names = read_names(&graph.node);
    names.extend(graph.output.iter().map(|output| output.name().to_owned()));
    names
}

/// Converts a place in a text of the file to a place in the file. The text is the first one in a range of lines whose key is `part`.
/// All lines and columns count from 1. Without such a text it is `None`.
pub(crate) fn place_in_file(
    file: YamlText<'_>,
    range: Range<usize>,
    part: &str,
    (line, column): (usize, usize),
) -> Option<(usize, usize)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let key = format!("{part}:");
    let is_key = |content: &str| content.trim_start().trim_start_matches("- ").starts_with(&key);
    let (at, content) = lines
        .iter()
        .enumerate()
        .take(range.end - 1)
        .skip(range.start.saturating_sub(1))
        .find(|(_, content)| is_key(content))?;
    let written = content.split_once(key.as_str()).map_or("", |(_, rest)| rest.trim());
    Some(if written.is_empty() {
        // A list of texts, such as functions.
        (at + 1, content.find(&key).unwrap_or(0) + 1)
    } else if written.starts_with(['|', '>']) {
        let indent = lines.get(at + 1).map_or(0, |first| first.len() - first.trim_start().len());
        (at + 1 + line, indent + column)
    } else {
        (at + 1, content.find(written).unwrap_or(0) + column + usize::from(written.starts_with(['"', '\''])))
    })
}
