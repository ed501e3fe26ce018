//! A form of a pattern with one row of types, resolved to a graph.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::proto::onnx::{StringStringEntryProto, TrainingInfoProto};
use onnx_conformance_reference::proto::{FunctionProto, ModelProto, ValueInfoProto};
use onnx_conformance_reference::types::ValueType;

use crate::case::Named;
use crate::generate::file::literal::Literal;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::draft::value_of;
use crate::generate::make::model::Declared;
use crate::generate::make::topics::draft::GraphDraft;
use crate::generate::make::topics::file::{FormFile, TrainingFile};
use crate::generate::make::topics::model::model_of;
use crate::generate::make::topics::tensor::TensorFileError;
use crate::generate::plan::graph_text::{GraphTextError, Parameters, parameters, read_names};
use crate::generate::plan::types::Assignment;
use crate::generate::plan::value_plan::ValueBuilder;

/// The opset of a form that names none.
const OPSET: u32 = 17;

/// Mistake in a form.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormError {
    /// Nodes or a function cannot be parsed.
    #[error(transparent)]
    Text(#[from] GraphTextError),
    /// The good form has neither nodes nor a model.
    #[error("`nodes` is missing")]
    NoNodes,
    /// A key does not go with a whole model.
    #[error("`{0}` does not go with `model`; write it in the model, or write nodes instead of a model")]
    WithModel(&'static str),
    /// The model has no input or output of this name.
    #[error("the graph has no '{0}'")]
    UnknownValue(String),
    /// A model's output has no value.
    #[error(
        "the output '{0}' needs a value under `outputs`: every output of a written model does, and of a case of the format"
    )]
    NoOutput(String),
    /// A parameter is in no text.
    #[error("'{0}' is given, but no text has '${0}'")]
    UnusedParameter(String),
    /// A value is neither a number, a text nor a list of them.
    #[error("'{0}' must be a number, a text, or a list of them")]
    ParameterValue(String),
    /// No node reads an input or initializer.
    #[error("no node reads '{0}'")]
    UnreadValue(String),
    /// An initializer is not a tensor.
    #[error("the initializer '{0}' must be a tensor")]
    WeightType(String),
    /// The value of a type parameter is not an element type.
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
    /// An initializer cannot be made.
    #[error(transparent)]
    Tensor(#[from] TensorFileError),
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

    /// Returns the graph of the form. Its fills use the random streams whose names begin with `seed`. That of a written model has
    /// only the inputs and outputs.
    pub(crate) fn draft(&self, row: &Row, seed: &str, is_near: bool) -> Result<GraphDraft, FormError> {
        self.check_parameters(is_near)?;
        let draft = if self.model.is_some() { self.written(row, seed)? } else { self.parsed(row, seed, is_near)? };
        match self.outputs.keys().find(|name| !draft.outputs.iter().any(|output| output == name)) {
            Some(name) => Err(FormError::UnknownValue(name.to_owned())),
            None => Ok(draft),
        }
    }

    /// Returns the inputs and outputs of the written model.
    fn written(&self, row: &Row, seed: &str) -> Result<GraphDraft, FormError> {
        let others = [
            ("nodes", self.nodes.is_some()),
            ("functions", self.functions.is_some()),
            ("weights", !self.weights.0.is_empty()),
            ("opsets", self.opsets.is_some()),
            ("request", self.request.is_some()),
            ("rewritten", self.rewritten.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
            return Err(FormError::WithModel(key));
        }
        let texts = self.texts(row)?;
        let graph = texts.parameters.model(self.model.as_deref().unwrap_or_default())?.graph.unwrap_or_default();
        let names = |values: &[ValueInfoProto]| values.iter().map(|info| info.name().to_owned()).collect::<Vec<_>>();
        let (inputs, outputs) = (names(&graph.input), names(&graph.output));
        if let Some(name) = self.inputs.keys().find(|name| !inputs.iter().any(|input| input == name)) {
            return Err(FormError::UnknownValue(name.to_owned()));
        }
        let given = inputs.iter().filter_map(|name| Some((name, self.inputs.get(name)?)));
        let inputs = given.map(|(name, file)| texts.value(name, file, seed)).collect::<Result<_, FormError>>()?;
        Ok(GraphDraft { opset: row.opset, inputs, outputs, ..GraphDraft::default() })
    }

    /// Returns the model of the form: the written one, or that of its nodes with the values of a draft. Declares these outputs.
    pub(crate) fn model(
        &self,
        row: &Row,
        draft: &GraphDraft,
        name: &str,
        outputs: &[Declared],
    ) -> Result<ModelProto, FormError> {
        let parameters = self.texts(row)?.parameters;
        let mut model = match &self.model {
            Some(text) => parameters.model(text)?,
            None => model_of(draft, name, outputs),
        };
        model.producer_name.get_or_insert_with(|| "onnx-conformance".to_owned());
        let graph = model.graph.get_or_insert_default();
        for tensor in &self.initializers {
            graph.initializer.push(tensor.message()?);
        }
        for tensor in &self.sparse {
            graph.sparse_initializer.push(tensor.message()?);
        }
        if let Some(training) = &self.training {
            model.training_info.push(training.message(&parameters)?);
        }
        Ok(model)
    }

    /// Returns the draft with the nodes and functions of this form.
    pub(crate) fn with_own_nodes(&self, row: &Row, draft: &GraphDraft) -> Result<GraphDraft, FormError> {
        let Some(nodes) = &self.nodes else { return Ok(draft.clone()) };
        let parameters = self.texts(row)?.parameters;
        Ok(GraphDraft {
            nodes: parameters.nodes("nodes", nodes)?,
            functions: self.parsed_functions(&parameters, row)?,
            ..draft.clone()
        })
    }

    fn parsed_functions(&self, parameters: &Parameters, row: &Row) -> Result<Vec<FunctionProto>, GraphTextError> {
        self.functions.iter().flatten().map(|text| parameters.function(text, row.opset)).collect()
    }

    fn parsed(&self, row: &Row, seed: &str, is_near: bool) -> Result<GraphDraft, FormError> {
        let texts = self.texts(row)?;
        let nodes = texts.parameters.nodes("nodes", self.nodes.as_deref().ok_or(FormError::NoNodes)?)?;
        let functions = self.parsed_functions(&texts.parameters, row)?;
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
        let produced: Vec<String> = nodes.iter().flat_map(|node| &node.output).map(ToString::to_string).collect();
        let unread = || produced.iter().filter(|name| !name.is_empty() && !read.contains(*name)).cloned().collect();
        let outputs: Vec<String> = self.request.clone().unwrap_or_else(unread);
        if let Some(name) = outputs.iter().find(|name| !produced.contains(name)) {
            return Err(FormError::UnknownOutput(name.clone()));
        }
        Ok(GraphDraft { opset: row.opset, nodes, functions, inputs, weights, outputs, ..GraphDraft::default() })
    }

    /// Returns the graph after the rewrite, with the values and outputs of another.
    pub(crate) fn rewritten_draft(&self, row: &Row, draft: &GraphDraft) -> Result<Option<GraphDraft>, FormError> {
        let Some(text) = &self.rewritten else { return Ok(None) };
        let nodes = self.texts(row)?.parameters.nodes("rewritten", text)?;
        let read = read_names(&nodes);
        let kept = |values: &[Named]| values.iter().filter(|value| read.contains(&value.name)).cloned().collect();
        Ok(Some(GraphDraft { nodes, inputs: kept(&draft.inputs), weights: kept(&draft.weights), ..draft.clone() }))
    }

    /// Returns the expected value of an output that the file gives.
    pub(crate) fn expected_value(&self, name: &str, row: &Row) -> Result<Option<Named>, FormError> {
        let texts = self.texts(row)?;
        self.outputs.get(name).map(|file| texts.value(name, file, "")).transpose()
    }

    /// Fails if a parameter of the form is in none of its texts. A near miss may have other texts than the good form.
    fn check_parameters(&self, is_near: bool) -> Result<(), FormError> {
        let texts = [self.nodes.as_deref(), self.rewritten.as_deref(), self.model.as_deref()].into_iter().flatten();
        let texts: Vec<&str> = texts.chain(self.functions.iter().flatten().map(String::as_str)).collect();
        let has = |name: &str| texts.iter().any(|text| parameters(text).any(|(_, found)| found == name));
        match self.set.keys().find(|name| !is_near && !has(name)) {
            Some(name) => Err(FormError::UnusedParameter(name.to_owned())),
            None => Ok(()),
        }
    }

    fn texts(&self, row: &Row) -> Result<Texts, FormError> {
        let mut types = Assignment::default();
        for (name, element) in &row.types {
            let parsed: ElementType = element.parse().map_err(|_| FormError::Type(element.clone()))?;
            types.insert(name.clone(), ValueType::Tensor(parsed));
        }
        let mut parameters = Parameters::of_types(&types);
        for (name, value) in &self.set.0 {
            parameters.insert(name, text_of(value).ok_or_else(|| FormError::ParameterValue(name.clone()))?);
        }
        Ok(Texts { types, parameters })
    }
}

impl TrainingFile {
    fn message(&self, parameters: &Parameters) -> Result<TrainingInfoProto, GraphTextError> {
        let graph = |text: &Option<String>, part| text.as_deref().map(|text| parameters.graph(part, text)).transpose();
        let bindings = |values: &Ordered<String>| {
            let entry = |(key, value): &(String, String)| StringStringEntryProto {
                key: Some(key.clone()),
                value: Some(value.clone()),
            };
            values.0.iter().map(entry).collect()
        };
        Ok(TrainingInfoProto {
            initialization: graph(&self.initialization, "initialization")?,
            algorithm: graph(&self.algorithm, "algorithm")?,
            initialization_binding: bindings(&self.initial),
            update_binding: bindings(&self.update),
        })
    }
}

/// Types and texts of the parameters of a form.
struct Texts {
    types: Assignment,
    parameters: Parameters,
}

impl Texts {
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

/// Writes a parameter's value in ONNX's text syntax.
fn text_of(value: &Literal) -> Option<String> {
    match value {
        Literal::Integer(number) => Some(number.to_string()),
        Literal::Large(number) => Some(number.to_string()),
        Literal::Float(number) => Some(serde_yaml::Number::from(*number).to_string()),
        Literal::Text(text) => Some(text.clone()),
        Literal::List(items) => {
            let items: Option<Vec<String>> = items.iter().map(text_of).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Literal::Bool(_) => None,
    }
}
