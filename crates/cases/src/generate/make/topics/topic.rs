//! Topics: the files under `specs/graphs` and `specs/ir`, and the plan of their cases.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use onnx_conformance_reference::spec::embedded;
use onnx_conformance_reference::spec::yaml;

use crate::case::Level;
use crate::generate::file::yaml_text::YamlText;
use crate::generate::make::topics::context::Context;
use crate::generate::make::topics::draft::GraphDraft;
use crate::generate::make::topics::encoded::patterns_of_encodings;
use crate::generate::make::topics::file::{FormFile, PatternFile, RefusedFile, TopicFile};
use crate::generate::make::topics::form::{FormError, Row};
use crate::generate::make::topics::model::ir_of;
use crate::generate::plan::catalog::GenerateError;
use crate::generate::plan::graph_text::{GraphTextError, place_in_file};

/// Subject of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Graphs that optimizers rewrite: `specs/graphs`.
    Graphs,
    /// The format: `specs/ir`.
    Format,
}

impl Family {
    /// Returns the first part of the ids.
    pub const fn prefix(self) -> &'static str {
        match self {
            Family::Graphs => "graph",
            Family::Format => "ir",
        }
    }

    /// Returns the folder of the files, below `specs`.
    const fn folder(self) -> &'static str {
        match self {
            Family::Graphs => "graphs",
            Family::Format => "ir",
        }
    }

    /// Returns the name of the graphs in models.
    pub(crate) const fn graph_name(self) -> &'static str {
        match self {
            Family::Graphs => "graph",
            Family::Format => "g",
        }
    }
}

/// A file of graphs.
#[derive(Debug)]
pub struct Topic {
    pub(crate) family: Family,
    path: String,
    text: String,
    prefix: String,
    content: TopicFile,
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

/// A refusal before it is made.
pub(crate) struct PlannedRefusal<'a> {
    pub(crate) id: String,
    pub(crate) name: &'a str,
    pub(crate) file: &'a RefusedFile,
    /// The case of the good form.
    pub(crate) control: Planned<'a>,
}

/// A graph that is planned but not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedGraph {
    /// The id.
    pub id: String,
    /// Level of its expectation.
    pub level: Level,
    /// True if it is about special values.
    pub is_edge: bool,
    /// The condition that a near miss does not meet, or what a context changes.
    pub note: String,
    /// The opset of ONNX's own domain and the IR version of its model; `None` if only the model shows them.
    pub versions: Option<(u32, u32)>,
}

impl Planned<'_> {
    /// Returns the condition that a near miss does not meet, or what a context changes.
    pub(crate) fn note(&self) -> &str {
        self.context.map(Context::says).or(self.form.why.as_deref()).unwrap_or_default()
    }

    /// Returns true if the case is about special values.
    pub(crate) fn is_edge(&self) -> bool {
        self.form.edge.unwrap_or_default()
    }

    /// Returns the level of the case.
    pub(crate) fn level(&self) -> Level {
        self.form.level.unwrap_or(self.pattern.level)
    }

    fn graph(&self) -> PlannedGraph {
        let has_own = self.form.functions.as_ref().is_some_and(|functions| !functions.is_empty());
        let has_functions = has_own || self.context == Some(Context::InFunction);
        let opset = self.row.opset;
        PlannedGraph {
            id: self.id.clone(),
            level: self.level(),
            is_edge: self.is_edge(),
            note: self.note().to_owned(),
            versions: self.form.model.is_none().then(|| (opset, ir_of(opset, has_functions))),
        }
    }
}

/// Returns the cases of a topic in the order in which they are made, without making them.
pub fn planned_graphs(topic: &Topic) -> Result<Vec<PlannedGraph>, GenerateError> {
    let refused = |planned: PlannedRefusal<'_>| PlannedGraph {
        id: planned.id,
        level: planned.file.level,
        is_edge: false,
        note: String::new(),
        versions: None,
    };
    let graphs = topic.plan()?;
    Ok(graphs.iter().map(Planned::graph).chain(topic.refusals().map(refused)).collect())
}

/// Returns the embedded files of a family: the common prefix of their ids, and their text.
pub fn embedded_topics(family: Family) -> impl Iterator<Item = (String, &'static str)> {
    let name = move |path: &str| {
        let name = path.strip_prefix(family.folder())?.strip_prefix('/')?.strip_suffix(".yaml")?;
        Some(format!("{}/{name}", family.prefix()))
    };
    embedded::FILES.iter().filter_map(move |(path, text)| Some((name(path)?, *text)))
}

/// Reads a file of a family. `name` is that of the file.
pub fn read_topic(family: Family, name: &str, text: &str) -> Result<Topic, GenerateError> {
    let path = format!("specs/{}/{name}.yaml", family.folder());
    let mut content: TopicFile = yaml::read(&path, text)?;
    content.patterns.extend(patterns_of_encodings(&content.encodings));
    let prefix = format!("{}/{name}", family.prefix());
    let topic = Topic { family, path, text: text.to_owned(), prefix, content };
    topic.check()?;
    Ok(topic)
}

/// Returns the ids of a topic's cases, sorted.
pub fn topic_ids(topic: &Topic) -> Result<Vec<String>, GenerateError> {
    let cases = topic.plan()?.into_iter().map(|planned| planned.id);
    let mut ids: Vec<String> = cases.chain(topic.refusals().map(|planned| planned.id)).collect();
    ids.sort_unstable();
    Ok(ids)
}

impl Topic {
    /// Returns the name of the topic, the second part of its ids.
    pub fn name(&self) -> &str {
        self.prefix.strip_prefix(self.family.prefix()).unwrap_or(&self.prefix).trim_start_matches('/')
    }

    /// Returns the summary of the file.
    pub fn summary(&self) -> &str {
        &self.content.summary
    }

    /// Returns the patterns of the file.
    pub fn patterns(&self) -> &[PatternFile] {
        &self.content.patterns
    }

    fn check(&self) -> Result<(), GenerateError> {
        if self.content.summary.trim().is_empty() {
            return Err(self.error_at((1, 1), "the summary is empty; describe the topic in one sentence"));
        }
        let (mut names, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for pattern in &self.content.patterns {
            let error =
                |rule: String| Err(self.error_at(self.place(&pattern.name), format!("{}: {rule}", pattern.name)));
            if !names.insert(pattern.name.as_str()) {
                return error("another pattern of the file has this name".to_owned());
            }
            let is_context = |name: &&str| Context::ALL.iter().any(|context| context.name() == *name);
            if let Some(name) = pattern.without.keys().find(|name| !is_context(name)) {
                let known: Vec<&str> = Context::ALL.iter().map(|context| context.name()).collect();
                return error(format!("there is no context '{name}'; they are {}", known.join(", ")));
            }
            // The ids of refusals of the format do not name the pattern.
            let mut is_new = |name: &&str| self.family == Family::Graphs || refused.insert((*name).to_owned());
            if let Some(name) = pattern.refused.keys().find(|name| !is_new(name)) {
                return error(format!("another pattern of the file has the refusal '{name}'"));
            }
        }
        Ok(())
    }

    /// Plans the cases without running any: every row of the good form and of the near misses, and the first row of the good
    /// form in every context that changes the graph.
    pub(crate) fn plan(&self) -> Result<Vec<Planned<'_>>, GenerateError> {
        let mut all = Vec::new();
        for pattern in &self.content.patterns {
            for (near, form) in pattern.forms() {
                let form = Arc::new(form);
                for row in form.rows() {
                    let id = self.id(pattern, near, &row);
                    let (form, near) = (Arc::clone(&form), near.map(str::to_owned));
                    all.push(Planned { id, pattern, form, row, near, context: None });
                }
            }
            let Some(good) =
                self.good(pattern).filter(|good| self.family == Family::Graphs && good.form.model.is_none())
            else {
                continue;
            };
            let draft = self.draft(&good)?;
            for context in pattern.contexts().filter(|context| context.changes(&draft)) {
                let id = format!("{}/{}/in/{}", self.prefix, pattern.name, context.name());
                all.push(Planned { id, context: Some(context), ..good.clone() });
            }
        }
        Ok(all)
    }

    /// Plans the refusals.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = PlannedRefusal<'_>> {
        self.content.patterns.iter().flat_map(move |pattern| {
            let refused = pattern.refused.0.iter();
            refused.filter_map(move |(name, file)| {
                let id = match self.family {
                    Family::Graphs => format!("{}/{}/refused/{name}", self.prefix, pattern.name),
                    Family::Format => format!("{}/refuse/{name}", self.prefix),
                };
                Some(PlannedRefusal { id, name, file, control: self.good(pattern)? })
            })
        })
    }

    /// Plans the first row of the good form of a pattern.
    fn good<'a>(&self, pattern: &'a PatternFile) -> Option<Planned<'a>> {
        let row = pattern.good.rows().into_iter().next()?;
        let (id, form) = (self.id(pattern, None, &row), Arc::new(pattern.good.clone()));
        Some(Planned { id, pattern, form, row, near: None, context: None })
    }

    fn id(&self, pattern: &PatternFile, near: Option<&str>, row: &Row) -> String {
        let form = match (self.family, near) {
            (_, Some(near)) => format!("/near/{near}"),
            (Family::Graphs, None) => "/good".to_owned(),
            (Family::Format, None) => String::new(),
        };
        format!("{}/{}{form}{row}", self.prefix, pattern.name)
    }

    /// Returns the graph of a case.
    pub(crate) fn draft(&self, planned: &Planned<'_>) -> Result<GraphDraft, GenerateError> {
        let seed = format!("{}/{}", self.prefix, planned.pattern.name);
        let draft = planned.form.draft(&planned.row, &seed, planned.near.is_some());
        let draft = draft.map_err(|error| self.error(planned, &error))?;
        let Some(context) = planned.context else { return Ok(draft) };
        context.apply(&draft).map_err(|reason| {
            let name = context.name();
            let rule = format!("the context {name} does not apply: {reason}; list it under `without`, with the reason");
            self.error_of(planned, None, &rule)
        })
    }

    /// Creates an error about a form, which points at its place in a text or at the form.
    pub(crate) fn error(&self, planned: &Planned<'_>, error: &FormError) -> GenerateError {
        let FormError::Text(GraphTextError::Text { part, error: at }) = error else {
            return self.error_of(planned, None, error);
        };
        self.error_of(planned, Some((part, (at.line, at.column))), error)
    }

    /// Creates an error about a form, which points at a place in one of its texts, or at the form.
    pub(crate) fn error_of(
        &self,
        planned: &Planned<'_>,
        text: Option<(&str, (usize, usize))>,
        rule: &dyn fmt::Display,
    ) -> GenerateError {
        let pattern = &planned.pattern.name;
        let (form, place) = match planned.near.as_deref() {
            Some(near) => (format!("near miss '{near}': "), self.place_below(pattern, near)),
            None => (String::new(), self.place(pattern)),
        };
        let in_text = text.and_then(|(part, at)| {
            let own = self.line_after(place.0);
            place_in_file(self.yaml(), place.0..own, part, at)
                .or_else(|| place_in_file(self.yaml(), self.place(pattern).0..usize::MAX, part, at))
        });
        self.error_at(in_text.unwrap_or(place), format!("{pattern}: {form}{rule}"))
    }

    /// Creates an error about a refusal.
    pub(crate) fn error_of_refusal(&self, planned: &PlannedRefusal<'_>, rule: &dyn fmt::Display) -> GenerateError {
        let pattern = &planned.control.pattern.name;
        let name = planned.name;
        self.error_at(self.place_below(pattern, name), format!("{pattern}: refused '{name}': {rule}"))
    }

    fn error_at(&self, place: (usize, usize), rule: impl fmt::Display) -> GenerateError {
        GenerateError::File(self.yaml().error(place, rule.to_string(), None))
    }

    fn yaml(&self) -> YamlText<'_> {
        YamlText::whole(&self.path, &self.text)
    }

    /// Returns the path of the file and the line of a pattern: `specs/graphs/transposes.yaml:3`.
    pub(crate) fn location(&self, pattern: &str) -> String {
        format!("{}:{}", self.path, self.place(pattern).0)
    }

    /// Returns the line and column of the name of a pattern.
    fn place(&self, pattern: &str) -> (usize, usize) {
        self.yaml().places(pattern).next().unwrap_or((1, 1))
    }

    /// Returns the line and column of a near miss or a refusal of a pattern.
    fn place_below(&self, pattern: &str, name: &str) -> (usize, usize) {
        let place = self.place(pattern);
        let key = format!("{name}:");
        let mut lines = self.text.lines().enumerate().skip(place.0);
        let found = lines.find_map(|(at, line)| {
            Some((at + 1, line.find(&key).filter(|_| line.trim_start().starts_with(&key))? + 1))
        });
        found.unwrap_or(place)
    }

    /// Returns the first line after the part that begins in a line, by the indentation.
    fn line_after(&self, line: usize) -> usize {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let mut lines = self.text.lines().enumerate().skip(line.saturating_sub(1));
        let own = lines.next().map_or(0, |(_, line)| indent(line));
        lines.find(|(_, line)| !line.trim().is_empty() && indent(line) <= own).map_or(usize::MAX, |(at, _)| at + 1)
    }
}
