//! The measurement of one version of a runtime.

use std::collections::BTreeMap;
use std::fmt;

use onnx_conformance_cases::case::{CaseId, Level};
use onnx_conformance_cases::suite::{CaseFacts, RecordedCase, WrappedCases, opset_of, recorded_cases};
use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, OperatorVersion, Specs};
use onnx_conformance_subject::{Accepted, Declaration};

use crate::expectations::{Entry, ExpectationError, Expectations, HeaderFault, Processors};
use crate::measure::digests::{MeasuredDigests, UnchangedCases, VersionState};
use crate::measure::entries::{EntriesOfGroup, MeasuredEntries, UnreadableGroup};
use crate::run::{CaseResult, DecodedCase, Outcome, PatternNames, ProcessorFeatures};

/// Measurement of a version of a runtime: an exact expectation file, which lists exactly the cases that the runtime does not
/// pass.
#[derive(Debug)]
pub struct Measurement {
    entries: MeasuredEntries,
    version: String,
    /// Files that it accepts. Cases in other files were not sent.
    takes: Declaration,
    /// Cases that are unchanged since the measurement. `None` without digests, for example for a user's own file: all are then
    /// taken as unchanged.
    unchanged: Option<UnchangedCases>,
    /// The digests, which have the last opsets of that time.
    digests: Option<MeasuredDigests>,
}

/// Outcome of a case on a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// The runtime was given the case, and it ended like this.
    Ended(Outcome),
    /// The runtime was given the case, and its outputs are wrong, but only inexact: at most so many representable values from
    /// the expected ones.
    Inexact(u64),
    /// The runtime does not accept the opset or the IR version of the case.
    NotAccepted,
    /// The case was not measured, has changed since, or is never judged.
    Unknown,
}

/// Formats the largest of several distances: `1 ULP`, `up to 3 ULP`.
pub fn distance_text(ulps: u64) -> String {
    if ulps == 1 { "1 ULP".to_owned() } else { format!("up to {ulps} ULP") }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measured::Ended(outcome) => outcome.fmt(f),
            Measured::Inexact(ulps) => write!(f, "{} by {}", Outcome::Mismatch, distance_text(*ulps)),
            Measured::NotAccepted => f.write_str("not accepted"),
            Measured::Unknown => f.write_str("not measured"),
        }
    }
}

impl Measured {
    /// Returns the ending of a case with this outcome, and the distance of a mismatch that is only inexact.
    pub fn ended(outcome: Outcome, inexact: Option<u64>) -> Measured {
        match (outcome, inexact) {
            (Outcome::Mismatch, Some(ulps)) => Measured::Inexact(ulps),
            (outcome, _) => Measured::Ended(outcome),
        }
    }

    /// Returns the outcome of a case that the runtime was given.
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Measured::Ended(outcome) => Some(outcome),
            Measured::Inexact(_) => Some(Outcome::Mismatch),
            Measured::NotAccepted | Measured::Unknown => None,
        }
    }
}

impl Measurement {
    /// Reads an expectation file with the digests of the measured cases. Returns `None` if the file names no version and so is
    /// not a measurement.
    pub fn read(path: &str, text: &str, digests: Option<&str>) -> Result<Option<Measurement>, ExpectationError> {
        let entries = MeasuredEntries::read(path, text)?;
        let file = entries.rest().expectations();
        let Some(version) = file.version.clone() else { return Ok(None) };
        if !file.exact || file.expect.iter().any(|entry| entry.unsupported.is_some()) {
            let fault = HeaderFault::Measurement(
                "a measurement needs `exact: true` and entries for single cases only; `--update-expectations` writes \
                 it",
            );
            return Err(ExpectationError::Header { path: file.path().to_owned(), fault });
        }
        let digests = digests.map(MeasuredDigests::parse);
        let unchanged = digests.as_ref().map(MeasuredDigests::unchanged);
        let takes = file.accepts.iter().fold(Declaration::named(&file.runtime, &version), Declaration::accepting);
        Ok(Some(Measurement { entries, version, takes, unchanged, digests }))
    }

    /// Returns the name of the runtime.
    pub fn runtime(&self) -> &str {
        &self.file().runtime
    }

    /// Returns its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the day of the measurement, in UTC: `2026-11-23`.
    pub fn date(&self) -> Option<&str> {
        self.file().date.as_deref()
    }

    /// Returns the platform of the measurement: `linux-x86_64`.
    pub fn platform(&self) -> Option<&str> {
        self.file().platform.as_deref()
    }

    /// Returns the features of the processor of the measurement; `None` if they were not detected.
    pub fn processor(&self) -> Option<&ProcessorFeatures> {
        self.file().cpu.as_ref()
    }

    /// Returns the digest of the measured suite.
    pub fn suite(&self) -> Option<&str> {
        self.file().suite.as_deref()
    }

    /// Returns the patterns of the measured cases; empty for the whole suite.
    pub fn scope(&self) -> &[String] {
        &self.file().scope
    }

    /// Returns the patterns of graphs that the runtime rewrites, or `None` if it was not asked.
    pub fn rewrites(&self) -> Option<&PatternNames> {
        self.file().rewrites.as_ref()
    }

    /// Returns the opsets and IR versions that the runtime accepts.
    pub fn accepts(&self) -> Option<&Accepted> {
        self.file().accepts.as_ref()
    }

    /// Returns the outcome of a case from the specs.
    pub fn outcome(&self, version: &OperatorVersion, case: &RecordedCase) -> Measured {
        let id = CaseId::parse(&case.id);
        if !self.was_measured(id, Some(version)) {
            return Measured::Unknown;
        }
        let Ok(entries) = self.entries.of_case(&case.id) else { return Measured::Unknown };
        self.outcome_of_measured(case, entries, || self.takes_files_of(&case.facts, version, id))
    }

    /// Returns the entries that may select cases of an operator version, or an error if they cannot be parsed.
    pub(super) fn entries_of(&self, version: &OperatorVersion) -> Result<EntriesOfGroup<'_>, UnreadableGroup> {
        self.entries.of_version(version)
    }

    /// Returns the outcome of a case from the specs that has not changed since it was measured. `is_accepted` returns true if the
    /// runtime accepted its opset and IR version.
    pub(super) fn outcome_of_measured(
        &self,
        case: &RecordedCase,
        entries: EntriesOfGroup<'_>,
        is_accepted: impl FnOnce() -> bool,
    ) -> Measured {
        if !self.judges(case.facts.level) {
            return self.without_answer(&case.id).map_or(Measured::Unknown, Measured::Ended);
        }
        if !is_accepted() {
            return Measured::NotAccepted;
        }
        let entry = entries.about(&case.id);
        match entry.map_or(Outcome::Pass, Entry::outcome) {
            // Entries are as wide as the judged cases allow. A refusal whose control fails was not judged.
            outcome if case.facts.refusal.is_some() && outcome.is_of_positive_cases() => {
                Measured::Ended(Outcome::NotApplicable)
            }
            outcome => Measured::ended(outcome, entry.and_then(|entry| entry.ulp)),
        }
    }

    /// Returns the outcome of a case that belongs to no operator version, such as a graph.
    pub fn outcome_of(&self, decoded: &DecodedCase<'_>) -> Measured {
        let case = decoded.case();
        let id = CaseId::parse(&case.id);
        if !self.judges(case.level) || !self.was_measured(id, None) {
            return Measured::Unknown;
        }
        if decoded.undeclared_feature(&self.takes).is_some() {
            return Measured::NotAccepted;
        }
        self.listed_outcome(&case.id)
    }

    /// Returns the outcome of a case that belongs to no operator version, by its id and level. Its model has this IR version and this
    /// opset of ONNX's own domain.
    pub fn outcome_in(&self, id: &str, level: Level, ir: u32, opset: u32) -> Measured {
        if !self.judges(level) || !self.was_measured(CaseId::parse(id), None) {
            return Measured::Unknown;
        }
        if !self.takes.has_ir(i64::from(ir)) || !self.takes.has_opset(DEFAULT_DOMAIN, i64::from(opset)) {
            return Measured::NotAccepted;
        }
        self.listed_outcome(id)
    }

    /// Returns the outcome of a case by its entry: a pass if it has none.
    fn listed_outcome(&self, id: &str) -> Measured {
        let Ok(entry) = self.entries.about(id) else { return Measured::Unknown };
        Measured::ended(entry.map_or(Outcome::Pass, Entry::outcome), entry.and_then(|entry| entry.ulp))
    }

    /// Returns the result of a case that need not run again, since it has not changed since the runtime ran it. A case
    /// that fails only under a condition has to run.
    pub fn result(&self, id: &str) -> Option<CaseResult> {
        let parsed = CaseId::parse(id);
        let version = parsed.version();
        if !self.was_measured(parsed, version.as_ref()) {
            return None;
        }
        let entry = self.entries.about(id).ok()?;
        if entry.is_some_and(|entry| entry.when.is_some()) {
            return None;
        }
        let ulps = entry.and_then(|entry| entry.ulp);
        let Some(version) = version else {
            if !self.takes_plain_case_of(id) {
                return None;
            }
            let outcome = entry.map_or(Outcome::Pass, Entry::outcome);
            let plain = CaseResult::without_details(id, outcome, Level::Required, None);
            return Some(CaseResult { ulps, is_measured: true, ..plain });
        };
        let case = recorded_cases(&version).iter().find(|case| case.id == id)?;
        // At other opsets than today's, the runtime was given another file.
        let now = (opset_of(&version, parsed), case.facts.default_domain_opset);
        if self.opsets_when_measured(&case.facts, &version, parsed) != now {
            return None;
        }
        let outcome = match self.outcome(&version, case) {
            Measured::Ended(outcome) => outcome,
            Measured::Inexact(_) => Outcome::Mismatch,
            // Its outcome is not judged.
            Measured::Unknown if case.facts.level == Level::Open => Outcome::Pass,
            Measured::NotAccepted | Measured::Unknown => return None,
        };
        let plain = CaseResult::without_details(id, outcome, case.facts.level, case.facts.refusal);
        Some(CaseResult { ulps, is_measured: true, ..plain })
    }

    /// Returns the outcome of a case of any level that ended without an answer. An entry for several cases is not conclusive for
    /// a case that was not judged.
    fn without_answer(&self, id: &str) -> Option<Outcome> {
        let entry = self.entry(id).filter(|entry| entry.cases.as_deref() == Some(id))?;
        Some(entry.outcome()).filter(|outcome| outcome.is_without_answer())
    }

    /// Returns the entry for a case that the runtime does not pass.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.about(id).ok().flatten()
    }

    /// Returns the cases of neither an operator nor the hostile models that the runtime does not pass. `records/` does not
    /// have them.
    pub fn not_passed_outside_operators(&self) -> impl Iterator<Item = (&str, Outcome)> {
        self.not_passed_in(|_| true)
    }

    /// Returns those of these cases whose group `is_meant` accepts by its name, such as `onnx-1.22.0/node`.
    pub fn not_passed_in(&self, is_meant: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, Outcome)> {
        self.entries.outside_operators(is_meant).map(|(id, entry)| (id, entry.outcome()))
    }

    /// Returns the processors that a case fails on, if it fails only on some.
    pub fn processors_of_failure(&self, id: &str) -> Option<&Processors> {
        self.entry(id)?.when.as_ref()?.cpu.as_ref()
    }

    /// Returns true if the runtime was given a case, was judged by it, and passed.
    pub fn passes(&self, decoded: &DecodedCase<'_>) -> bool {
        let case = decoded.case();
        let id = CaseId::parse(&case.id);
        self.judges(case.level)
            && self.was_measured(id, id.version().as_ref())
            && self.entries.about(&case.id) == Ok(None)
            && decoded.undeclared_feature(&self.takes).is_none()
    }

    /// Returns true if the runtime was given a case with this id and level in a file of this IR version and these opsets, was judged
    /// by it, and passed.
    pub fn passes_in(&self, id: &str, level: Level, ir: i64, opsets: &BTreeMap<String, i64>) -> bool {
        let parsed = CaseId::parse(id);
        self.judges(level)
            && self.was_measured(parsed, parsed.version().as_ref())
            && self.entries.about(id) == Ok(None)
            && self.takes.has_ir(ir)
            && opsets.iter().all(|(domain, opset)| self.takes.has_opset(domain, *opset))
    }

    #[cfg(test)]
    pub(super) fn unreadable(&self) -> Vec<&str> {
        self.entries.unreadable()
    }

    fn file(&self) -> &Expectations {
        self.entries.rest().expectations()
    }

    fn judges(&self, level: Level) -> bool {
        level == Level::Required || (level == Level::Recommended && self.file().strict)
    }

    /// Returns true if the case has not changed since it was measured. `version` is its operator version, if it has
    /// one.
    pub fn was_measured(&self, id: CaseId<'_>, version: Option<&OperatorVersion>) -> bool {
        self.unchanged.as_ref().is_none_or(|unchanged| unchanged.contains(id, version)) && self.is_in_scope(id.path)
    }

    /// Returns true if the cases with this path are in the scope of the measurement.
    pub(super) fn is_in_scope(&self, path: &str) -> bool {
        self.entries.rest().is_in_scope(path)
    }

    /// Returns the state of the cases of an operator version since the measurement.
    pub(super) fn state_of(&self, version: &OperatorVersion) -> VersionState {
        self.unchanged.as_ref().map_or(VersionState::Unchanged, |unchanged| unchanged.state_of(version))
    }

    /// Returns true if the runtime accepts files with this opset, in the lowest IR version that has it.
    pub fn takes_opset(&self, domain: &str, opset: u32) -> bool {
        let lowest = Specs::embedded().releases().ok().and_then(|all| all.lowest_ir(domain, opset)).unwrap_or_default();
        self.takes.has_ir(i64::from(lowest.max(3))) && self.takes.has_opset(domain, i64::from(opset))
    }

    /// Returns true unless the id names a wrapped case at an opset that the runtime does not accept.
    fn takes_plain_case_of(&self, id: &str) -> bool {
        let plain = WrappedCases::plain_id(id).map(CaseId::parse);
        let version = plain.and_then(|id| Some((id.version()?, id)));
        version.is_none_or(|(version, id)| self.takes_opset(&version.domain, opset_of(&version, id)))
    }

    /// Returns the opset of a case when it was measured, and that of ONNX's own domain if a model of another domain also imports
    /// it. The newest opset was another one before a release that added opsets.
    pub(super) fn opsets_when_measured(
        &self,
        facts: &CaseFacts,
        version: &OperatorVersion,
        id: CaseId<'_>,
    ) -> (u32, Option<u32>) {
        let last = |domain: &str| self.digests.as_ref()?.last_opset(domain);
        let then = |domain: &str, now: u32| last(domain).map_or(now, |last| last.min(now));
        let now = opset_of(version, id);
        let opset = if id.is_at_last_opset() { then(&version.domain, now) } else { now };
        (opset, facts.default_domain_opset.map(|now| then(DEFAULT_DOMAIN, now)))
    }

    /// Returns true if the runtime accepted files with the opsets and IR version that a case had when it was measured.
    pub(super) fn takes_files_of(&self, facts: &CaseFacts, version: &OperatorVersion, id: CaseId<'_>) -> bool {
        let (opset, default_domain_opset) = self.opsets_when_measured(facts, version, id);
        let needs = facts.needs_at(opset, default_domain_opset, version);
        self.takes.has_ir(i64::from(needs.ir))
            && needs.opsets.iter().all(|(domain, opset)| self.takes.has_opset(domain, i64::from(*opset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_opset_is_that_of_the_measurement() {
        let last = "ai.onnx/Abs-13/ranks/X=2x3x4/T=float@opset=last";
        let newest = Specs::embedded().newest_opset("").unwrap();
        let text = |opset: u32| {
            format!(
                "runtime: a\nversion: 1.2\nexact: true\naccepts: {{ir: [3, 99], opsets: {{ai.onnx: [1, {opset}]}}}}\nexpect: []\n"
            )
        };
        let version: OperatorVersion = "ai.onnx/Abs-13".parse().unwrap();
        let case = recorded_cases(&version).iter().find(|case| case.id == last).unwrap();
        let digests = MeasuredDigests::for_cases([last]).to_text();
        let before = digests.replace(&format!("ai.onnx={newest}"), &format!("ai.onnx={}", newest - 1));
        let read = |opset, digests: &str| Measurement::read("a.yaml", &text(opset), Some(digests)).unwrap().unwrap();
        let measured = read(newest - 1, &before);
        assert_eq!(measured.outcome(&version, case), Measured::Ended(Outcome::Pass));
        assert!(measured.result(last).is_none(), "the file of today was not measured");
        assert_eq!(read(newest - 1, &digests).outcome(&version, case), Measured::NotAccepted);
        assert_eq!(read(newest, &digests).result(last).map(|result| result.outcome), Some(Outcome::Pass));
    }

    #[test]
    fn the_newest_opset_around_a_node_of_another_domain_is_that_of_the_measurement() {
        let newest = Specs::embedded().newest_opset("").unwrap();
        let version: OperatorVersion = "ai.onnx.ml/FeatureVectorizer-1".parse().unwrap();
        let case =
            recorded_cases(&version).iter().find(|case| case.facts.default_domain_opset == Some(newest)).unwrap();
        let text = format!(
            "runtime: a\nversion: 1.2\nexact: true\nstrict: true\n\
             accepts: {{ir: [3, 99], opsets: {{ai.onnx: [1, {}], ai.onnx.ml: [1, 9]}}}}\nexpect: []\n",
            newest - 1
        );
        let digests = MeasuredDigests::for_cases([case.id.as_str()]).to_text();
        let before = digests.replace(&format!("ai.onnx={newest}"), &format!("ai.onnx={}", newest - 1));
        let read = |digests: &str| Measurement::read("a.yaml", &text, Some(digests)).unwrap().unwrap();
        assert_eq!(read(&before).outcome(&version, case), Measured::Ended(Outcome::Pass));
        assert!(read(&before).result(&case.id).is_none(), "the file of today was not measured");
        assert_eq!(read(&digests).outcome(&version, case), Measured::NotAccepted);
    }

    #[test]
    fn an_inexact_case_has_its_distance() {
        let [near, far, group] = ["ranks/X=2x3x4/T=float", "ranks/X=2x3x4/T=double", "ranks/X=2x3x4/T=float16"]
            .map(|end| format!("ai.onnx/Abs-13/{end}"));
        let text = format!(
            "runtime: a\nversion: 1.2\nexact: true\nstrict: true\nexpect:\n  - {{cases: {near}, outcome: mismatch, ulp: 3}}\n  \
             - {{cases: {far}, outcome: mismatch}}\n  - {{cases: 'ai.onnx/Abs-13/ranks/*/T=float16', outcome: mismatch, ulp: 1}}\n"
        );
        let measurement = Measurement::read("a.yaml", &text, None).unwrap().unwrap();
        let version: OperatorVersion = "ai.onnx/Abs-13".parse().unwrap();
        for (id, measured, ulps) in [
            (&near, Measured::Inexact(3), Some(3)),
            (&far, Measured::Ended(Outcome::Mismatch), None),
            (&group, Measured::Inexact(1), Some(1)),
        ] {
            let case = recorded_cases(&version).iter().find(|case| case.id == *id).unwrap();
            assert_eq!(measurement.outcome(&version, case), measured, "{id}");
            let result = measurement.result(id).unwrap();
            assert_eq!((result.outcome, result.mismatch_ulps()), (Outcome::Mismatch, ulps), "{id}");
        }
        let words =
            [Measured::Inexact(1), Measured::Inexact(3), Measured::Ended(Outcome::Crash)].map(|it| it.to_string());
        assert_eq!(words, ["mismatch by 1 ULP", "mismatch by up to 3 ULP", "crash"]);
    }

    #[test]
    fn results_of_unchanged_cases_are_those_of_the_measurement() {
        let [passing, failing, conditional] =
            ["T=float", "T=double", "T=float16"].map(|end| format!("ai.onnx/Abs-13/ranks/X=2x3x4/{end}"));
        let text = format!(
            "runtime: a\nversion: 1.2\nexact: true\nstrict: true\naccepts: {{ir: [3, 8], opsets: {{ai.onnx: [1, 13]}}}}\n\
             expect:\n  - {{cases: {failing}, outcome: mismatch}}\n  \
             - {{cases: {conditional}, outcome: mismatch, when: {{cpu: {{without: [avx_vnni]}}}}}}\n"
        );
        let digests = MeasuredDigests::for_cases([passing.as_str()]).to_text();
        let measurement = Measurement::read("a.yaml", &text, Some(&digests)).unwrap().unwrap();
        let outcome = |id: &str| measurement.result(id).map(|result| result.outcome);
        assert_eq!(outcome(&passing), Some(Outcome::Pass));
        assert!(measurement.result(&passing).is_some_and(|result| result.is_measured));
        assert_eq!(outcome(&failing), Some(Outcome::Mismatch));
        assert_eq!(outcome(&conditional), None, "another processor may pass");
        assert_eq!(outcome(&format!("{passing}@opset=last")), None, "the runtime does not take the opset");
        assert_eq!(outcome("ai.onnx/Abs-6/ranks/X=2x3x4/T=float"), None, "not measured");
        assert_eq!(outcome("ai.onnx/Abs-13/ranks/X=2x3x4/T=other"), None, "no case");
    }
}
