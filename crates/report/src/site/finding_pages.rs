//! Data of the list of findings, and of a page for each of them.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::suite::{Generated, Suite, SuiteError};
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::{Finding, Findings};
use onnx_conformance_harness::measure::{Measurements, Severity};
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::OperatorVersion;
use rayon::prelude::*;
use serde::Serialize;

use crate::issue::issue;
use crate::site::findings::FindingText;

/// Operator version, with the behaviours that show a finding.
pub(crate) type ShownBy = (OperatorVersion, BTreeSet<String>);

/// Row of the list.
#[derive(Debug, Serialize)]
pub(crate) struct FindingRow<'a> {
    runtime: &'static str,
    id: &'a str,
    title: &'a str,
    /// Letter of the worst state in the newest version with failures.
    state: char,
    /// Number of failing cases in that version.
    #[serde(rename = "n")]
    failures: usize,
    /// Operators that show it; for a finding about other cases, their pattern or group.
    about: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<&'static str>,
}

/// Data of the page of a finding.
#[derive(Debug, Serialize)]
pub(crate) struct FindingPage<'a> {
    #[serde(flatten)]
    text: FindingText,
    /// Id of the smallest case that shows it.
    sample: &'a str,
    /// Patterns of its cases.
    cases: &'a [String],
    /// Measured versions, each with the number of failing cases and the letter of the worst state.
    measured: Vec<(&'static str, usize, char)>,
    /// Operator versions, each with the behaviours that show it.
    shown: Vec<(String, &'a BTreeSet<String>)>,
    /// Text of an issue, if the standard decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<&'a str>,
}

/// Finding with its measurements.
#[derive(Debug)]
pub(crate) struct MeasuredFinding<'a> {
    finding: &'a Finding,
    shown: &'a [ShownBy],
    measured: Vec<(&'static str, usize, char)>,
}

/// Measures all findings. `shown` has the behaviours of each, by its full id.
pub(crate) fn measured<'a>(
    findings: &'a Findings,
    shown: &'a BTreeMap<String, Vec<ShownBy>>,
) -> Result<Vec<MeasuredFinding<'a>>, ExpectationError> {
    let all: Vec<&Finding> = findings.all().collect();
    let of = |finding: &'a Finding| {
        let shown = shown.get(&finding.full_id()).map(Vec::as_slice).unwrap_or_default();
        outcomes(finding, shown).map(|measured| MeasuredFinding { finding, shown, measured })
    };
    all.into_par_iter().map(of).collect()
}

/// Returns the number of failing cases and the letter of the worst state in each measured version, oldest first.
fn outcomes(finding: &Finding, shown: &[ShownBy]) -> Result<Vec<(&'static str, usize, char)>, ExpectationError> {
    let (known, all) = (finding.measured_in()?, Measurements::embedded());
    let recorded = shown.iter().flat_map(|(version, _)| finding.cases_of(version));
    let edges: BTreeSet<&str> = recorded.filter(|case| case.facts.is_edge).map(|case| case.id.as_str()).collect();
    let versions = all.runtimes().into_iter().find(|(runtime, _)| *runtime == finding.runtime);
    let mut rows = Vec::new();
    for version in versions.map(|(_, versions)| versions).unwrap_or_default() {
        if !known.fails.contains(&version) && !known.passes.contains(&version) {
            continue;
        }
        let Some(measurement) = all.get(finding.runtime, version)? else { continue };
        let failures = finding.failures(measurement);
        let severity = |(id, outcome): &(&str, Outcome)| Severity::from_outcome(*outcome, edges.contains(id));
        let worst = Severity::worst(failures.iter().filter_map(severity)).unwrap_or(Severity::Right);
        rows.push((version, failures.len(), worst.letter()));
    }
    Ok(rows)
}

/// Returns the texts of issues, by the full ids of the findings that the standard itself decides.
pub(crate) fn issues<'a>(findings: impl Iterator<Item = &'a Finding>) -> Result<BTreeMap<String, String>, SuiteError> {
    let mut by_sample: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.filter(|finding| finding.proof.is_standard()) {
        by_sample.entry(&finding.sample).or_default().push(finding);
    }
    let samples: Vec<&str> = by_sample.keys().copied().collect();
    let mut texts = BTreeMap::new();
    Suite::project(None, Generated::embedded())?.find_each(&samples, &mut |case| {
        for finding in by_sample.get(case.id.as_str()).into_iter().flatten() {
            // A finding that cannot be measured has no text. The caller measures all of them and reports the error.
            if let Ok(versions) = finding.measured_in() {
                texts.insert(finding.full_id(), issue(finding, versions, &case));
            }
        }
        Ok(())
    })?;
    Ok(texts)
}

impl<'a> MeasuredFinding<'a> {
    /// Returns the path of the page's data.
    pub(crate) fn path(&self) -> String {
        format!("data/finding/{}.js", self.finding.full_id())
    }

    /// Returns the row of the list.
    pub(crate) fn row(&self) -> Result<FindingRow<'a>, ExpectationError> {
        let versions = self.finding.measured_in()?;
        let last = self.measured.iter().rev().find(|(_, failures, _)| *failures > 0);
        let (failures, state) = last.map_or((0, '?'), |(_, failures, state)| (*failures, *state));
        let mut about: BTreeSet<String> =
            self.shown.iter().map(|(version, _)| format!("{}/{}", version.domain, version.name)).collect();
        if about.is_empty() {
            about.insert(group_of_sample(&self.finding.sample));
        }
        Ok(FindingRow {
            runtime: self.finding.runtime,
            id: &self.finding.id,
            title: &self.finding.title,
            state,
            failures,
            about,
            since: versions.since,
            fixed: versions.fixed,
        })
    }

    /// Returns the data of the page.
    pub(crate) fn page<'b>(
        &'b self,
        issues: &'b BTreeMap<String, String>,
    ) -> Result<FindingPage<'b>, ExpectationError> {
        Ok(FindingPage {
            text: FindingText::new(self.finding)?,
            sample: &self.finding.sample,
            cases: &self.finding.cases,
            measured: self.measured.clone(),
            shown: self.shown.iter().map(|(version, behaviours)| (version.qualified(), behaviours)).collect(),
            issue: issues.get(&self.finding.full_id()).map(String::as_str),
        })
    }
}

/// Returns the pattern of a graph, `graph/slices/gather_as_slice`, or the first part of another id.
fn group_of_sample(sample: &str) -> String {
    let parts = if sample.starts_with("graph/") { 3 } else { 1 };
    sample.split('/').take(parts).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_a_row_and_a_page() {
        let findings = Findings::embedded().unwrap();
        let finding = *findings.named("onnxruntime/nonzero-scalar").first().unwrap();
        let version: OperatorVersion = "ai.onnx/NonZero-13".parse().unwrap();
        let shown = vec![(version, BTreeSet::from(["scalar".to_owned()]))];
        let found = MeasuredFinding { finding, shown: &shown, measured: outcomes(finding, &shown).unwrap() };
        assert_eq!(found.path(), "data/finding/onnxruntime/nonzero-scalar.js");
        let row = found.row().unwrap();
        assert!(row.failures > 0 && "ws".contains(row.state), "{row:?}");
        assert_eq!(row.about, BTreeSet::from(["ai.onnx/NonZero".to_owned()]));
        let issues = issues([finding].into_iter()).unwrap();
        let page = found.page(&issues).unwrap();
        assert!(page.issue.unwrap().starts_with("# NonZero of a scalar"), "{page:?}");
        assert_eq!(page.shown.len(), 1);
        assert!(page.measured.len() > 3, "{page:?}");
    }

    #[test]
    fn a_finding_about_other_cases_names_their_group() {
        assert_eq!(group_of_sample("graph/slices/gather_as_slice/near/a/T=string"), "graph/slices/gather_as_slice");
        assert_eq!(group_of_sample("ir/graph/chain"), "ir");
    }
}
