//! Cases similar to a kind of node: cases with its operator version, types, settings and traits, at the nearest opset.

use std::collections::{BTreeMap, BTreeSet};

use onnx_conformance_cases::case::{CaseId, Level};
use onnx_conformance_cases::suite::{RecordedCase, recorded_cases};

use crate::measure::measurement::{Measured, Measurement};
use crate::measure::node_kind::NodeKind;
use crate::run::Outcome;

/// A case that the runtime was given, and how it ended.
pub(super) type EndedCase = (&'static RecordedCase, Measured);

/// Cases that have all settings of a node, and no trait that it lacks.
#[derive(Debug)]
pub(super) struct SimilarCases {
    pub(super) cases: Vec<EndedCase>,
    /// Failing cases with the same settings that have a trait that the node lacks.
    other_failures: Vec<EndedCase>,
    /// True if the cases are of other ranks.
    pub(super) other_ranks: bool,
}

impl SimilarCases {
    /// Describes the failing cases that do not count, by the trait that the node lacks.
    pub(super) fn excluded(&self, kind: &NodeKind) -> Option<String> {
        let beyond = |(case, _): &EndedCase| case.facts.settings.traits_beyond(&kind.settings, false).next();
        let traits: BTreeSet<&str> = self.other_failures.iter().filter_map(beyond).collect();
        let cases = match self.other_failures.len() {
            1 => "a failing case differs".to_owned(),
            count => format!("{count} failing cases differ"),
        };
        (!traits.is_empty()).then(|| format!("{cases}: {}", traits.into_iter().collect::<Vec<_>>().join(", ")))
    }
}

impl NodeKind {
    /// Selects the cases that have all settings of the node, and no trait that it lacks. If there are none, selects those that
    /// differ only in ranks and index types.
    pub(super) fn similar(&self, candidates: &[EndedCase]) -> SimilarCases {
        let is_exact = |case: &RecordedCase| {
            self.has_types_of(case) && case.facts.settings.equal_without_traits(&self.settings, false)
        };
        let exact = self.selected(candidates, is_exact, false);
        if !exact.cases.is_empty() {
            return exact;
        }
        // Candidates have any index types.
        let is_alike = |case: &RecordedCase| case.facts.settings.equal_without_traits(&self.settings, true);
        self.selected(candidates, is_alike, true)
    }

    fn selected(
        &self,
        candidates: &[EndedCase],
        has_settings: impl Fn(&RecordedCase) -> bool,
        other_ranks: bool,
    ) -> SimilarCases {
        let all = candidates.iter().copied().filter(|(case, _)| has_settings(case));
        let (cases, others): (Vec<_>, Vec<_>) =
            all.partition(|(case, _)| case.facts.settings.traits_beyond(&self.settings, other_ranks).next().is_none());
        let other_failures = others.into_iter().filter(|case| !works(case)).collect();
        SimilarCases {
            cases: self.nearest(cases),
            other_failures,
            other_ranks: other_ranks && self.settings.has_rank(),
        }
    }

    /// Selects the cases with all traits of the node other than ranks, if there are any.
    fn nearest(&self, cases: Vec<EndedCase>) -> Vec<EndedCase> {
        let own: Vec<&str> =
            self.settings.traits().filter(|word| !word.starts_with("rank(") && !word.ends_with("=unknown")).collect();
        let has_all = |(case, _): &EndedCase| own.iter().all(|word| has_word(case, word));
        let nearest: Vec<EndedCase> = cases.iter().copied().filter(has_all).collect();
        if nearest.is_empty() { cases } else { nearest }
    }
}

impl Measurement {
    /// Returns the measured cases of a level that have the types of the node, with any index types, and count at its opset. A case
    /// that ended without an answer counts as required.
    pub(super) fn candidates(&self, kind: &NodeKind, level: Level) -> Vec<EndedCase> {
        let any_positions = kind.with_any_positions();
        let is_about = |case: &&RecordedCase| {
            case.facts.refusal.is_none()
                && any_positions.has_types_of(case)
                && self.counts_at(kind.opset, &kind.version, case)
        };
        let ended = |case: &'static RecordedCase| {
            let measured = self.outcome(&kind.version, case);
            // A runtime that gives no answer fails, even if the standard leaves the result open.
            let is_required = measured.outcome()?.is_without_answer();
            let of_level = if is_required { Level::Required } else { case.facts.level };
            (of_level == level).then_some((case, measured))
        };
        let ended = recorded_cases(&kind.version).iter().filter(is_about).filter_map(ended).collect();
        without_large_refusals(self.at_nearest_opset(kind, ended))
    }

    /// Drops refusals that are due to an old opset. If a case is refused at one opset and passes at a later one that is
    /// not above the node's, all refusals of this kind at opsets up to the former are dropped. For example,
    /// GlobalAveragePool-1 of float16 at opset 1 fails in a runtime that inserts a Cast-6.
    fn at_nearest_opset(&self, kind: &NodeKind, cases: Vec<EndedCase>) -> Vec<EndedCase> {
        let opset =
            |case: &RecordedCase| self.opsets_when_measured(&case.facts, &kind.version, CaseId::parse(&case.id)).0;
        let mut by_path: BTreeMap<&str, Vec<(u32, Measured)>> = BTreeMap::new();
        for (case, measured) in &cases {
            // Only the suffix of the id differs between opsets.
            let path = case.id.split_once("@opset=").map_or(case.id.as_str(), |(path, _)| path);
            by_path.entry(path).or_default().push((opset(case), *measured));
        }
        let mut lifted: Vec<(u32, Measured)> = Vec::new();
        for of_case in by_path.values_mut().filter(|of_case| of_case.len() > 1) {
            of_case.sort_unstable_by_key(|(opset, _)| *opset);
            let pairs = of_case.iter().zip(of_case.iter().skip(1));
            let is_lifted = |((first, before), (last, after)): &(&(u32, Measured), &(u32, Measured))| {
                let is_refusal = matches!(before, Measured::Ended(Outcome::Unsupported | Outcome::Error));
                first < last && is_refusal && has_result(*after)
            };
            lifted.extend(pairs.filter(is_lifted).map(|(before, _)| *before));
        }
        let is_lifted = |(case, measured): &EndedCase| {
            lifted.iter().any(|(last, refusal)| refusal == measured && opset(case) <= *last)
        };
        if lifted.is_empty() { cases } else { cases.into_iter().filter(|case| !is_lifted(case)).collect() }
    }
}

/// Drops declined large cases if smaller ones have a result. A large case has the same types and settings, so the
/// runtime declines another node of its model, such as the Concat that makes a long row at opset 1.
fn without_large_refusals(cases: Vec<EndedCase>) -> Vec<EndedCase> {
    let is_large = |case: &RecordedCase| case.id.contains("/large/");
    if !cases.iter().any(|ended| works(ended) && !is_large(ended.0)) {
        return cases;
    }
    let is_declined = |(_, measured): &EndedCase| *measured == Measured::Ended(Outcome::Unsupported);
    cases.into_iter().filter(|ended| !(is_large(ended.0) && is_declined(ended))).collect()
}

/// Returns true if the case passes.
pub(super) fn passes((_, measured): &EndedCase) -> bool {
    *measured == Measured::Ended(Outcome::Pass)
}

/// Returns true if the case passes, or its outputs are only inexact.
pub(super) fn works((_, measured): &EndedCase) -> bool {
    has_result(*measured)
}

fn has_result(measured: Measured) -> bool {
    matches!(measured, Measured::Ended(Outcome::Pass) | Measured::Inexact(_))
}

/// Returns true if a case has a setting or trait.
pub(super) fn has_word(case: &RecordedCase, word: &str) -> bool {
    case.facts.settings.words().any(|other| other == word)
}

/// Returns true if the failure of a case is explained by a trait that the node lacks, or by a setting that it lacks and that no
/// passing case has. Without any passing case, nothing explains a failure. An inexact case counts as passing.
pub(super) fn is_explained((case, _): &EndedCase, kind: &NodeKind, all: &[EndedCase]) -> bool {
    let settings = case.facts.settings.without_rank();
    let mut extra = settings.words().filter(|word| !kind.settings.words().any(|own| own == *word));
    let has_no_pass = |word: &str| !all.iter().any(|other| works(other) && has_word(other.0, word));
    let has_other_trait = case.facts.settings.traits_beyond(&kind.settings, true).next().is_some();
    all.iter().any(works) && (has_other_trait || extra.any(has_no_pass))
}

/// Returns true if the rarest setting of a case, which characterizes it, is one that the node lacks.
pub(super) fn is_about_other_settings(case: &RecordedCase, kind: &NodeKind, all: &[EndedCase]) -> bool {
    let settings = case.facts.settings.without_rank();
    let count = |word: &&str| all.iter().filter(|(other, _)| has_word(other, word)).count();
    let rarest = settings.words().min_by_key(count);
    rarest.is_some_and(|word| !kind.settings.words().any(|own| own == word))
}
