//! Findings, joined with the behaviours of an operator that show them.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_harness::expectations::ExpectationError;
use onnx_conformance_harness::findings::{Finding, Findings};
use serde::Serialize;

use crate::site::table::{CaseRow, VersionTable, name_of};

/// A finding as the pages show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FindingText {
    pub(crate) runtime: &'static str,
    pub(crate) id: String,
    /// Versions of the runtime in which it was measured.
    pub(crate) versions: String,
    pub(crate) title: String,
    /// Sentence of the standard that decides, or another proof.
    pub(crate) proof: String,
    /// Conclusion from the proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// Behaviour of the runtime.
    pub(crate) does: String,
}

impl FindingText {
    pub(crate) fn new(finding: &Finding) -> Result<FindingText, ExpectationError> {
        Ok(FindingText {
            runtime: finding.runtime,
            id: finding.id.clone(),
            versions: finding.measured_in()?.to_string(),
            title: finding.title.clone(),
            proof: finding.proof.to_string(),
            text: finding.text.clone(),
            does: finding.does.clone(),
        })
    }
}

/// A finding on the page of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FindingData {
    #[serde(flatten)]
    pub(crate) text: FindingText,
    /// Behaviours that show it, by version.
    pub(crate) behaviours: BTreeMap<u32, BTreeSet<String>>,
    /// Id of the smallest case that shows it. `does` has the runtime's output for it.
    pub(crate) sample: String,
}

/// Returns the findings that cases of these versions show.
pub(crate) fn about(findings: &Findings, tables: &[VersionTable]) -> Result<Vec<FindingData>, ExpectationError> {
    let mut found = Vec::new();
    for finding in findings.all() {
        let mut behaviours: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for table in tables {
            let cases = finding.cases_of(&table.version);
            if cases.is_empty() {
                continue;
            }
            let names: BTreeSet<&str> = cases.iter().map(|case| name_of(case, &table.version)).collect();
            let shows = |case: &&CaseRow| names.contains(case.name.as_str());
            let shown = table.cases.iter().filter(shows).filter_map(|case| table.behaviours.get(case.behaviour));
            let shown: BTreeSet<String> = shown.map(|behaviour| behaviour.name.clone()).collect();
            if !shown.is_empty() {
                behaviours.insert(table.version.since, shown);
            }
        }
        if !behaviours.is_empty() {
            found.push(FindingData { text: FindingText::new(finding)?, behaviours, sample: finding.sample.clone() });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_behaviours_that_show_it() {
        let table = VersionTable::new(&"ai.onnx/NonZero-13".parse().unwrap(), &[]).unwrap();
        let findings = about(Findings::embedded().unwrap(), &[table]).unwrap();
        let scalar = findings.iter().find(|finding| finding.text.does.starts_with("Gives the shape")).unwrap();
        assert_eq!(scalar.text.runtime, "onnxruntime");
        assert_eq!(scalar.behaviours, BTreeMap::from([(13, BTreeSet::from(["scalar".to_owned()]))]));
        assert!(scalar.sample.starts_with("ai.onnx/NonZero-13/"), "{}", scalar.sample);
    }
}
