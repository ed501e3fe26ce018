//! Outcomes of all cases of an operator version on a runtime. Facts that several of its cases share are looked up once.

use onnx_conformance_cases::case::{CaseId, CaseOpset};
use onnx_conformance_cases::suite::RecordedCase;
use onnx_conformance_reference::spec::OperatorVersion;

use crate::measure::digests::VersionState;
use crate::measure::entries::EntriesOfGroup;
use crate::measure::measurement::{Measured, Measurement};

/// The opset in the id of a case, and the opset of ONNX's own domain that its model also imports.
type OpsetsOfCase = (Option<CaseOpset>, Option<u32>);

/// Measurement of an operator version.
#[derive(Debug)]
pub struct MeasuredVersion<'a> {
    measurement: &'a Measurement,
    version: &'a OperatorVersion,
    state: VersionState,
    /// The entries that may select cases of the version; `None` if they cannot be parsed.
    entries: Option<EntriesOfGroup<'a>>,
    /// True for the opsets whose files the runtime accepted.
    accepted: Vec<(OpsetsOfCase, bool)>,
}

impl Measurement {
    /// Returns the measurement of an operator version.
    pub fn at_version<'a>(&'a self, version: &'a OperatorVersion) -> MeasuredVersion<'a> {
        let entries = self.entries_of(version).ok();
        MeasuredVersion { measurement: self, version, state: self.state_of(version), entries, accepted: Vec::new() }
    }
}

impl MeasuredVersion<'_> {
    /// Returns the outcome of a case of the version: that of [`Measurement::outcome`].
    pub fn outcome(&mut self, case: &RecordedCase) -> Measured {
        let id = CaseId::parse(&case.id);
        if !self.state.has_measured(id.path) || !self.measurement.is_in_scope(id.path) {
            return Measured::Unknown;
        }
        let (measurement, Some(entries)) = (self.measurement, self.entries) else { return Measured::Unknown };
        measurement.outcome_of_measured(case, entries, || self.is_accepted(case, id))
    }

    fn is_accepted(&mut self, case: &RecordedCase, id: CaseId<'_>) -> bool {
        let opsets = (id.opset(), case.facts.default_domain_opset);
        if let Some((_, is_accepted)) = self.accepted.iter().find(|(known, _)| *known == opsets) {
            return *is_accepted;
        }
        let is_accepted = self.measurement.takes_files_of(&case.facts, self.version, id);
        self.accepted.push((opsets, is_accepted));
        is_accepted
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::recorded_cases;

    use crate::measure::Measurements;

    #[test]
    fn the_outcomes_of_a_version_are_those_of_its_cases() {
        let versions = ["ai.onnx/Abs-13", "ai.onnx/Resize-19", "ai.onnx/Gather-1", "ai.onnx.ml/FeatureVectorizer-1"];
        for (runtime, version) in [("onnxruntime", "1.20.1"), ("tract", "0.23.0"), ("onnx-reference", "1.19.1")] {
            let measurement = Measurements::embedded().get(runtime, version).unwrap().unwrap();
            for version in versions.map(|version| version.parse().unwrap()) {
                let mut measured = measurement.at_version(&version);
                for case in recorded_cases(&version) {
                    assert_eq!(measured.outcome(case), measurement.outcome(&version, case), "{runtime} {}", case.id);
                }
            }
        }
    }
}
