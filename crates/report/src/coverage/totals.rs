//! Total coverage of a run, counted and listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use onnx_conformance_cases::case::{CaseId, Evidence, Level};
use onnx_conformance_harness::evidence::ConfirmingRuntimes;
use onnx_conformance_reference::spec::OperatorVersion;

use crate::coverage::exclusions::Exclusions;
use crate::coverage::group::{Confirmable, GroupCoverage, OwnEvidence};
use crate::coverage::item::{CoverageItem, CoverageKind};
use crate::coverage::reach::Reached;
use crate::coverage::sizes::Sizes;

/// Maximum number of type cells that may be excluded.
const MAX_EXCUSED_CELLS: usize = 60;

/// Total coverage of a run.
#[derive(Debug)]
pub struct Coverage<'a> {
    pub(super) exclusions: &'a Exclusions,
    pub(super) items: BTreeMap<OperatorVersion, BTreeSet<CoverageItem>>,
    pub(super) deprecated: BTreeSet<OperatorVersion>,
    pub(super) versions: Vec<(Evidence, String)>,
    pub(super) totals: CoverageTotals,
}

/// Items reached so far, and case counts by kind.
#[derive(Debug, Default)]
pub(super) struct CoverageTotals {
    pub(super) reached: Reached,
    pub(super) cases: Cases,
    pub(super) sizes: Sizes,
}

/// Case counts by kind.
#[derive(Debug, Default)]
pub(super) struct Cases {
    pub(super) passed: usize,
    pub(super) other: usize,
    pub(super) by_evidence: BTreeMap<Evidence, usize>,
    /// Cases with judged outputs that nothing confirms, by operator version as in ids.
    pub(super) unconfirmed: BTreeMap<String, BTreeSet<String>>,
    /// Number of cases whose outputs are judged only by type and shape, or not at all.
    pub(super) unjudged: usize,
    pub(super) refusals: BTreeMap<Level, usize>,
}

/// Coverage of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of items that some case reaches.
    pub reached: usize,
    /// Number of further items that are excluded.
    pub excused: usize,
    /// Number of all items.
    pub all: usize,
}

impl CoverageTotals {
    /// Adds the cases of a group, with the evidence of these runtimes.
    pub(super) fn add(&mut self, group: GroupCoverage, runtimes: Option<&ConfirmingRuntimes<'_>>) {
        for (version, items) in group.reached {
            self.reached.entry(version).or_default().extend(items);
        }
        self.sizes.merge(&group.sizes);
        let cases = &mut self.cases;
        cases.passed += group.cases.len() - group.other;
        cases.other += group.other;
        cases.unjudged += group.unjudged;
        for (level, count) in group.refusals {
            *cases.refusals.entry(level).or_default() += count;
        }
        for (id, own) in group.cases {
            if let Some(own) = own {
                cases.add_evidence(&id, own, runtimes);
            }
        }
    }
}

impl Cases {
    fn add_evidence(&mut self, id: &str, own: OwnEvidence, runtimes: Option<&ConfirmingRuntimes<'_>>) {
        let Confirmable { level, ir, opsets } = own.confirmable(id);
        let passing = runtimes.into_iter().flat_map(|runtimes| runtimes.passing(id, level, ir, &opsets));
        let passing: Vec<Evidence> = passing.cloned().collect();
        if passing.is_empty() && !own.unconfirmed.is_empty() {
            let parsed = CaseId::parse(id);
            // If the other outputs are confirmed, those without evidence are named.
            let outputs = if own.is_partial() { format!(" ({})", own.unconfirmed.join(", ")) } else { String::new() };
            let names = self.unconfirmed.entry(parsed.group().to_owned()).or_default();
            names.insert(format!("{}{outputs}", parsed.name()));
        }
        for evidence in own.sources.into_iter().chain(passing) {
            *self.by_evidence.entry(evidence).or_default() += 1;
        }
    }
}

impl Coverage<'_> {
    /// Returns the items that are neither reached nor excluded, a line per version and group.
    pub fn missing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (version, items) in &self.items {
            let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
            for item in items.iter().filter(|item| self.state(version, item) == State::Missing) {
                let group = item.kind.group();
                match groups.last_mut().filter(|(last, _)| *last == group) {
                    Some((_, names)) => names.push(item.to_string()),
                    None => groups.push((group, vec![item.to_string()])),
                }
            }
            let version = version.qualified();
            lines.extend(groups.iter().map(|(group, names)| format!("{version} {group}: {}", names.join(", "))));
        }
        lines
    }

    /// Returns the cases whose outputs only the built-in executor confirms, a line per operator version.
    pub fn unconfirmed(&self) -> Vec<String> {
        let line = |(version, names): (&String, &BTreeSet<String>)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{version} confirmed by nothing, {}: {}", names.len(), names.join(" "))
        };
        self.totals.cases.unconfirmed.iter().map(line).collect()
    }

    /// Returns the histogram of element counts per operator.
    pub fn sizes(&self) -> Vec<String> {
        self.totals.sizes.lines()
    }

    /// Returns the number of cases that each source confirms, and that nothing confirms. A case may count for several sources.
    pub fn evidence(&self) -> Vec<(String, usize)> {
        let cases = &self.totals.cases;
        let version =
            |evidence: &Evidence| self.versions.iter().find(|(other, _)| other == evidence).map(|(_, version)| version);
        let title = |evidence: &Evidence| match version(evidence) {
            Some(version) => format!("{evidence} {version}"),
            None => evidence.to_string(),
        };
        let mut counts: Vec<(String, usize)> =
            cases.by_evidence.iter().map(|(evidence, &count)| (title(evidence), count)).collect();
        counts.push(("nothing".to_owned(), cases.unconfirmed.values().map(BTreeSet::len).sum()));
        counts.push(("not judged beyond type and shape".to_owned(), cases.unjudged));
        counts
    }

    /// Returns the items that are excluded although a case reaches them.
    pub fn unused_exclusions(&self) -> Vec<String> {
        let is_needless = |version: &OperatorVersion, item: &CoverageItem| {
            self.is_reached(version, item) && self.exclusions.reason(version, item).is_some()
        };
        let mut lines = Vec::new();
        for (version, items) in &self.items {
            for item in items.iter().filter(|item| is_needless(version, item)) {
                lines.push(format!("{} {} {item}", version.qualified(), item.kind.group()));
            }
        }
        lines
    }

    fn is_reached(&self, version: &OperatorVersion, item: &CoverageItem) -> bool {
        self.totals.reached.get(version).is_some_and(|items| items.contains(item))
    }

    fn state(&self, version: &OperatorVersion, item: &CoverageItem) -> State {
        if self.is_reached(version, item) {
            State::Reached
        } else if self.exclusions.reason(version, item).is_some() {
            State::Excused
        } else {
            State::Missing
        }
    }

    /// Returns the coverage of each kind.
    pub fn counts(&self) -> BTreeMap<CoverageKind, Count> {
        let mut counts: BTreeMap<CoverageKind, Count> = CoverageKind::ALL.map(|kind| (kind, Count::default())).into();
        for (version, items) in &self.items {
            for item in items {
                let count = counts.entry(item.kind).or_default();
                count.all += 1;
                match self.state(version, item) {
                    State::Reached => count.reached += 1,
                    State::Excused => count.excused += 1,
                    State::Missing => {}
                }
            }
        }
        counts
    }

    /// Formats the totals, one per line, with their denominators.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for (kind, count) in self.counts() {
            let _ = writeln!(text, "{}: {count}", kind.title());
            if kind == CoverageKind::TypeCell && count.excused > MAX_EXCUSED_CELLS {
                let _ = writeln!(text, "  more than {MAX_EXCUSED_CELLS} type cells are excused");
            }
        }
        let run = |version: &&OperatorVersion| self.is_reached(version, &CoverageItem::new(CoverageKind::Executed));
        let run = self.deprecated.iter().filter(run).count();
        let _ = writeln!(text, "deprecated operator versions that a case runs: {run} of {}", self.deprecated.len());
        let _ = write!(text, "{}", self.cases_line());
        text
    }

    /// Formats the number of cases by evidence.
    pub fn cases_line(&self) -> String {
        let cases = &self.totals.cases;
        let evidence: Vec<String> = self.evidence().iter().map(|(source, count)| format!("{count} {source}")).collect();
        let refusals: Vec<String> = cases.refusals.iter().map(|(level, count)| format!("{count} {level}")).collect();
        format!(
            "passing cases: {} (other cases, which are not counted: {})\noutputs confirmed by: {}\nrefusals: {}",
            cases.passed,
            cases.other,
            list(&evidence),
            list(&refusals),
        )
    }

    /// Formats the totals as a section of a markdown page.
    pub fn markdown(&self) -> String {
        let mut text =
            "\n## Coverage of the cases\n\nOf the suite on the built-in executor; `cargo xtask coverage` lists \
                        what is missing.\n\n| | reached | excused | of |\n|---|--:|--:|--:|\n"
                .to_owned();
        for (kind, Count { reached, excused, all }) in self.counts() {
            let _ = writeln!(text, "| {} | {reached} | {excused} | {all} |", kind.title());
        }
        let _ = write!(text, "\n{}\n", self.cases_line().replace('\n', "  \n"));
        text
    }
}

fn list(parts: &[String]) -> String {
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.reached, self.all)?;
        if self.excused > 0 { write!(f, " ({} excused)", self.excused) } else { Ok(()) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reached,
    Excused,
    Missing,
}
