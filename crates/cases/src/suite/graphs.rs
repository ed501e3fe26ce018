//! Cases of several nodes, one group per file under `specs/graphs`.

use std::sync::OnceLock;

use crate::case::{Case, digest_of_texts};
use crate::generate::{GraphFile, embedded_graphs, graph_cases, graph_ids, read_graphs};
use crate::suite::{CaseGroup, Source, SuiteError};

/// Graphs that optimizers rewrite, and their near misses.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphCases;

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
