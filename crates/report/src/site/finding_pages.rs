//! Data of the list of findings, and of a page for each of them.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::suite::{Generated, Suite, SuiteError};
use onnx_conformance_harness::escape::cut;
use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::{Finding, Findings};
use onnx_conformance_harness::measure::{Measurements, Severity};
use onnx_conformance_harness::run::Outcome;
use onnx_conformance_reference::spec::OperatorVersion;
use rayon::prelude::*;
use serde::Serialize;

use crate::describe_case::describe_parts;
use crate::issue::{issue, program};
use crate::site::findings::FindingText;

/// Maximum size of a sample's model that a page shows, in bytes.
const MAX_MODEL: usize = 64 << 10;

/// Maximum number of characters of a sample's text on a page.
const MAX_TEXT: usize = 20_000;

/// Operator version, with the behaviours that show a finding.
pub(crate) type ShownBy = (OperatorVersion, BTreeSet<String>);

/// Row of the list.
#[derive(Debug, Serialize)]
pub(crate) struct FindingRow<'a> {
    pub(crate) runtime: &'static str,
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    /// Letter of the worst state in the newest version with failures.
    pub(crate) state: char,
    /// Number of failing cases in that version.
    #[serde(rename = "n")]
    pub(crate) failures: usize,
    /// Operators that show it; for a finding about other cases, their pattern or group.
    pub(crate) about: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fixed: Option<&'static str>,
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
    /// The finding.
    pub(crate) finding: &'a Finding,
    /// Operator versions that show it.
    pub(crate) shown: &'a [ShownBy],
    /// Measured versions, oldest first, each with the number of failing cases and the letter of the worst state.
    pub(crate) measured: Vec<(&'static str, usize, char)>,
}

/// Texts about the sample of a finding.
#[derive(Debug, Default)]
pub(crate) struct SampleTexts {
    /// Model, inputs and expected outputs, unless the model is too large.
    pub(crate) case: Option<String>,
    /// Python program that runs it, if the runtime has an API in Python.
    pub(crate) program: Option<String>,
    /// Text of an issue, if the standard decides.
    pub(crate) issue: Option<String>,
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

/// Findings by the id of their sample.
pub(crate) type BySample<'a> = BTreeMap<&'a str, Vec<&'a Finding>>;

/// Groups findings by their sample.
pub(crate) fn by_sample<'a>(findings: impl Iterator<Item = &'a Finding>) -> BySample<'a> {
    let mut by_sample = BySample::new();
    for finding in findings {
        by_sample.entry(&finding.sample).or_default().push(finding);
    }
    by_sample
}

/// Returns the texts about the samples of findings, by full id. A sample that cannot be made has none.
pub(crate) fn samples<'a>(
    findings: impl Iterator<Item = &'a Finding>,
) -> Result<BTreeMap<String, SampleTexts>, SuiteError> {
    let by_sample = by_sample(findings);
    let ids: Vec<&str> = by_sample.keys().copied().collect();
    let mut texts = BTreeMap::new();
    Suite::project(None, Generated::embedded())?.find_each(&ids, &mut |case| {
        for finding in by_sample.get(case.id.as_str()).into_iter().flatten() {
            texts.insert(finding.full_id(), sample_texts(finding, &case));
        }
        Ok(())
    })?;
    Ok(texts)
}

/// Returns the texts about the sample of a finding.
pub(crate) fn sample_texts(finding: &Finding, case: &Case) -> SampleTexts {
    let is_small = case.model.len() <= MAX_MODEL;
    // A finding that cannot be measured has no issue. The caller measures all of them and reports the error.
    let versions = finding.measured_in().ok().filter(|_| finding.proof.is_standard());
    SampleTexts {
        case: is_small.then(|| cut(&describe_parts(case), MAX_TEXT).into_owned()),
        program: is_small.then(|| program(finding.runtime, case)).flatten(),
        issue: versions.map(|versions| issue(finding, versions, case)),
    }
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
        samples: &'b BTreeMap<String, SampleTexts>,
    ) -> Result<FindingPage<'b>, ExpectationError> {
        Ok(FindingPage {
            text: FindingText::new(self.finding)?,
            sample: &self.finding.sample,
            cases: &self.finding.cases,
            measured: self.measured.clone(),
            shown: self.shown.iter().map(|(version, behaviours)| (version.qualified(), behaviours)).collect(),
            issue: samples.get(&self.finding.full_id()).and_then(|sample| sample.issue.as_deref()),
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
        let samples = samples([finding].into_iter()).unwrap();
        let page = found.page(&samples).unwrap();
        assert!(page.issue.unwrap().starts_with("# NonZero of a scalar"), "{page:?}");
        assert_eq!(page.shown.len(), 1);
        assert!(page.measured.len() > 3, "{page:?}");
        let sample = &samples["onnxruntime/nonzero-scalar"];
        assert!(sample.case.as_ref().unwrap().contains("NonZero"), "{sample:?}");
        assert!(sample.program.as_ref().unwrap().contains("import onnxruntime"), "{sample:?}");
    }

    #[test]
    fn a_finding_about_other_cases_names_their_group() {
        assert_eq!(group_of_sample("graph/slices/gather_as_slice/near/a/T=string"), "graph/slices/gather_as_slice");
        assert_eq!(group_of_sample("ir/graph/chain"), "ir");
    }
}
