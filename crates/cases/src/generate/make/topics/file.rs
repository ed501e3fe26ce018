//! Contents of a topic: a file under `specs/graphs` or `specs/ir`.

use serde::Deserialize;

use crate::case::Level;
use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::file::literal::Literal;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::topics::context::Context;
use crate::generate::make::topics::tensor::{EncodingFile, SparseFile, TensorFile};

/// A topic: patterns, each with the graphs that show it.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TopicFile {
    /// The topic in one sentence.
    pub summary: String,
    /// The patterns.
    #[serde(default)]
    pub patterns: Vec<PatternFile>,
    /// Tensors that are stored both in typed fields and in raw bytes, with the same elements. Only for `specs/ir`.
    #[serde(default)]
    pub encodings: Vec<EncodingFile>,
}

/// A graph that shows a rewrite of optimizers or a rule of the format, with graphs that differ from it in one condition.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PatternFile {
    /// The name; unique in the file.
    pub name: String,
    /// The rewrite, or the rule of the standard with its place, in one sentence.
    pub says: String,
    /// Level of the cases: required, recommended or open.
    #[serde(default)]
    pub level: Level,
    /// Reports of wrong rewrites of this pattern: `microsoft/onnxruntime#32228`.
    #[serde(default)]
    pub threads: Vec<String>,
    /// The graph that optimizers rewrite, or that shows the rule.
    pub good: FormFile,
    /// Graphs that differ in one condition, by name. Each has all that it does not give from the good form, except `why`
    /// and `outputs`.
    #[serde(default)]
    pub near: Ordered<FormFile>,
    /// Models that a runtime must refuse, by name: the good form with one violation.
    #[serde(default)]
    pub refused: Ordered<RefusedFile>,
    /// Contexts in which the good form is not tried, each with the reason.
    #[serde(default)]
    pub without: Ordered<String>,
}

/// A graph with its values.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FormFile {
    /// The condition that a near miss does not meet, in one sentence.
    pub why: Option<String>,
    /// The opsets; 17 by default.
    pub opsets: Option<Vec<u32>>,
    /// The element types of each type parameter. Every combination is a case.
    #[serde(default)]
    pub types: Ordered<Vec<String>>,
    /// The inputs of the graph.
    #[serde(default)]
    pub inputs: Ordered<ValueFile>,
    /// The initializers of the graph.
    #[serde(default)]
    pub weights: Ordered<ValueFile>,
    /// Texts that replace `$NAME` in nodes and functions: numbers, texts, and lists of them.
    #[serde(default)]
    pub set: Ordered<Literal>,
    /// The nodes in ONNX's text syntax.
    pub nodes: Option<String>,
    /// Functions of the domain `local` in ONNX's text syntax, each from `<` on.
    pub functions: Option<Vec<String>>,
    /// A whole model in ONNX's text syntax, instead of nodes and functions, for what they cannot say.
    pub model: Option<String>,
    /// Initializers as messages with any contents.
    #[serde(default)]
    pub initializers: Vec<TensorFile>,
    /// Sparse initializers.
    #[serde(default)]
    pub sparse: Vec<SparseFile>,
    /// The requested outputs; by default those outputs of nodes that no node reads.
    pub request: Option<Vec<String>>,
    /// Outputs derived by hand.
    #[serde(default)]
    pub outputs: Ordered<ValueFile>,
    /// The nodes after the rewrite. For the good form they compute the same, for a near miss something else.
    pub rewritten: Option<String>,
    /// The accuracy of all outputs; exact by default.
    pub accuracy: Option<AccuracyFile>,
    /// True if zeros must have the expected sign.
    pub zero_sign: Option<bool>,
    /// True if the case is about special values.
    pub edge: Option<bool>,
    /// Level of the form, if it differs from that of the pattern.
    pub level: Option<Level>,
    /// Training information, which inference ignores.
    pub training: Option<TrainingFile>,
    /// True if the model runs twice on its inputs, with the same outputs.
    pub twice: Option<bool>,
}

/// Training information: graphs in ONNX's text syntax, and the values of variables.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TrainingFile {
    /// The graph that computes initial values.
    pub initialization: Option<String>,
    /// The graph of a training step.
    pub algorithm: Option<String>,
    /// The output of the initialization for each variable.
    #[serde(default)]
    pub initial: Ordered<String>,
    /// The output of the algorithm for each variable.
    #[serde(default)]
    pub update: Ordered<String>,
}

/// A model that must be refused: the good form with one violation.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RefusedFile {
    /// The broken rule of the standard with its place, in one sentence.
    pub why: String,
    /// Level of the refusal: required, recommended or open.
    #[serde(default)]
    pub level: Level,
    /// True if only a run shows the violation, and not the model. Checkers are not asked about such a case.
    #[serde(default)]
    pub only_at_run_time: bool,
    /// Replacements in the text of the good form. Each key must occur exactly once.
    #[serde(default)]
    pub replace: Ordered<String>,
    /// The part to remove from the model.
    pub without: Option<Part>,
    /// Initializers that replace those of the good form.
    pub initializers: Option<Vec<TensorFile>>,
    /// Sparse initializers that replace those of the good form.
    pub sparse: Option<Vec<SparseFile>>,
}

/// A part of a model that the text syntax always writes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
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

impl PatternFile {
    /// Returns the forms: the good one, and the near misses with what they inherit.
    pub fn forms(&self) -> impl Iterator<Item = (Option<&str>, FormFile)> {
        let near = self.near.0.iter().map(|(name, form)| (Some(name.as_str()), form.clone().inherit(&self.good)));
        std::iter::once((None, self.good.clone())).chain(near)
    }

    /// Returns the contexts in which the good form is tried.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = Context> {
        Context::ALL.into_iter().filter(|context| self.without.get(context.name()).is_none())
    }
}

impl FormFile {
    /// Returns true if a tensor has external data.
    pub(crate) fn is_outside(&self) -> bool {
        self.initializers.iter().any(|tensor| tensor.external.is_some())
    }

    /// Completes a near miss with what it has in common with the good form. It has its own outputs, since they differ.
    fn inherit(self, good: &FormFile) -> FormFile {
        let merged = |own: &Ordered<ValueFile>, others: &Ordered<ValueFile>| {
            let mut all = others.clone();
            for (name, value) in &own.0 {
                match all.0.iter_mut().find(|(other, _)| other == name) {
                    Some((_, kept)) => kept.clone_from(value),
                    None => all.0.push((name.clone(), value.clone())),
                }
            }
            all
        };
        let mut set = good.set.clone();
        set.replace(&self.set);
        let mut types = good.types.clone();
        types.replace(&self.types);
        let is_empty = self.initializers.is_empty() && self.sparse.is_empty();
        // What the nodes of the near miss do not read is not part of it.
        FormFile {
            inputs: merged(&self.inputs, &good.inputs),
            weights: merged(&self.weights, &good.weights),
            set,
            types,
            opsets: self.opsets.or_else(|| good.opsets.clone()),
            nodes: self.nodes.or_else(|| good.nodes.clone()),
            functions: self.functions.or_else(|| good.functions.clone()),
            model: self.model.or_else(|| good.model.clone()),
            initializers: if is_empty { good.initializers.clone() } else { self.initializers },
            sparse: if is_empty { good.sparse.clone() } else { self.sparse },
            request: self.request.or_else(|| good.request.clone()),
            rewritten: self.rewritten.or_else(|| good.rewritten.clone()),
            accuracy: self.accuracy.or_else(|| good.accuracy.clone()),
            zero_sign: self.zero_sign.or(good.zero_sign),
            edge: self.edge.or(good.edge),
            level: self.level.or(good.level),
            training: self.training.or_else(|| good.training.clone()),
            twice: self.twice.or(good.twice),
            why: self.why,
            outputs: self.outputs,
        }
    }
}
