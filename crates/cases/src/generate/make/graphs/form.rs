//! A form of a pattern with one row of types, resolved to a graph.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::model::text::{TextError, parse_function, parse_nodes};
use onnx_conformance_reference::proto::{FunctionProto, NodeProto, OperatorSetIdProto};
use onnx_conformance_reference::types::ValueType;

use crate::case::Named;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::draft::value_of;
use crate::generate::make::graphs::draft::{GraphDraft, read_names};
use crate::generate::make::graphs::file::FormFile;
use crate::generate::make::graphs::model::FUNCTIONS;
use crate::generate::plan::types::Assignment;
use crate::generate::plan::value_plan::ValueBuilder;

/// The opset of a form that names none.
const OPSET: u32 = 17;

/// Mistake in a form.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormError {
    /// Nodes or a function cannot be parsed.
    #[error("line {}, column {} of {part}: {}", .error.line, .error.column, .error.rule)]
    Text {
        /// The key with the text.
        part: &'static str,
        /// The place and the rule.
        error: TextError,
    },
    /// The good form has no nodes.
    #[error("`nodes` is missing")]
    NoNodes,
    /// A text has a parameter without a value.
    #[error("'${0}' has no value; give it under `set` or `types`")]
    UnknownParameter(String),
    /// A parameter is in no text.
    #[error("'{0}' is given, but no text has '${0}'")]
    UnusedParameter(String),
    /// A value is neither a number, a text nor a list of them.
    #[error("'{0}' must be a number, a text, or a list of them")]
    ParameterValue(String),
    /// No node reads an input or initializer.
    #[error("no node reads '{0}'")]
    UnreadValue(String),
    /// An initializer is no tensor.
    #[error("the initializer '{0}' must be a tensor")]
    WeightType(String),
    /// A type parameter has a value that is no element type.
    #[error("'{0}' is not an element type")]
    Type(String),
    /// A value cannot be made.
    #[error("'{name}': {reason}")]
    Value {
        /// The value.
        name: String,
        /// The reason.
        reason: String,
    },
    /// No node has a requested output.
    #[error("no node has the output '{0}'")]
    UnknownOutput(String),
}

/// One row of types and an opset, which make a case of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) types: Vec<(String, String)>,
    pub(crate) opset: u32,
    /// True if the form has several opsets, so that ids name them.
    names_opset: bool,
}

impl Row {
    /// Returns the row with double instead of narrower floats. `None` if there is none.
    pub(crate) fn widened(&self) -> Option<Row> {
        let is_narrow = |element: &str| matches!(element, "float" | "float16" | "bfloat16");
        let types = self.types.iter().map(|(name, element)| {
            let element = if is_narrow(element) { "double".to_owned() } else { element.clone() };
            (name.clone(), element)
        });
        let wide = Row { types: types.collect(), ..self.clone() };
        (wide != *self).then_some(wide)
    }
}

impl fmt::Display for Row {
    /// Writes the end of an id: `/T=float,U=int64`, with `/opset=13` if there are several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<String> = self.types.iter().map(|(name, element)| format!("{name}={element}")).collect();
        if !types.is_empty() {
            write!(f, "/{}", types.join(","))?;
        }
        if self.names_opset { write!(f, "/opset={}", self.opset) } else { Ok(()) }
    }
}

impl FormFile {
    /// Returns the rows of the form: every combination of types, each at every opset.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let types = self.types.0.iter().fold(vec![Vec::new()], |rows, (name, elements)| {
            let with = |row: &Vec<(String, String)>, element: &String| {
                [row.as_slice(), &[(name.clone(), element.clone())]].concat()
            };
            rows.iter().flat_map(|row| elements.iter().map(move |element| with(row, element))).collect()
        });
        let opsets = self.opsets.clone().unwrap_or_else(|| vec![OPSET]);
        let row = |types: &Vec<(String, String)>, opset: u32| Row {
            types: types.clone(),
            opset,
            names_opset: opsets.len() > 1,
        };
        types.iter().flat_map(|types| opsets.iter().map(|opset| row(types, *opset))).collect()
    }

    /// Returns the graph of the form. Its fills use the random streams whose names begin with `seed`.
    pub(crate) fn draft(&self, row: &Row, seed: &str, is_near: bool) -> Result<GraphDraft, FormError> {
        self.check_parameters(is_near)?;
        let texts = self.texts(row)?;
        let nodes = texts.nodes("nodes", self.nodes.as_deref().ok_or(FormError::NoNodes)?)?;
        let functions = self.functions.iter().flatten().map(|text| texts.function(text, row.opset));
        let functions = functions.collect::<Result<Vec<_>, FormError>>()?;
        let read = read_names(&nodes);
        let values = |files: &Ordered<ValueFile>| -> Result<Vec<Named>, FormError> {
            let is_read = |(name, _): &&(String, ValueFile)| read.contains(name);
            if let Some((name, _)) = files.0.iter().find(|entry| !is_near && !is_read(entry)) {
                return Err(FormError::UnreadValue(name.clone()));
            }
            let value = |(name, file): &(String, ValueFile)| texts.value(name, file, seed);
            files.0.iter().filter(is_read).map(value).collect()
        };
        let (inputs, weights) = (values(&self.inputs)?, values(&self.weights)?);
        if let Some(weight) = weights.iter().find(|weight| weight.value.as_tensor().is_none()) {
            return Err(FormError::WeightType(weight.name.clone()));
        }
        let produced: Vec<String> = nodes.iter().flat_map(|node| &node.output).cloned().collect();
        let unread = || produced.iter().filter(|name| !name.is_empty() && !read.contains(*name)).cloned().collect();
        let outputs: Vec<String> = self.outputs.clone().unwrap_or_else(unread);
        if let Some(name) = outputs.iter().find(|name| !produced.contains(name)) {
            return Err(FormError::UnknownOutput(name.clone()));
        }
        Ok(GraphDraft { opset: row.opset, nodes, functions, inputs, weights, outputs, ..GraphDraft::default() })
    }

    /// Returns the graph after the rewrite, with the values and outputs of another.
    pub(crate) fn rewritten_draft(&self, row: &Row, draft: &GraphDraft) -> Result<Option<GraphDraft>, FormError> {
        let Some(text) = &self.rewritten else { return Ok(None) };
        let nodes = self.texts(row)?.nodes("rewritten", text)?;
        let read = read_names(&nodes);
        let kept = |values: &[Named]| values.iter().filter(|value| read.contains(&value.name)).cloned().collect();
        Ok(Some(GraphDraft { nodes, inputs: kept(&draft.inputs), weights: kept(&draft.weights), ..draft.clone() }))
    }

    /// Returns the expected value of an output that the file gives.
    pub(crate) fn expected_value(&self, name: &str, row: &Row) -> Result<Option<Named>, FormError> {
        let texts = self.texts(row)?;
        self.expected.get(name).map(|file| texts.value(name, file, "")).transpose()
    }

    /// Fails if a parameter of the form is in none of its texts. A near miss may have other texts than the good form.
    fn check_parameters(&self, is_near: bool) -> Result<(), FormError> {
        let texts = [self.nodes.as_deref(), self.rewritten.as_deref()].into_iter().flatten();
        let texts: Vec<&str> = texts.chain(self.functions.iter().flatten().map(String::as_str)).collect();
        let has = |name: &str| texts.iter().any(|text| parameters(text).any(|(_, found)| found == name));
        match self.set.keys().find(|name| !is_near && !has(name)) {
            Some(name) => Err(FormError::UnusedParameter(name.to_owned())),
            None => Ok(()),
        }
    }

    fn texts(&self, row: &Row) -> Result<Texts, FormError> {
        let mut texts = Texts::default();
        for (name, element) in &row.types {
            let parsed: ElementType = element.parse().map_err(|_| FormError::Type(element.clone()))?;
            texts.types.insert(name.clone(), ValueType::Tensor(parsed));
            texts.parameters.insert(name.clone(), element.clone());
        }
        for (name, value) in &self.set.0 {
            let text = text_of(value).ok_or_else(|| FormError::ParameterValue(name.clone()))?;
            texts.parameters.insert(name.clone(), text);
        }
        Ok(texts)
    }
}

/// Values of the parameters in the texts of a form.
#[derive(Default)]
struct Texts {
    types: Assignment,
    parameters: BTreeMap<String, String>,
}

impl Texts {
    fn nodes(&self, part: &'static str, text: &str) -> Result<Vec<NodeProto>, FormError> {
        parse_nodes(&self.resolve(text)?).map_err(|error| FormError::Text { part, error })
    }

    fn function(&self, text: &str, opset: u32) -> Result<FunctionProto, FormError> {
        let parsed = parse_function(&self.resolve(text)?);
        let mut function = parsed.map_err(|error| FormError::Text { part: "functions", error })?;
        function.domain.get_or_insert_with(|| FUNCTIONS.to_owned());
        if function.opset_import.is_empty() {
            let import = |domain: &str, version: u32| OperatorSetIdProto {
                domain: Some(domain.to_owned()),
                version: Some(i64::from(version)),
            };
            function.opset_import = vec![import("", opset), import(FUNCTIONS, 1)];
        }
        Ok(function)
    }

    /// Replaces each `$NAME`.
    fn resolve(&self, text: &str) -> Result<String, FormError> {
        let mut resolved = String::new();
        let mut from = 0;
        for (at, name) in parameters(text) {
            let value = self.parameters.get(name).ok_or_else(|| FormError::UnknownParameter(name.to_owned()))?;
            resolved.push_str(text.get(from..at).unwrap_or_default());
            resolved.push_str(value);
            from = at + 1 + name.len();
        }
        resolved.push_str(text.get(from..).unwrap_or_default());
        Ok(resolved)
    }

    fn value(&self, name: &str, file: &ValueFile, seed: &str) -> Result<Named, FormError> {
        let error = |reason: &dyn fmt::Display| FormError::Value { name: name.to_owned(), reason: reason.to_string() };
        let builder = ValueBuilder { names: &BTreeMap::new(), types: &self.types };
        let float = ValueType::Tensor(ElementType::Float);
        let plan = builder.plan(file, Some(&float), &mut std::iter::empty()).map_err(|reason| error(&reason))?;
        let plan = plan.ok_or_else(|| error(&"its type cannot represent the values"))?;
        let value = value_of(&plan, &format!("{seed}#{name}")).map_err(|reason| error(&reason))?;
        Ok(Named { name: name.to_owned(), value })
    }
}

/// Finds each `$NAME` of a text: the position of `$`, and the name.
fn parameters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('$').map(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        (at, rest.get(..end).unwrap_or_default())
    })
}

/// Writes a parameter's value in ONNX's text syntax.
fn text_of(value: &serde_yaml::Value) -> Option<String> {
    match value {
        serde_yaml::Value::Number(number) => Some(number.to_string()),
        serde_yaml::Value::String(text) => Some(text.clone()),
        serde_yaml::Value::Sequence(items) => {
            let items: Option<Vec<String>> = items.iter().map(text_of).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        _ => None,
    }
}
