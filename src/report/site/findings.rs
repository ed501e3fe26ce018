//! `findings/*.yaml`: argued differences between a runtime and the standard, beside the cases that show them.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::spec::yaml::{self, YamlError};
use serde::{Deserialize, Serialize};

use crate::report::site::table::{CaseRow, VersionTable};
use crate::suite::{Filter, FilterError};

/// Every file of findings as it was when the program was built, by name, sorted.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/findings.rs"));

/// A file of findings that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FindingsError {
    /// It is not such a file.
    #[error(transparent)]
    Yaml(#[from] Box<YamlError>),
    /// A pattern is wrong.
    #[error("{path}: {error}")]
    Pattern {
        /// The file.
        path: String,
        /// What is wrong.
        error: FilterError,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingsFile {
    runtime: String,
    version: String,
    findings: Vec<FindingFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingFile {
    /// Patterns over ids.
    cases: Vec<String>,
    /// What the standard's text says.
    text: String,
    /// What the runtime does.
    runtime: String,
    /// Where it is discussed.
    #[serde(default)]
    url: Option<String>,
}

/// The findings.
#[derive(Debug)]
pub(crate) struct Findings(Vec<Finding>);

#[derive(Debug)]
struct Finding {
    runtime: String,
    version: String,
    file: FindingFile,
    filter: Filter,
}

/// A finding as pages have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FindingData {
    pub(crate) runtime: String,
    pub(crate) version: String,
    /// What the standard's text says.
    pub(crate) text: String,
    /// What the runtime does.
    pub(crate) does: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The behaviours that show it, by version.
    pub(crate) behaviours: BTreeMap<u32, BTreeSet<String>>,
}

impl Findings {
    /// The committed findings.
    pub(crate) fn embedded() -> Result<Findings, FindingsError> {
        let mut all = Vec::new();
        for (name, text) in FILES {
            let path = format!("findings/{name}");
            let file: FindingsFile = yaml::read(&path, text)?;
            for finding in file.findings {
                let filter = Filter::new(&finding.cases)
                    .map_err(|error| FindingsError::Pattern { path: path.clone(), error })?;
                let (runtime, version) = (file.runtime.clone(), file.version.clone());
                all.push(Finding { runtime, version, file: finding, filter });
            }
        }
        Ok(Findings(all))
    }

    /// The findings that cases of these versions show.
    pub(crate) fn about(&self, tables: &[VersionTable]) -> Vec<FindingData> {
        let mut found = Vec::new();
        for finding in &self.0 {
            let mut behaviours: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
            for table in tables {
                let shows = |case: &&CaseRow| {
                    finding.filter.matches(&format!("{}/{}", table.version.qualified(), case.name))
                };
                let shown = table.cases.iter().filter(shows).filter_map(|case| table.behaviours.get(case.behaviour));
                let shown: BTreeSet<String> = shown.map(|behaviour| behaviour.name.clone()).collect();
                if !shown.is_empty() {
                    behaviours.insert(table.version.since, shown);
                }
            }
            if !behaviours.is_empty() {
                found.push(FindingData {
                    runtime: finding.runtime.clone(),
                    version: finding.version.clone(),
                    text: finding.file.text.clone(),
                    does: finding.file.runtime.clone(),
                    url: finding.file.url.clone(),
                    behaviours,
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_behaviours_that_show_it() {
        let table = VersionTable::new(&"ai.onnx/NonZero-13".parse().unwrap(), &[]).unwrap();
        let findings = Findings::embedded().unwrap().about(&[table]);
        let scalar = findings.iter().find(|finding| finding.does.starts_with("Gives the shape")).unwrap();
        assert_eq!(scalar.runtime, "onnxruntime");
        assert_eq!(scalar.behaviours, BTreeMap::from([(13, BTreeSet::from(["scalar".to_owned()]))]));
    }
}
