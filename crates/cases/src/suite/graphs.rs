//! Cases of several nodes, one group per file under `specs/graphs`.

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

impl GraphCases {
    /// First part of the ids.
    pub const GROUP: &str = "graph";

    /// Reads every file, in order.
    pub fn files() -> Result<Vec<GraphFile>, SuiteError> {
        embedded_graphs().map(|(name, text)| Ok(read_graphs(&name, text)?)).collect()
    }

    /// Ids of all cases, made on first use.
    pub fn all_ids() -> &'static [String] {
        static IDS: OnceLock<Vec<String>> = OnceLock::new();
        // A test makes every case, so every embedded file can be read.
        let ids = || Some(GraphCases::files().ok()?.iter().filter_map(|file| graph_ids(file).ok()).flatten().collect());
        IDS.get_or_init(|| ids().unwrap_or_default())
    }

    fn file(group: &CaseGroup) -> Result<GraphFile, SuiteError> {
        let found = embedded_graphs().find(|(name, _)| *name == group.name);
        let missing =
            || SuiteError::File { path: (&group.name).into(), rule: "this file of graphs does not exist".into() };
        let (name, text) = found.ok_or_else(missing)?;
        Ok(read_graphs(&name, text)?)
    }
}

impl Source for GraphCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(embedded_graphs().map(|(name, _)| CaseGroup { name }).collect())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(embedded_graphs().find(|(other, _)| other == name).map(|(name, _)| CaseGroup { name }))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        let mut ids = graph_ids(&Self::file(group)?)?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        Ok(graph_cases(&Self::file(group)?, wanted)?)
    }

    fn common_prefix(&self) -> Option<&str> {
        Some(GraphCases::GROUP)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(digest_of_texts(embedded_graphs().map(|(_, text)| text)))
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
