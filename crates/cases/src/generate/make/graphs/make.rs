//! Cases from the files under `specs/graphs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use onnx_conformance_reference::spec::embedded;
use onnx_conformance_reference::spec::yaml;

use crate::case::{Case, DataSet, Evidence, Expected, ExpectedOutput, Named, RuleRef};
use crate::compare::Accuracy;
use crate::generate::file::accuracy::AccuracyFile;
use crate::generate::file::yaml_text::YamlText;
use crate::generate::make::graphs::context::Context;
use crate::generate::make::graphs::draft::GraphDraft;
use crate::generate::make::graphs::file::{FormFile, PatternFile, TopicFile};
use crate::generate::make::graphs::form::Row;
use crate::generate::make::graphs::model::{self, Declaration};
use crate::generate::plan::catalog::GenerateError;

/// Folder of the files, below `specs`.
const FOLDER: &str = "graphs/";

/// First part of the ids.
const PREFIX: &str = "graph";

/// A file of graphs.
#[derive(Debug)]
pub struct GraphFile {
    path: String,
    text: String,
    prefix: String,
    topic: TopicFile,
}

/// Returns the embedded files: the common prefix of their ids, and their text.
pub fn embedded_graphs() -> impl Iterator<Item = (String, &'static str)> {
    let name = |path: &str| path.strip_prefix(FOLDER)?.strip_suffix(".yaml").map(|name| format!("{PREFIX}/{name}"));
    embedded::FILES.iter().filter_map(move |(path, text)| Some((name(path)?, *text)))
}

/// Reads a file whose ids begin with `prefix`.
pub fn read_graphs(prefix: &str, text: &str) -> Result<GraphFile, GenerateError> {
    let name = prefix.strip_prefix(PREFIX).unwrap_or(prefix).trim_start_matches('/');
    let path = format!("specs/{FOLDER}{name}.yaml");
    let topic: TopicFile = yaml::read(&path, text)?;
    let file = GraphFile { path, text: text.to_owned(), prefix: prefix.to_owned(), topic };
    if file.topic.summary.trim().is_empty() {
        return Err(file.error_at("", "the summary is empty; describe the topic in one sentence"));
    }
    let mut names = BTreeSet::new();
    for pattern in &file.topic.patterns {
        if !names.insert(pattern.name.as_str()) {
            return Err(file.error_at(&pattern.name, "another pattern of the file has this name"));
        }
        let is_context = |name: &&str| Context::ALL.iter().any(|context| context.name() == *name);
        if let Some(name) = pattern.without.keys().find(|name| !is_context(name)) {
            let known: Vec<&str> = Context::ALL.iter().map(|context| context.name()).collect();
            let message = format!("there is no context '{name}'; they are {}", known.join(", "));
            return Err(file.error_at(&pattern.name, message));
        }
    }
    Ok(file)
}

/// A case before it is made.
#[derive(Clone)]
pub(crate) struct Planned<'a> {
    pub(crate) id: String,
    pub(crate) pattern: &'a PatternFile,
    pub(crate) form: Arc<FormFile>,
    pub(crate) row: Row,
    /// The name of the near miss.
    pub(crate) near: Option<String>,
    pub(crate) context: Option<Context>,
}

/// Returns the ids of a file's cases.
pub fn graph_ids(file: &GraphFile) -> Result<Vec<String>, GenerateError> {
    Ok(file.plan()?.into_iter().map(|planned| planned.id).collect())
}

/// Makes the selected cases of a file.
pub fn graph_cases(file: &GraphFile, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, GenerateError> {
    let planned = file.plan()?.into_iter().filter(|planned| wanted(&planned.id));
    planned.map(|planned| file.case(&planned, &file.draft(&planned)?)).collect()
}

impl GraphFile {
    /// Returns the name of the topic, with which ids continue after the first part.
    pub fn name(&self) -> &str {
        self.prefix.strip_prefix(PREFIX).unwrap_or(&self.prefix).trim_start_matches('/')
    }

    /// Returns the summary of the file.
    pub fn summary(&self) -> &str {
        &self.topic.summary
    }

    /// Returns the patterns of the file.
    pub fn patterns(&self) -> &[PatternFile] {
        &self.topic.patterns
    }

    /// Plans the cases without running any: every row of the good form and of the near misses, and the first row of the good
    /// form in every context that changes the graph.
    pub(crate) fn plan(&self) -> Result<Vec<Planned<'_>>, GenerateError> {
        let mut all = Vec::new();
        for pattern in &self.topic.patterns {
            let start = format!("{}/{}", self.prefix, pattern.name);
            for (near, form) in pattern.forms() {
                let name = near.map_or_else(|| "good".to_owned(), |near| format!("near/{near}"));
                let form = Arc::new(form);
                for row in form.rows() {
                    let (id, near) = (format!("{start}/{name}{row}"), near.map(str::to_owned));
                    all.push(Planned { id, pattern, form: Arc::clone(&form), row, near, context: None });
                }
            }
            let Some(good) = all.iter().find(|planned| std::ptr::eq(planned.pattern, pattern)).cloned() else {
                continue;
            };
            let draft = self.draft(&good)?;
            for context in pattern.contexts().filter(|context| context.changes(&draft)) {
                let id = format!("{start}/in/{}", context.name());
                all.push(Planned { id, context: Some(context), ..good.clone() });
            }
        }
        Ok(all)
    }

    /// Returns the graph of a case.
    pub(crate) fn draft(&self, planned: &Planned<'_>) -> Result<GraphDraft, GenerateError> {
        let seed = format!("{}/{}", self.prefix, planned.pattern.name);
        let draft = planned.form.draft(&planned.row, &seed, planned.near.is_some());
        let draft = draft.map_err(|error| self.error(planned, error))?;
        let Some(context) = planned.context else { return Ok(draft) };
        context.apply(&draft).map_err(|reason| {
            let name = context.name();
            let rule = format!("the context {name} does not apply: {reason}; list it under `without`, with the reason");
            self.error(planned, rule)
        })
    }

    pub(crate) fn case(&self, planned: &Planned<'_>, draft: &GraphDraft) -> Result<Case, GenerateError> {
        let refused = |reason: String| GenerateError::Refused { id: planned.id.clone(), reason };
        let values = draft.run().map_err(refused)?;
        let declared: Vec<Declaration> = values.iter().map(Declaration::of_value).collect();
        let outputs = values.iter().map(|value| self.expected(planned, value));
        let outputs = outputs.collect::<Result<Vec<_>, GenerateError>>()?;
        let pattern = planned.pattern;
        let note = planned.context.map(Context::says).or(planned.form.why.as_deref()).unwrap_or_default();
        let (_, line) = self.place(&pattern.name);
        let mut case = Case {
            rule: Some(RuleRef {
                id: pattern.name.clone(),
                says: pattern.says.clone(),
                place: format!("{}:{line}", self.path),
            }),
            note: note.to_owned(),
            is_edge: planned.form.edge.unwrap_or_default(),
            ..Case::new(
                planned.id.clone(),
                model::encode(draft, &declared),
                vec![DataSet { inputs: draft.supplied(), outputs }],
            )
        };
        for name in planned.form.expected.keys().filter(|_| planned.context.is_none()) {
            case.confirm_output(name, Evidence::Literal);
        }
        Ok(case)
    }

    /// Returns the expectation for an output: the value in the file, or else the computed one.
    fn expected(&self, planned: &Planned<'_>, computed: &Named) -> Result<ExpectedOutput, GenerateError> {
        let error = |message: &dyn fmt::Display| self.error(planned, message);
        let form = &planned.form;
        let written = form.expected_value(&computed.name, &planned.row).map_err(|reason| error(&reason))?;
        let value = written.filter(|_| planned.context.is_none()).unwrap_or_else(|| computed.clone()).value;
        let element = value.value_type().element_type();
        let rule = form.accuracy.as_ref().unwrap_or(&AccuracyFile::Default);
        let resolved = rule.resolve(element, &BTreeMap::default()).map_err(|reason| error(&reason))?;
        let accuracy = resolved.try_map_bound(|_| Err(())).map_err(|()| {
            error(&"the accuracy of a graph is exact, `ulp`, `abs` or `roundoffs`, without `through`: terms are only known for a single node")
        })?;
        let has_zero_sign = form.zero_sign.unwrap_or_default();
        let accuracy = match accuracy {
            Accuracy::Exact if has_zero_sign => Accuracy::ExactZeroSign,
            accuracy if !element.is_float() && has_zero_sign => accuracy,
            _ if has_zero_sign => return Err(error(&"zero_sign requires an exact accuracy")),
            _ if !element.is_float() => Accuracy::Exact,
            accuracy => accuracy,
        };
        Ok(ExpectedOutput { name: computed.name.clone(), expected: Expected::Value(value, accuracy) })
    }

    /// Creates an error that points at the pattern of a case.
    pub(crate) fn error(&self, planned: &Planned<'_>, rule: impl fmt::Display) -> GenerateError {
        let form = planned.near.as_deref().map(|near| format!("near miss '{near}': ")).unwrap_or_default();
        self.error_at(&planned.pattern.name, format_args!("{form}{rule}"))
    }

    fn error_at(&self, name: &str, rule: impl fmt::Display) -> GenerateError {
        GenerateError::File(YamlText::whole(&self.path, &self.text).error_at_case(name, rule.to_string(), None))
    }

    /// Returns the path of the file and the line of a pattern.
    fn place(&self, name: &str) -> (&str, usize) {
        let line = YamlText::whole(&self.path, &self.text).places(name).next().map_or(1, |(line, _)| line);
        (&self.path, line)
    }
}
