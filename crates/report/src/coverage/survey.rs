//! Collector of the coverage of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use onnx_conformance_cases::case::{Case, CaseId, Evidence};
use onnx_conformance_cases::generate::{GenerateError, OperatorCatalog, OperatorFile};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_harness::run::{CaseResult, Outcome};
use onnx_conformance_reference::spec::{OperatorVersion, Specs};

use crate::coverage::exclusions::Exclusions;
use crate::coverage::item::{CoverageItem, CoverageKind, items};
use crate::coverage::reach::{Reached, reached};
use crate::coverage::totals::{Coverage, CoverageTotals};

/// Collects the coverage of a run's cases, from any thread.
#[derive(Debug)]
pub struct CoverageCollector<'a> {
    specs: &'a Specs,
    exclusions: &'a Exclusions,
    items: BTreeMap<OperatorVersion, BTreeSet<CoverageItem>>,
    deprecated: BTreeSet<OperatorVersion>,
    versions: Vec<(Evidence, String)>,
    totals: Mutex<CoverageTotals>,
}

impl<'a> CoverageCollector<'a> {
    /// Creates an empty collector of the versions that a filter selects by name, or of all if it selects none by name.
    pub fn new(
        specs: &'a Specs,
        operators: &OperatorCatalog,
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
            let spec = specs.get(&version)?;
            if spec.deprecated {
                deprecated.insert(version);
                continue;
            }
            let mut items = items(spec, *specs.released_opsets(&version)?.end());
            if operators.has(&version) && newest(specs, &version) == version {
                items.extend(constraints(operators.get(&version)?));
            }
            by_version.insert(version, items);
        }
        let totals = Mutex::new(CoverageTotals::default());
        Ok(CoverageCollector { specs, exclusions, items: by_version, deprecated, versions: Vec::new(), totals })
    }

    /// Returns the collector with the versions of the confirming runtimes.
    #[must_use]
    pub fn with_runtimes(mut self, runtimes: &ConfirmingRuntimes<'_>) -> CoverageCollector<'a> {
        self.versions = runtimes.versions().map(|(evidence, version)| (evidence.clone(), version.to_owned())).collect();
        self
    }

    /// Records the coverage of a case. A case that does not pass reaches nothing.
    pub fn record(&self, case: &Case, result: &CaseResult) {
        let mut items = Reached::new();
        if result.outcome == Outcome::Pass {
            items = reached(case, &result.executed_cells, self.specs);
            for (version, item) in self.constraint(case) {
                items.entry(version).or_default().insert(item);
            }
        }
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        for (version, items) in items {
            totals.reached.entry(version).or_default().extend(items);
        }
        totals.sizes.add(case);
        let cases = &mut totals.cases;
        if result.outcome != Outcome::Pass {
            cases.other += 1;
            return;
        }
        cases.passed += 1;
        if case.refusal.is_some() {
            *cases.refusals.entry(case.level).or_default() += 1;
            return;
        }
        case.confirmed_by().into_iter().for_each(|evidence| *cases.by_evidence.entry(evidence).or_default() += 1);
        let unconfirmed = case.unconfirmed_outputs();
        if case.judged_outputs().is_empty() {
            cases.unjudged += 1;
        } else if !unconfirmed.is_empty() {
            let id = CaseId::parse(&case.id);
            // If the other outputs are confirmed, those without evidence are named.
            let is_partial = unconfirmed.len() < case.judged_outputs().len();
            let outputs = if is_partial { format!(" ({})", unconfirmed.join(", ")) } else { String::new() };
            cases.unconfirmed.entry(id.group().to_owned()).or_default().insert(format!("{}{outputs}", id.name()));
        }
    }

    /// Returns the collected coverage.
    pub fn finish(self) -> Coverage<'a> {
        let totals = self.totals.into_inner().unwrap_or_else(PoisonError::into_inner);
        Coverage {
            exclusions: self.exclusions,
            items: self.items,
            deprecated: self.deprecated,
            versions: self.versions,
            totals,
        }
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

/// Returns the constraint items: a case keeps each rule, and another violates it if the file has refusals for it. Other rules are
/// only promises.
fn constraints(file: &OperatorFile) -> impl Iterator<Item = CoverageItem> {
    let refused: BTreeSet<&str> = file.refuse.iter().filter_map(|refusal| refusal.constraint.as_deref()).collect();
    file.constraints.keys().flat_map(move |id| {
        let broken = refused.contains(id).then(|| CoverageItem::named(CoverageKind::ConstraintBroken, id));
        std::iter::once(CoverageItem::named(CoverageKind::ConstraintKept, id)).chain(broken)
    })
}

fn newest(specs: &Specs, version: &OperatorVersion) -> OperatorVersion {
    let since = specs.versions(&version.domain, &version.name).last().unwrap_or(version.since);
    OperatorVersion { since, ..version.clone() }
}
