//! The measurement of one version of a runtime.

use std::collections::BTreeMap;

use onnx_conformance_reference::spec::OperatorVersion;

use crate::expectations::{Entry, ExpectationError, Expectations, Processors};
use crate::measure::digests::MeasuredDigests;
use crate::measure::entries::MeasuredEntries;
use crate::run::{Outcome, ProcessorFeatures, undeclared_feature};
use onnx_conformance_cases::case::{Case, CaseId, Level};
use onnx_conformance_cases::suite::{CaseFacts, Filter, RecordedCase};
use onnx_conformance_subject::{Accepted, Declaration};

/// What a version of a runtime did: an exact expectation file, which lists the very cases that the runtime does not pass.
#[derive(Debug)]
pub struct Measurement {
    entries: MeasuredEntries,
    version: String,
    /// The files that it takes; cases in others were not sent.
    takes: Declaration,
    /// The operator versions whose cases are what they were when they were measured, each with a filter of those that are not;
    /// nothing where CI holds the whole suite to the runtime, so that all are.
    unchanged: Option<BTreeMap<OperatorVersion, Option<&'static Filter>>>,
}

/// How a case ended on a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// It was put to the runtime, and ended so.
    Ended(Outcome),
    /// The runtime does not take the opset or the IR version of the case.
    NotAccepted,
    /// It was not measured, has changed since, or is never judged.
    Unknown,
}

impl Measurement {
    /// Reads an expectation file with the digests of what was measured; nothing for a file that names no version, and so is none.
    pub fn read(path: &str, text: &str, digests: Option<&str>) -> Result<Option<Measurement>, ExpectationError> {
        let entries = MeasuredEntries::read(path, text)?;
        let file = entries.rest().expectations();
        let Some(version) = file.version.clone() else { return Ok(None) };
        if !file.exact || file.expect.iter().any(|entry| entry.unsupported.is_some()) {
            let rule = "a measurement lists every case that does not pass, so the file says `exact: true` and lists cases alone; \
                        `--update-expectations` writes it so"
                .to_owned();
            return Err(ExpectationError::Header { path: file.path().to_owned(), rule });
        }
        // What is measured on a part is held by nobody.
        let digests = digests.or((!file.scope.is_empty()).then_some(""));
        let unchanged = digests.map(|text| MeasuredDigests::parse(text).unchanged());
        let takes = file.accepts.iter().fold(Declaration::named(&file.runtime, &version), Declaration::accepting);
        Ok(Some(Measurement { entries, version, takes, unchanged }))
    }

    /// The name of the runtime.
    pub fn runtime(&self) -> &str {
        &self.file().runtime
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The day of the measurement, in UTC: `2026-11-23`.
    pub fn date(&self) -> Option<&str> {
        self.file().date.as_deref()
    }

    /// Where it was made: `linux-x86_64`.
    pub fn platform(&self) -> Option<&str> {
        self.file().platform.as_deref()
    }

    /// The features of the processor that it was made on; nothing where they were not detected.
    pub fn processor(&self) -> Option<&ProcessorFeatures> {
        self.file().cpu.as_ref()
    }

    /// The digest of the suite that it was made with.
    pub fn suite(&self) -> Option<&str> {
        self.file().suite.as_deref()
    }

    /// The patterns of the cases that were measured; none where all were.
    pub fn scope(&self) -> &[String] {
        &self.file().scope
    }

    /// The opsets and IR versions that the runtime takes.
    pub fn accepts(&self) -> Option<&Accepted> {
        self.file().accepts.as_ref()
    }

    /// Whether CI holds the whole suite to the runtime.
    pub fn is_held_by_ci(&self) -> bool {
        self.unchanged.is_none()
    }

    /// How a case from the specs ended.
    pub fn outcome(&self, version: &OperatorVersion, case: &RecordedCase) -> Measured {
        let id = CaseId::parse(&case.id);
        if !self.was_measured(id, Some(version)) {
            return Measured::Unknown;
        }
        if !self.judges(case.facts.level) {
            return self.without_answer(&case.id).map_or(Measured::Unknown, Measured::Ended);
        }
        if !self.takes_files_of(&case.facts, version, id) {
            return Measured::NotAccepted;
        }
        let Ok(entry) = self.entries.about(&case.id) else { return Measured::Unknown };
        match entry.map_or(Outcome::Pass, Entry::outcome) {
            // Entries are as wide as the cases that were judged let them be, and a refusal whose control fails was not.
            outcome if case.facts.refusal.is_some() && outcome.is_of_positive_cases() => {
                Measured::Ended(Outcome::NotApplicable)
            }
            outcome => Measured::Ended(outcome),
        }
    }

    /// The outcome of a case of any level that ended without an answer. An entry for several cases says nothing of one that was not judged.
    fn without_answer(&self, id: &str) -> Option<Outcome> {
        let entry = self.entry(id).filter(|entry| entry.cases.as_deref() == Some(id))?;
        Some(entry.outcome()).filter(|outcome| outcome.is_without_answer())
    }

    /// The entry about a case that the runtime does not pass.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.about(id).ok().flatten()
    }

    /// The processors on which a case fails, where it fails on some alone.
    pub fn processors_of_failure(&self, id: &str) -> Option<&Processors> {
        self.entry(id)?.when.as_ref()?.cpu.as_ref()
    }

    /// Whether the runtime was given a case, was judged by it, and passed.
    pub fn passes(&self, case: &Case) -> bool {
        let id = CaseId::parse(&case.id);
        self.judges(case.level)
            && self.was_measured(id, id.version().as_ref())
            && self.entries.about(&case.id) == Ok(None)
            && undeclared_feature(case, &self.takes).is_none()
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

    /// Whether the case was measured as it is.
    fn was_measured(&self, id: CaseId<'_>, version: Option<&OperatorVersion>) -> bool {
        let is_unchanged = |versions: &BTreeMap<OperatorVersion, Option<&Filter>>| {
            let changed = version.and_then(|version| versions.get(version));
            changed.is_some_and(|changed| changed.is_none_or(|changed| !changed.matches(id.path)))
        };
        self.entries.rest().is_in_scope(id.path) && self.unchanged.as_ref().is_none_or(is_unchanged)
    }

    /// Whether the runtime takes a file of the opset and IR version of a case.
    fn takes_files_of(&self, facts: &CaseFacts, version: &OperatorVersion, id: CaseId<'_>) -> bool {
        let needs = facts.needs(version, id);
        self.takes.has_ir(i64::from(needs.ir))
            && needs.opsets.iter().all(|(domain, opset)| self.takes.has_opset(domain, i64::from(*opset)))
    }
}
