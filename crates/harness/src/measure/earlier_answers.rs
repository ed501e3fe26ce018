//! Answers of a tool from an earlier measurement, kept when only new and changed cases are sent to it.

use std::collections::BTreeSet;

use onnx_conformance_cases::case::{CaseId, Level, Variant};

use crate::expectations::{
    Entry, ExpectationError, Expectations, HeaderFault, KeptAnswers, answered_part, refusals_name,
};
use crate::measure::digests::{MeasuredDigests, VersionState};
use crate::measure::entries::MeasuredEntries;
use crate::measure::listed_cases::ListedCases;
use crate::run::{CaseResult, Outcome, Shard};

/// The parts of the suite that are sent to a tool: operator versions, patterns of graphs, and topics of the format. A
/// part is stale as a whole: a measurement has the numbers of its answers, and not the answer about each case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedParts {
    /// Parts whose cases are those of the measurement.
    pub unchanged: BTreeSet<String>,
    /// Parts that are new, or in which a case is new, has changed, or is no longer in the measured part of the suite.
    pub stale: BTreeSet<String>,
}

impl AskedParts {
    /// Divides the parts of all of today's cases. `shard` is the part of the suite that was measured. Without digests every part is
    /// stale.
    pub fn new(digests: Option<&MeasuredDigests>, shard: Option<Shard>, listed: &ListedCases<'_>) -> AskedParts {
        let asked = shard.map(|shard| shard.range(listed.cases.len()));
        let digests = digests.filter(|digests| digests.has_current_opsets());
        let unchanged = digests.map(MeasuredDigests::unchanged).unwrap_or_default();
        let state = |version| matches!(unchanged.state_of(version), VersionState::Unchanged);
        // True for an operator version with the cases of the measurement.
        let versions: Vec<Option<bool>> = listed.parts.iter().map(|part| part.version.as_ref().map(state)).collect();
        let mut stale: Vec<Option<bool>> = vec![None; listed.parts.len()];
        for (position, case) in listed.cases.iter().enumerate().filter(|(_, case)| !case.is_hostile) {
            let is_asked = asked.as_ref().is_none_or(|asked| asked.contains(&position));
            let was_asked = digests.is_some_and(|digests| digests.part_contains(&case.digest));
            if !is_asked && !was_asked {
                continue;
            }
            let of_version = versions.get(case.part).copied().flatten().filter(|_| !case.is_wrapped);
            let is_unchanged = || of_version.unwrap_or_else(|| unchanged.contains(CaseId::parse(case.id), None));
            if let Some(stale) = stale.get_mut(case.part) {
                *stale = Some(*stale == Some(true) || is_asked != was_asked || !is_unchanged());
            }
        }
        let mut parts = AskedParts::default();
        for (part, stale) in listed.parts.iter().zip(stale) {
            match stale {
                Some(true) => drop(parts.stale.insert(part.name.clone())),
                Some(false) => drop(parts.unchanged.insert(part.name.clone())),
                None => {}
            }
        }
        parts
    }

    /// Returns true if the part of a case, by its id without variant, must be sent to the tool again.
    pub fn is_stale(&self, id: &str) -> bool {
        self.stale.contains(&answered_part(id))
    }

    /// Returns true if the answers about the part of a case, by its id without variant, are kept.
    pub fn is_unchanged(&self, id: &str) -> bool {
        self.unchanged.contains(&answered_part(id))
    }
}

/// The earlier measurement of a version of a tool.
#[derive(Debug)]
pub struct EarlierAnswers {
    entries: MeasuredEntries,
    digests: Option<MeasuredDigests>,
}

impl EarlierAnswers {
    /// Reads the measurement and its digests.
    pub fn read(path: &str, text: &str, digests: Option<&str>) -> Result<EarlierAnswers, ExpectationError> {
        let entries = MeasuredEntries::read(path, text)?;
        Ok(EarlierAnswers { entries, digests: digests.map(MeasuredDigests::parse) })
    }

    /// Returns the content of the file other than most entries.
    pub fn file(&self) -> &Expectations {
        self.entries.rest().expectations()
    }

    /// Returns the parts of today's suite, by the ids of all its cases.
    pub fn parts(&self, ids: &[&str]) -> AskedParts {
        AskedParts::new(self.digests.as_ref(), self.file().shard, &ListedCases::new(ids.iter().copied()))
    }

    /// Returns true if the measurement has answers in a variant. A question may be newer than the measurement.
    pub fn has_answers(&self, variant: Variant) -> bool {
        let names = [variant.name().to_owned(), refusals_name(variant)];
        self.file().answers.iter().flatten().any(|(name, _)| names.contains(name))
    }

    /// Returns the numbers of answers about unchanged parts.
    pub fn kept_answers(&self, parts: &AskedParts) -> KeptAnswers {
        let answers = |part: &String| self.file().operators.as_ref()?.get(part).cloned();
        KeptAnswers {
            parts: parts.unchanged.iter().map(|part| (part.clone(), answers(part).unwrap_or_default())).collect(),
            variants: Variant::ALL.into_iter().filter(|variant| self.has_answers(*variant)).collect(),
        }
    }

    /// Returns a result for each of these cases, by the entries: a case without an entry passes. That holds only for
    /// the entries, since not every case was sent to the tool.
    pub fn kept_results<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
        variant: Variant,
    ) -> Result<Vec<CaseResult>, ExpectationError> {
        let result = |id: &str| -> Result<CaseResult, ExpectationError> {
            let id = variant.id(id);
            let entry = self.entries.about(&id).map_err(|_| ExpectationError::Header {
                path: self.file().path().to_owned(),
                fault: HeaderFault::Measurement("has entries that cannot be read"),
            })?;
            let outcome = entry.map_or(Outcome::Pass, Entry::outcome);
            let ulps = entry.and_then(|entry| entry.ulp);
            Ok(CaseResult { ulps, ..CaseResult::without_details(&id, outcome, Level::Required, None) })
        };
        ids.into_iter().map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_subject::Declaration;

    use super::*;
    use crate::expectations::{WholeRun, tool_measurement};
    use crate::questions::Metadata;
    use crate::run::test_results::result;
    use crate::run::{Header, Selected};

    const IDS: [&str; 5] = [
        "ai.onnx/Abs-13/ranks/X=2x3x4/T=int8",
        "ai.onnx/Abs-13/ranks/X=2x3x4/T=float",
        "ai.onnx/Neg-13/ranks/X=2x3x4/T=float",
        "graph/slices/x/good",
        "hostile/sizes/x",
    ];

    fn parts(of: &AskedParts) -> [Vec<&str>; 2] {
        [&of.unchanged, &of.stale].map(|parts| parts.iter().map(String::as_str).collect())
    }

    fn ids() -> BTreeSet<&'static str> {
        IDS.into_iter().collect()
    }

    #[test]
    fn a_part_is_stale_if_a_case_of_it_has_changed() {
        let digests = MeasuredDigests::for_tool(&ids(), false);
        let listed = ListedCases::new(IDS.into_iter());
        let divided = |digests: &MeasuredDigests| AskedParts::new(Some(digests), None, &listed);
        let all = vec!["ai.onnx/Abs-13", "ai.onnx/Neg-13", "graph/slices/x"];
        assert_eq!(parts(&divided(&digests)), [all.clone(), vec![]]);
        assert_eq!(parts(&AskedParts::new(None, None, &listed)), [vec![], all.clone()]);
        let text = digests.to_text();
        let changed = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).unwrap();
            MeasuredDigests::parse(&text.replace(line, &format!("{start}0123456789abcdef")))
        };
        let neg = divided(&changed("ai.onnx/Neg-13 "));
        assert_eq!(parts(&neg), [vec!["ai.onnx/Abs-13", "graph/slices/x"], vec!["ai.onnx/Neg-13"]]);
        let slices = divided(&changed("graph/slices "));
        assert_eq!(parts(&slices), [vec!["ai.onnx/Abs-13", "ai.onnx/Neg-13"], vec!["graph/slices/x"]]);
        assert_eq!(parts(&divided(&changed("opsets "))), [vec![], all], "a converter has another target");
    }

    #[test]
    fn a_part_is_stale_if_a_case_of_it_has_come_into_the_measured_share() {
        let (half, ids): (Shard, _) = ("1/2".parse().unwrap(), &IDS[..4]);
        let asked = half.part_of(ids.iter().copied());
        let digests = MeasuredDigests::for_tool(&asked.iter().copied().collect(), true);
        let digests = MeasuredDigests::parse(&digests.to_text());
        let divided =
            |ids: &[&str]| AskedParts::new(Some(&digests), Some(half), &ListedCases::new(ids.iter().copied()));
        let before = divided(ids);
        assert!(before.stale.is_empty() && !before.unchanged.is_empty(), "{before:?}");
        // Half of fewer cases ends earlier, and no longer has the last case.
        let last = *asked.last().unwrap();
        let after = divided(&asked);
        assert!(after.stale.contains(&answered_part(last)), "{last}: {after:?}");
    }

    fn header() -> Header {
        Header::new(Declaration::named("a", "1"), "0123456789abcdef".to_owned(), Selected::default())
    }

    #[test]
    fn kept_answers_and_new_ones_are_those_of_a_whole_measurement() {
        let (kept, new) = (&IDS[..2], &IDS[2..4]);
        let outcomes = [Outcome::Pass, Outcome::Error, Outcome::InvalidModel, Outcome::Pass];
        let results = |ids: &[&str], outcomes: &[Outcome]| -> Vec<CaseResult> {
            let of_case = |(id, outcome): (&&str, &Outcome)| {
                let dropped = (*outcome == Outcome::Pass).then(|| BTreeSet::from([Metadata::Model]));
                CaseResult { dropped, ..result(&Variant::Optimize.id(id), *outcome) }
            };
            ids.iter().zip(outcomes).map(of_case).collect()
        };
        let run = |results| WholeRun::new(results, Variant::Runtime);
        let whole = tool_measurement(&header(), &run(results(&IDS, &outcomes)), &KeptAnswers::default());
        // The earlier measurement has another answer about what has changed.
        let old = [Outcome::Pass, Outcome::Error, Outcome::Pass, Outcome::Crash];
        let before = tool_measurement(&header(), &run(results(&IDS, &old)), &KeptAnswers::default());
        let text = MeasuredDigests::for_tool(&ids(), false).to_text();
        let text = text.replace("ai.onnx/Neg-13 ", "ai.onnx/Neg-13 0").replace("graph/slices ", "graph/slices 0");
        let before = EarlierAnswers::read("a.yaml", &before.to_yaml(), Some(&text)).unwrap();
        let divided = before.parts(&IDS);
        assert_eq!(parts(&divided), [vec!["ai.onnx/Abs-13"], vec!["ai.onnx/Neg-13", "graph/slices/x"]]);
        let mut all = before.kept_results(kept.iter().copied(), Variant::Optimize).unwrap();
        all.extend(results(new, &outcomes[2..]));
        let joined = tool_measurement(&header(), &run(all), &before.kept_answers(&divided));
        assert_eq!(joined.to_yaml(), whole.to_yaml());
        assert_eq!(joined.answers.unwrap()["optimize"][&Outcome::Pass], 2);
        assert_eq!(joined.metadata.unwrap().to_string(), "{asked: 2, model: 2}");
    }

    #[test]
    fn a_new_question_is_joined_with_the_answers_to_the_others() {
        let results = |variant: Variant, outcomes: [Outcome; 4]| -> Vec<CaseResult> {
            IDS.iter().zip(outcomes).map(|(id, outcome)| result(&variant.id(id), outcome)).collect()
        };
        let old = results(Variant::Optimize, [Outcome::Pass, Outcome::Error, Outcome::InvalidModel, Outcome::Pass]);
        let new = results(Variant::Infer, [Outcome::Pass, Outcome::WrongType, Outcome::Pass, Outcome::Error]);
        let measured = |results: Vec<CaseResult>, kept: &KeptAnswers| {
            tool_measurement(&header(), &WholeRun::new(results, Variant::Runtime), kept)
        };
        let before = measured(old.clone(), &KeptAnswers::default());
        let digests = MeasuredDigests::for_tool(&ids(), false).to_text();
        let before = EarlierAnswers::read("a.yaml", &before.to_yaml(), Some(&digests)).unwrap();
        assert_eq!([Variant::Optimize, Variant::Infer].map(|variant| before.has_answers(variant)), [true, false]);
        let divided = before.parts(&IDS);
        assert_eq!(divided.stale, BTreeSet::new());
        let mut all = before.kept_results(IDS[..4].iter().copied(), Variant::Optimize).unwrap();
        all.extend(new.clone());
        let joined = measured(all, &before.kept_answers(&divided));
        assert_eq!(joined.to_yaml(), measured([old, new].concat(), &KeptAnswers::default()).to_yaml());
        let answers = joined.answers.unwrap();
        assert_eq!((answers["optimize"][&Outcome::Pass], answers["infer"][&Outcome::WrongType]), (2, 1));
    }
}
