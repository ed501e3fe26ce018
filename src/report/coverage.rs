//! Which operator versions and type cells a run went through.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_reference::spec::{LookupError, OperatorVersion, Specs};

use crate::run::{CaseResult, Outcome};
use crate::suite::Filter;

/// The operator versions and type cells that passing cases went through.
#[derive(Debug)]
pub struct Coverage {
    versions: BTreeMap<OperatorVersion, Live>,
    touched: BTreeSet<String>,
}

/// A version's type cells as results name them, and whether the version is in use.
#[derive(Debug)]
struct Live {
    deprecated: bool,
    cells: Vec<String>,
}

impl Coverage {
    /// Nothing yet, of everything that the specs name.
    pub fn new(specs: &Specs) -> Result<Coverage, LookupError> {
        let mut versions = BTreeMap::new();
        for version in specs.all() {
            let spec = specs.get(&version)?;
            let name = version.qualified();
            let cells = spec.types.iter().flat_map(|(parameter, types)| {
                types.iter().map(|value_type| format!("{name} {parameter}={value_type}")).collect::<Vec<_>>()
            });
            versions.insert(version, Live { deprecated: spec.deprecated, cells: cells.collect() });
        }
        Ok(Coverage { versions, touched: BTreeSet::new() })
    }

    /// Adds what a passing case went through.
    pub fn add(&mut self, result: &CaseResult) {
        if result.outcome == Outcome::Pass {
            self.touched.extend(result.cells.iter().cloned());
        }
    }

    /// What no case went through, a line a version, of the versions that a filter chooses by name.
    pub fn missing(&self, filter: &Filter) -> Vec<String> {
        let chosen = self.versions.iter().filter(|(version, _)| filter.touches(&version.qualified()));
        let line = |(version, live): (&OperatorVersion, &Live)| {
            let name = version.qualified();
            if !self.touched.contains(&name) {
                return Some(format!("{name}: no case runs it"));
            }
            let missing: Vec<&str> = live
                .cells
                .iter()
                .filter(|cell| !self.touched.contains(*cell))
                .filter_map(|cell| cell.split_once(' '))
                .map(|(_, cell)| cell)
                .collect();
            (!missing.is_empty()).then(|| format!("{name}: {}", missing.join(" ")))
        };
        chosen.filter_map(line).collect()
    }

    /// The totals: live versions and type cells, and the deprecated versions beside them.
    pub fn summary(&self) -> String {
        let count = |deprecated: bool| {
            let versions = self.versions.iter().filter(|(_, live)| live.deprecated == deprecated);
            let (mut all, mut ran, mut cells, mut touched) = (0, 0, 0, 0);
            for (version, live) in versions {
                all += 1;
                ran += usize::from(self.touched.contains(&version.qualified()));
                cells += live.cells.len();
                touched += live.cells.iter().filter(|cell| self.touched.contains(*cell)).count();
            }
            format!("{ran} of {all} operator versions, {touched} of {cells} type cells")
        };
        format!("live: {}\ndeprecated: {}", count(false), count(true))
    }
}
