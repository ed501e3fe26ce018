//! Cases of several nodes, one group per file under `specs/graphs`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::case::Case;
use crate::generate::{Family, Topic};
use crate::suite::topics::Topics;
use crate::suite::{CaseGroup, Source, SuiteError};

static GRAPHS: Topics = Topics::new(Family::Graphs);

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
    pub const GROUP: &str = Family::Graphs.prefix();

    /// Returns every topic, in order.
    pub fn topics() -> Result<Vec<&'static Topic>, SuiteError> {
        GRAPHS.topics()
    }

    /// Ids of all cases, planned on first use.
    pub fn all_ids() -> impl Iterator<Item = &'static str> {
        GRAPHS.all_ids()
    }
}

impl Source for GraphCases {
    fn groups(&self) -> Result<Vec<CaseGroup>, SuiteError> {
        Ok(GRAPHS.groups())
    }

    fn find_group(&self, name: &str) -> Result<Option<CaseGroup>, SuiteError> {
        Ok(GRAPHS.find_group(name))
    }

    fn ids(&self, group: &CaseGroup) -> Result<Vec<String>, SuiteError> {
        GRAPHS.ids(group)
    }

    fn load(&self, group: &CaseGroup, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<Case>, SuiteError> {
        GRAPHS.load(group, Path::new(""), wanted)
    }

    fn common_prefix(&self) -> Option<&str> {
        Some(GraphCases::GROUP)
    }

    fn fingerprint(&self) -> Result<String, SuiteError> {
        Ok(GRAPHS.fingerprint())
    }

    fn fingerprints(&self) -> Result<BTreeMap<String, String>, SuiteError> {
        Ok(GRAPHS.fingerprints())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_graph_has_a_role() {
        let parsed: Vec<_> = GraphCases::all_ids().map(GraphId::parse).collect();
        assert!(parsed.len() > 1_000 && parsed.iter().all(Option::is_some));
        let role = |role| parsed.iter().flatten().filter(|graph| graph.role == role).count();
        assert!([GraphRole::Good, GraphRole::Near, GraphRole::Context].map(role).iter().all(|count| *count > 100));
        let graph = GraphId::parse("graph/casts/pair/near/other/T=float@wrapped").unwrap();
        assert_eq!((graph.topic, graph.pattern, graph.name), ("casts", "pair", "other"));
        assert_eq!(GraphId::parse("ir/graph/refuse/no-graph"), None);
        assert_eq!(GraphId::parse("graph/casts/pair"), None);
    }
}
