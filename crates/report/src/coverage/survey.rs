//! Collector of the coverage of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use onnx_conformance_cases::case::{Case, CaseId, Evidence};
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::measure::digest_name;
use onnx_conformance_harness::run::{CaseResult, Outcome, Plan};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::coverage::exclusions::Exclusions;
use crate::coverage::group::{GroupCoverage, OwnEvidence};
use crate::coverage::item::{CoverageItem, CoverageKind};
use crate::coverage::reach::{Reached, reached};
use crate::coverage::record::CoverageRecord;
use crate::coverage::totals::{Coverage, CoverageTotals};
use crate::coverage::version_items::{items_of, newest};

/// Collects the coverage of a run's cases, from any thread.
#[derive(Debug)]
pub struct CoverageCollector<'a> {
    specs: &'a Specs,
    operators: &'a OperatorCatalog,
    exclusions: &'a Exclusions,
    items: BTreeMap<OperatorVersion, BTreeSet<CoverageItem>>,
    deprecated: BTreeSet<OperatorVersion>,
    runtimes: Option<&'a ConfirmingRuntimes<'a>>,
    /// By the name of the digest of their cases.
    groups: Mutex<BTreeMap<String, GroupCoverage>>,
}

impl<'a> CoverageCollector<'a> {
    /// Creates an empty collector of the versions that a filter selects by name, or of all if it selects none by name.
    pub fn new(
        specs: &'a Specs,
        operators: &'a OperatorCatalog,
        exclusions: &'a Exclusions,
        filter: &Filter,
    ) -> Result<CoverageCollector<'a>, GenerateError> {
        let all: Vec<OperatorVersion> = specs.all().collect();
        let mut chosen: Vec<OperatorVersion> =
            all.iter().filter(|version| filter.selects_group(&version.qualified())).cloned().collect();
        if chosen.is_empty() {
            chosen = all;
        }
        let (mut by_version, mut deprecated) = (BTreeMap::new(), BTreeSet::new());
        for version in chosen {
            if specs.get(&version)?.deprecated {
                deprecated.insert(version);
            } else {
                let items = items_of(specs, operators, &version)?;
                by_version.insert(version, items);
            }
        }
        let groups = Mutex::new(BTreeMap::new());
        Ok(CoverageCollector { specs, operators, exclusions, items: by_version, deprecated, runtimes: None, groups })
    }

    /// Returns the collector with the confirming runtimes.
    #[must_use]
    pub fn with_runtimes(mut self, runtimes: &'a ConfirmingRuntimes<'a>) -> CoverageCollector<'a> {
        self.runtimes = Some(runtimes);
        self
    }

    /// Records the coverage of a case. A case that does not pass reaches nothing.
    pub fn record(&self, case: &Case, result: &CaseResult) {
        let passes = result.outcome == Outcome::Pass;
        let mut items = Reached::new();
        if passes {
            items = reached(case, &result.executed_cells, self.specs);
            for (version, item) in self.constraint(case) {
                items.entry(version).or_default().insert(item);
            }
        }
        let is_positive = passes && case.refusal.is_none();
        let own = if is_positive { OwnEvidence::from_case(case) } else { None };
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let group = groups.entry(digest_name(&case.id)).or_default();
        for (version, items) in items {
            group.reached.entry(version).or_default().extend(items);
        }
        group.sizes.add(case);
        group.other += usize::from(!passes);
        group.unjudged += usize::from(is_positive && own.is_none());
        if passes && !is_positive {
            *group.refusals.entry(case.level).or_default() += 1;
        }
        group.cases.insert(case.id.clone(), own);
    }

    /// Takes the coverage of cases from a record that has them as they are now, and removes them from the plan of the run.
    pub fn take_recorded(&self, record: &CoverageRecord, plan: &mut Plan<'_>) {
        let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for id in plan.ids() {
            groups.entry(digest_name(id)).or_default().insert(id);
        }
        let taken = groups.iter().filter(|(name, ids)| self.add_recorded(record, name, ids));
        let taken: BTreeSet<String> = taken.map(|(name, _)| name.clone()).collect();
        plan.retain(|id| !taken.contains(&digest_name(id)));
    }

    /// Adds the coverage of the cases with these ids from a record, if it has exactly them.
    fn add_recorded(&self, record: &CoverageRecord, name: &str, ids: &BTreeSet<&str>) -> bool {
        let Some(group) = record.group(name, ids, self.specs, self.operators) else { return false };
        self.groups.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), group);
        true
    }

    /// Returns the names of collected groups that differ from a record. If the run was whole, the record must have every group.
    pub fn unlike(&self, record: &CoverageRecord, is_whole: bool) -> Vec<String> {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unlike = |(name, group): &(&String, &GroupCoverage)| {
            let ids = group.cases.keys().map(String::as_str).collect();
            match record.group(name, &ids, self.specs, self.operators) {
                Some(recorded) => {
                    let line = |group: &GroupCoverage| record.line(name, group, self.specs, self.operators);
                    line(&recorded) != line(group)
                }
                None => is_whole,
            }
        };
        groups.iter().filter(is_unlike).map(|(name, _)| name.clone()).collect()
    }

    /// Returns the collected groups as the text of a record, with the digests of today's cases in another.
    pub(super) fn to_record(&self, record: &CoverageRecord) -> String {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = groups.iter().filter_map(|(name, group)| record.line(name, group, self.specs, self.operators));
        CoverageRecord::text(lines)
    }

    /// Returns the collected coverage of a group.
    #[cfg(test)]
    pub(super) fn group(&self, name: &str) -> GroupCoverage {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.get(name).cloned().unwrap_or_default()
    }

    /// Returns the collected coverage.
    pub fn finish(self) -> Coverage<'a> {
        let mut totals = CoverageTotals::default();
        for group in self.groups.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
            totals.add(group, self.runtimes);
        }
        let version = |(evidence, version): (&Evidence, &str)| (evidence.clone(), version.to_owned());
        let versions = self.runtimes.map_or_else(Vec::new, |runtimes| runtimes.versions().map(version).collect());
        Coverage { exclusions: self.exclusions, items: self.items, deprecated: self.deprecated, versions, totals }
    }

    /// Returns the rule that a generated case keeps or violates, as items of the operator's newest version. The control of a
    /// refusal passes, and satisfies the rule that the refusal violates.
    fn constraint(&self, case: &Case) -> Vec<(OperatorVersion, CoverageItem)> {
        let (Some(version), Some(rule)) = (CaseId::parse(&case.id).version(), &case.rule) else { return Vec::new() };
        let version = newest(self.specs, &version);
        let kinds = [CoverageKind::ConstraintKept, CoverageKind::ConstraintBroken];
        let kinds = kinds.into_iter().take(if case.refusal.is_some() { 2 } else { 1 });
        kinds.map(|kind| (version.clone(), CoverageItem::named(kind, &rule.id))).collect()
    }
}
