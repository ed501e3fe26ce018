//! Results of an operator version at an opset: the cases that count there, and their worst severity.

use onnx_conformance_cases::case::{CaseId, Level};
use onnx_conformance_cases::suite::RecordedCase;
use onnx_conformance_reference::spec::OperatorVersion;

use crate::measure::measurement::{Measured, Measurement};
use crate::measure::severity::Severity;

impl Measured {
    /// Returns the ending of a case of this level if it is a pass or a failure that counts.
    pub fn judged(self, level: Level, strict: bool) -> Option<Measured> {
        let outcome = self.outcome()?;
        Some(self).filter(|_| !outcome.is_inconclusive() && outcome.counts(level, strict))
    }
}

impl Measurement {
    /// Returns true if a case counts for models of an opset: the model that the runtime was given has that opset or an older one.
    /// The cases of a version at later opsets say nothing about older ones, which a runtime may accept without accepting the later
    /// ones.
    pub fn counts_at(&self, opset: u32, version: &OperatorVersion, case: &RecordedCase) -> bool {
        self.opsets_when_measured(&case.facts, version, CaseId::parse(&case.id)).0 <= opset
    }

    /// Returns the worst severity of the cases of an operator version that count at an opset; `None` if none is judged, or if
    /// the runtime does not accept the opset. The version is correct at the opset if the result is [`Severity::Right`].
    pub fn severity_at(
        &self,
        opset: u32,
        version: &OperatorVersion,
        cases: &[&'static RecordedCase],
    ) -> Option<Severity> {
        if !self.takes_opset(&version.domain, opset) {
            return None;
        }
        let mut measured = self.at_version(version);
        let severity = |case: &RecordedCase| {
            let ended = measured.outcome(case).judged(case.facts.level, false)?;
            Severity::from_measured(ended, case.facts.is_edge)
        };
        Severity::worst(cases.iter().copied().filter(|case| self.counts_at(opset, version, case)).filter_map(severity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_conformance_cases::suite::{opset_of, recorded_cases};

    use crate::measure::digests::MeasuredDigests;

    fn severity(version: &str, opset: u32, file: &str) -> Option<Severity> {
        severity_with(version, opset, file, None)
    }

    /// Returns the severity of a version at an opset, by a measurement with these facts, entries and digests.
    fn severity_with(version: &str, opset: u32, file: &str, digests: Option<&str>) -> Option<Severity> {
        let text = format!("runtime: a\nversion: 1.2\nexact: true\n{file}");
        let measurement = Measurement::read("a.yaml", &text, digests).unwrap().unwrap();
        let version: OperatorVersion = version.parse().unwrap();
        measurement.severity_at(opset, &version, &recorded_cases(&version).iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_case_above_the_opset_does_not_count() {
        let version = OperatorVersion::new("ai.onnx", "Abs", 13);
        let last =
            recorded_cases(&version).iter().max_by_key(|case| opset_of(&version, CaseId::parse(&case.id))).unwrap();
        let newest = opset_of(&version, CaseId::parse(&last.id));
        let wrong = format!("expect:\n  - {{cases: {}, outcome: mismatch}}\n", last.id);
        assert_eq!(severity("ai.onnx/Abs-13", 21, &wrong), Some(Severity::Right));
        assert_eq!(severity("ai.onnx/Abs-13", newest - 1, &wrong), Some(Severity::Right));
        assert_eq!(severity("ai.onnx/Abs-13", newest, &wrong), Some(Severity::Wrong));
        let inexact = wrong.replace("outcome: mismatch", "outcome: mismatch, ulp: 2");
        assert_eq!(severity("ai.onnx/Abs-13", newest, &inexact), Some(Severity::Inexact));
        // A case that was measured when an older opset was the newest counts from that opset on.
        let digests = MeasuredDigests::for_cases([last.id.as_str()]).to_text();
        let before = digests.replace(&format!("ai.onnx={newest}"), &format!("ai.onnx={}", newest - 1));
        let then = |opset| severity_with("ai.onnx/Abs-13", opset, &wrong, Some(&before));
        assert_eq!([newest - 2, newest - 1].map(then), [Some(Severity::Right), Some(Severity::Wrong)]);
    }

    #[test]
    fn a_runtime_is_correct_at_no_opset_that_it_does_not_accept() {
        let to_21 = "accepts: {ir: [3, 10], opsets: {ai.onnx: [1, 21]}}\nexpect: []\n";
        assert_eq!(severity("ai.onnx/Abs-13", 21, to_21), Some(Severity::Right));
        assert_eq!(severity("ai.onnx/Abs-13", 22, to_21), None);
        let old_ir = to_21.replace("10]", "9]");
        assert_eq!(severity("ai.onnx/Abs-13", 21, &old_ir), None, "opset 21 needs IR version 10");
        assert_eq!(severity("ai.onnx/Abs-13", 20, &old_ir), Some(Severity::Right));
    }

    #[test]
    fn recommendations_count_only_if_there_is_no_answer() {
        let version = OperatorVersion::new("ai.onnx", "Abs", 13);
        let recommended = recorded_cases(&version).iter().find(|case| case.facts.level == Level::Recommended).unwrap();
        let entry =
            |outcome: &str| format!("strict: true\nexpect:\n  - {{cases: {}, outcome: {outcome}}}\n", recommended.id);
        assert_eq!(severity("ai.onnx/Abs-13", 21, &entry("mismatch")), Some(Severity::Right));
        assert_eq!(severity("ai.onnx/Abs-13", 21, &entry("crash")), Some(Severity::Crash));
    }
}
