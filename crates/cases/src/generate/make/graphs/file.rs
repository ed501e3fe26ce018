//! Contents of a file under `specs/graphs`.

use serde::Deserialize;

use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::file::ordered::Ordered;
use crate::generate::file::value_file::ValueFile;
use crate::generate::make::graphs::context::Context;

/// A file: patterns about one topic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TopicFile {
    /// The topic in one sentence.
    pub summary: String,
    /// The patterns.
    pub patterns: Vec<PatternFile>,
}

/// A graph that optimizers rewrite, with graphs that differ from it in one condition of the rewrite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternFile {
    /// The name; unique in the file.
    pub name: String,
    /// The rewrite in one sentence.
    pub says: String,
    /// Reports of wrong rewrites of this pattern: `microsoft/onnxruntime#32228`.
    #[serde(default)]
    pub threads: Vec<String>,
    /// The graph that optimizers rewrite.
    pub good: FormFile,
    /// Graphs that differ in one condition, by name. Each has all that it does not give from the good form.
    #[serde(default)]
    pub near: Ordered<FormFile>,
    /// Contexts in which the good form is not tried, each with the reason.
    #[serde(default)]
    pub without: Ordered<String>,
}

/// A graph with its values.
#[derive(Clone, Debug, Default, Deserialize)]
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
    /// Texts that replace `$NAME` in nodes and functions.
    #[serde(default)]
    pub set: Ordered<serde_yaml::Value>,
    /// The nodes in ONNX's text syntax.
    pub nodes: Option<String>,
    /// Functions of the domain `local` in ONNX's text syntax, each from `<` on.
    pub functions: Option<Vec<String>>,
    /// The outputs of the graph; by default those outputs of nodes that no node reads.
    pub outputs: Option<Vec<String>>,
    /// The nodes after the rewrite. For the good form they compute the same, for a near miss something else.
    pub rewritten: Option<String>,
    /// The accuracy of all outputs; exact by default.
    pub accuracy: Option<AccuracyFile>,
    /// Outputs derived by hand.
    #[serde(default)]
    pub expected: Ordered<ValueFile>,
    /// True if zeros must have the expected sign.
    pub zero_sign: Option<bool>,
    /// True if the case is about special values.
    pub edge: Option<bool>,
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
    /// Completes a near miss with what it has in common with the good form.
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
        // What the nodes of the near miss do not read is not part of it.
        FormFile {
            inputs: merged(&self.inputs, &good.inputs),
            weights: merged(&self.weights, &good.weights),
            set,
            types,
            opsets: self.opsets.or_else(|| good.opsets.clone()),
            nodes: self.nodes.or_else(|| good.nodes.clone()),
            functions: self.functions.or_else(|| good.functions.clone()),
            outputs: self.outputs,
            rewritten: self.rewritten.or_else(|| good.rewritten.clone()),
            accuracy: self.accuracy.or_else(|| good.accuracy.clone()),
            zero_sign: self.zero_sign.or(good.zero_sign),
            edge: self.edge.or(good.edge),
            why: self.why,
            expected: self.expected,
        }
    }
}
