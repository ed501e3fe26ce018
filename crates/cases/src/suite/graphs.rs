//! Cases of several nodes, one group per file under `specs/graphs`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::case::{Case, digest_of_texts};
use crate::generate::{GraphFile, embedded_graphs, graph_cases, graph_ids, read_graphs};
use crate::suite::{CaseGroup, Source, SuiteError};

/// Graphs that optimizers rewrite, and their near misses.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphCases;

/// The parts of a graph's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphId<'a> {
    /// The file under `specs/graphs`.
    pub topic: &'a str,
    /// The pattern in it.
    pub pattern: &'a str,
    /// The role of the graph.
    pub role: GraphRole,
    /// The name of the near miss or of the context; empty for a good form.
    pub name: &'a str,
}

/// Role of a graph in its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GraphRole {
    /// The graph that optimizers rewrite.
    Good,
    /// A graph that does not meet one condition of the rewrite.
    Near,
    /// The good form in a context.
    Context,
}

impl<'a> GraphId<'a> {
    /// Parses an id: `graph/transposes/pair_that_cancels/good/T=float`. Returns `None` for the id of another case.
    pub fn parse(id: &'a str) -> Option<GraphId<'a>> {
        let mut parts = id.strip_prefix(GraphCases::GROUP)?.strip_prefix('/')?.split('/');
        let (topic, pattern) = (parts.next()?, parts.next()?);
        let (role, name) = match parts.next()?.split('@').next()? {
            "good" => (GraphRole::Good, ""),
            "near" => (GraphRole::Near, parts.next()?),
            "in" => (GraphRole::Context, parts.next()?),
            _ => return None,
        };
        Some(GraphId { topic, pattern, role, name: name.split('@').next()? })
    }
}

/// An embedded file, parsed on first use.
struct Topic {
    name: String,
    text: &'static str,
    file: OnceLock<GraphFile>,
    ids: OnceLock<Vec<String>>,
}

impl GraphCases {
    /// First part of the ids.
    pub const GROUP: &str = "graph";

    /// Returns every file, in order.
    pub fn files() -> Result<Vec<&'static GraphFile>, SuiteError> {
        topics().iter().map(Topic::file).collect()
    }

    /// Ids of all cases, planned on first use.
    pub fn all_ids() -> impl Iterator<Item = &'static str> {
        // A test makes every case, so every embedded file can be read.
        topics().iter().flat_map(|topic| topic.ids().unwrap_or_default()).map(String::as_str)
    }

    fn topic(name: &str) -> Option<&'static Topic> {
        topics().iter().find(|topic| topic.name == name)
    }

    fn topic_of(group: &CaseGroup) -> Result<&'static Topic, SuiteError> {
        Self::topic(&group.name).ok_or_else(|| SuiteError::File {
            path: (&group.name).into(),
            rule: "this file of graphs does not exist".into(),
        })
    }
}

fn topics() -> &'static [Topic] {
    static ALL: OnceLock<Vec<Topic>> = OnceLock::new();
    ALL.get_or_init(|| {
        let topic = |(name, text)| Topic { name, text, file: OnceLock::new(), ids: OnceLock::new() };
        embedded_graphs().map(topic).collect()
    })
}

impl Topic {
    fn file(&self) -> Result<&GraphFile, SuiteError> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = read_graphs(&self.name, self.text)?;
        Ok(self.file.get_or_init(|| file))
    }

    /// Returns the ids of its cases, sorted.
    fn ids(&self) -> Result<&[String], SuiteError> {
        if let Some(ids) = self.ids.get() {
            return Ok(ids);
        }
        let mut ids = graph_ids(self.file()?)?;
        ids.sort_unstable();
        Ok(self.ids.get_or_init(|| ids))
    }
}

impl Source for GraphCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(topics().iter().map(|topic| CaseGroup { name: topic.name.clone() }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(Self::topic(name).map(|topic| CaseGroup { name: topic.name.clone() }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        Ok(Self::topic_of(group)?.ids()?.to_vec())
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        Ok(graph_cases(Self::topic_of(group)?.file()?, wanted)?)
    }

    fn common_prefix(&self) -> Option<&str> {
        Some(GraphCases::GROUP)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(digest_of_texts(topics().iter().map(|topic| topic.text)))
    }

    /// Returns a text for each topic, so that a new case in one leaves the measurements of the others valid.
    fn fingerprints(&self) -> Result<BTreeMap<String, String>, SuiteError> {
        Ok(topics().iter().map(|topic| (topic.name.clone(), digest_of_texts([topic.text]))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_graph_has_a_role() {
        let parsed: Vec<_> = GraphCases::all_ids().iter().map(|id| GraphId::parse(id)).collect();
        assert!(parsed.len() > 1_000 && parsed.iter().all(Option::is_some));
        let role = |role| parsed.iter().flatten().filter(|graph| graph.role == role).count();
        assert!([GraphRole::Good, GraphRole::Near, GraphRole::Context].map(role).iter().all(|count| *count > 100));
        let graph = GraphId::parse("graph/casts/pair/near/other/T=float@wrapped").unwrap();
        assert_eq!((graph.topic, graph.pattern, graph.name), ("casts", "pair", "other"));
        assert_eq!(GraphId::parse("ir/graph/refuse/no-graph"), None);
        assert_eq!(GraphId::parse("graph/casts/pair"), None);
    }
}
