//! Answer of a measurement about a kind of node: the outcomes of the similar cases.

use std::collections::BTreeSet;
use std::fmt;

use onnx_conformance_cases::case::Level;
use serde::Serialize;

use crate::measure::measurement::{Measured, Measurement};
use crate::measure::node_kind::NodeKind;
use crate::measure::severity::Severity;
use crate::measure::similar::{EndedCase, has_word, is_about_other_settings, is_explained, passes, works};

/// Verdict on a node for a runtime, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeVerdict {
    /// Every similar required case passes.
    Runs,
    /// Like `Runs`, except that cases about special values end differently.
    RunsButForSpecialValues,
    /// Like `Runs`, except that outputs of similar cases are inexact.
    Inexact,
    /// No case has all its settings, but each setting passes in some case.
    LikelyRuns,
    /// No case is similar, or none was measured.
    Unknown,
    /// Similar cases give a wrong answer on some processors, and pass on others.
    WrongOnSomeProcessors,
    /// Some similar cases are declined, others pass.
    PartlyNotHere,
    /// Some similar cases fail to load or to run, others pass.
    PartlyFails,
    /// Every similar case is declined.
    NotHere,
    /// No similar case passes, and some fail to load or to run.
    Fails,
    /// A similar required case gives a wrong answer.
    Wrong,
    /// A similar required case crashes the runtime or never ends.
    Crashes,
}

impl fmt::Display for NodeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            NodeVerdict::Runs => "runs",
            NodeVerdict::RunsButForSpecialValues => "runs, special values differ",
            NodeVerdict::Inexact => "runs, inexact",
            NodeVerdict::LikelyRuns => "likely runs",
            NodeVerdict::Unknown => "no similar case",
            NodeVerdict::WrongOnSomeProcessors => "wrong on some processors",
            NodeVerdict::PartlyNotHere => "partly not supported",
            NodeVerdict::PartlyFails => "partly fails when run",
            NodeVerdict::NotHere => "not supported",
            NodeVerdict::Fails => "fails when run",
            NodeVerdict::Wrong => "wrong",
            NodeVerdict::Crashes => "crashes",
        })
    }
}

/// Answer of a measurement about a kind of node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeAnswer {
    /// The verdict.
    pub verdict: NodeVerdict,
    /// Number of similar cases that were measured: required ones, or, if there are none, recommended ones that all pass.
    pub cases: usize,
    /// Number of these cases whose outcome is the verdict's.
    pub of_these: usize,
    /// The first of these cases. For `Unknown`, a recommended case that fails with a setting of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Largest distance of the inexact outputs of these cases from the expected ones, in representable values (ULP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ulp: Option<u64>,
    /// True if no case has the ranks of the node's inputs. Cases of other ranks, with any index type, are then used instead.
    pub other_ranks: bool,
    /// Reason for the runtime's behaviour, if the measurement has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if no case covers the node, so that it was tried on the runtime itself.
    #[serde(rename = "probed", skip_serializing_if = "std::ops::Not::not")]
    pub is_probed: bool,
}

impl NodeAnswer {
    /// Returns the answer if nothing was measured.
    pub const fn unknown() -> NodeAnswer {
        NodeAnswer {
            verdict: NodeVerdict::Unknown,
            cases: 0,
            of_these: 0,
            case: None,
            ulp: None,
            other_ranks: false,
            reason: None,
            is_probed: false,
        }
    }
}

impl Measurement {
    /// Returns the answer about a kind of node.
    pub fn answer(&self, kind: &NodeKind) -> NodeAnswer {
        let answer = self.by_cases(kind);
        let is_mixed = answer.verdict > NodeVerdict::Unknown && answer.of_these < answer.cases;
        match kind.unknown_type().filter(|_| is_mixed) {
            // The type decides which of the cases are similar.
            Some(parameter) => {
                let NodeAnswer { verdict, of_these, cases, .. } = &answer;
                let reason =
                    format!("its type {parameter} is unknown; {verdict} in {of_these} of {cases} cases of all types");
                NodeAnswer { reason: Some(reason), case: answer.case, ..NodeAnswer::unknown() }
            }
            None => answer,
        }
    }

    /// Returns the answer from the cases with the node's types, as far as these are known.
    fn by_cases(&self, kind: &NodeKind) -> NodeAnswer {
        let required = self.candidates(kind, Level::Required);
        if let Some(answer) = self.by_similar(&required, kind) {
            return answer;
        }
        // Recommended cases are not binding: only a pass is conclusive, and a failure is not a wrong answer.
        let recommended = self.candidates(kind, Level::Recommended);
        let similar = kind.similar(&recommended);
        if !similar.cases.is_empty() && similar.cases.iter().all(works) {
            return self.summed(&similar.cases, similar.other_ranks);
        }
        let answer = self.by_settings(&required, &recommended, kind);
        // A failing case is evidence, although it is not binding.
        if answer.verdict != NodeVerdict::Unknown || answer.case.is_some() {
            return answer;
        }
        // Kernels differ by the type of the data that they move, not by the type of indices.
        let others = [self.by_settings(&required, &recommended, &kind.with_any_positions()), self.by_other_types(kind)];
        others.into_iter().find(|other| other.verdict == NodeVerdict::LikelyRuns).unwrap_or(answer)
    }

    /// Returns the answer from the cases with a kind's types, setting by setting.
    fn by_settings(&self, required: &[EndedCase], recommended: &[EndedCase], kind: &NodeKind) -> NodeAnswer {
        let has_types = |(case, _): &EndedCase| kind.has_types_of(case);
        let (passing, failing): (Vec<_>, Vec<_>) = recommended.iter().copied().filter(has_types).partition(works);
        let ended: Vec<EndedCase> = required.iter().copied().filter(has_types).chain(passing).collect();
        if ended.is_empty() && failing.is_empty() {
            return NodeAnswer::unknown();
        }
        self.by_parts(&ended, &failing, kind)
    }

    /// Returns the answer from the cases with all settings of the node; `None` if there is no such case.
    fn by_similar(&self, candidates: &[EndedCase], kind: &NodeKind) -> Option<NodeAnswer> {
        let similar = kind.similar(candidates);
        if similar.cases.is_empty() {
            return None;
        }
        let answer = self.summed(&similar.cases, similar.other_ranks);
        if answer.verdict > NodeVerdict::LikelyRuns {
            return Some(answer);
        }
        // If only failing cases have a trait of the node, the node may fail, too.
        let is_covered = |word: &&str| similar.cases.iter().any(|(case, _)| has_word(case, word));
        let counts = |word: &&str| !word.starts_with("rank(") && !word.ends_with("=unknown");
        let uncovered: Vec<&str> = kind.settings.traits().filter(counts).filter(|word| !is_covered(word)).collect();
        for word in &uncovered {
            let of_word: Vec<EndedCase> = candidates
                .iter()
                .copied()
                .filter(|(case, _)| has_word(case, word) && !case.facts.is_edge && kind.has_types_of(case))
                .collect();
            let failing = self.summed(&of_word, false);
            if failing.verdict > NodeVerdict::Unknown && !of_word.iter().any(works) {
                let verdict = match failing.verdict {
                    NodeVerdict::NotHere => NodeVerdict::PartlyNotHere,
                    NodeVerdict::Fails => NodeVerdict::PartlyFails,
                    verdict => verdict,
                };
                let reason = failing.reason.clone().map(|reason| format!(": {reason}")).unwrap_or_default();
                return Some(NodeAnswer { verdict, reason: Some(format!("these have {word}{reason}")), ..failing });
            }
        }
        let reason = similar.excluded(kind);
        let verdict = if uncovered.is_empty() { answer.verdict } else { NodeVerdict::LikelyRuns };
        Some(NodeAnswer { verdict, reason: answer.reason.clone().or(reason), ..answer })
    }

    /// Returns the answer for a node when no case has all its settings. Each setting is looked up by itself, in
    /// required cases and passing recommended ones. The rarest setting characterizes the node, so a failure of a case
    /// with it outweighs the passes. A failure does not count if it is explained by a setting or trait that the node
    /// lacks.
    fn by_parts(&self, ended: &[EndedCase], recommended_failures: &[EndedCase], kind: &NodeKind) -> NodeAnswer {
        let settings = kind.settings.without_rank();
        let all: Vec<EndedCase> =
            ended.iter().copied().filter(|case| works(case) || !is_explained(case, kind, ended)).collect();
        let (mut likely, mut passing) = (self.summed(&[], false), BTreeSet::new());
        let mut rarest: Option<(&str, Vec<EndedCase>)> = None;
        for word in settings.words() {
            let of_word: Vec<EndedCase> = all.iter().copied().filter(|(case, _)| has_word(case, word)).collect();
            if of_word.is_empty() {
                return self.without_evidence(ended, kind, word);
            }
            let passes: Vec<&str> =
                of_word.iter().filter(|case| works(case)).map(|(case, _)| case.id.as_str()).collect();
            if passes.is_empty() {
                let answer = self.summed(&of_word, false);
                let reason = answer.reason.clone().map(|reason| format!(": {reason}")).unwrap_or_default();
                return NodeAnswer { reason: Some(format!("every case with {word}{reason}")), ..answer };
            }
            likely.case = likely.case.or_else(|| passes.first().map(|id| (*id).to_owned()));
            passing.extend(passes);
            if rarest.as_ref().is_none_or(|(_, fewest)| of_word.len() < fewest.len()) {
                rarest = Some((word, of_word));
            }
        }
        if let Some((word, of_word)) = rarest {
            let answer = self.summed(&of_word, false);
            if answer.verdict > NodeVerdict::Unknown {
                let reason = answer.reason.clone().map(|reason| format!(": {reason}")).unwrap_or_default();
                return NodeAnswer {
                    reason: Some(format!("no case has all its settings, these have {word}{reason}")),
                    ..answer
                };
            }
            let fails = |(case, _): &&EndedCase| {
                !case.facts.is_edge && has_word(case, word) && !is_about_other_settings(case, kind, ended)
            };
            if let Some((case, measured)) = recommended_failures.iter().find(fails) {
                let reason = format!("a recommended case with {word} ends as {measured}");
                return NodeAnswer { case: Some(case.id.clone()), reason: Some(reason), ..NodeAnswer::unknown() };
            }
        }
        if settings.words().next().is_none() {
            // Without settings, the cases differ from the node only in traits.
            let passing: Vec<EndedCase> = all.iter().copied().filter(works).collect();
            let answer = self.summed(&passing, true);
            return if passing.is_empty() { self.summed(&all, true) } else { likely_runs(answer) };
        }
        if passing.is_empty() {
            return likely;
        }
        let used: Vec<EndedCase> = all.into_iter().filter(|(case, _)| passing.contains(case.id.as_str())).collect();
        let plain = used.iter().filter(|(case, _)| !case.facts.is_edge);
        NodeAnswer { cases: used.len(), of_these: used.len(), ulp: largest_distance(plain), ..likely_runs(likely) }
    }

    /// Returns the answer for a node with a setting that no case has, or only failing cases with other differences from
    /// the node.
    fn without_evidence(&self, ended: &[EndedCase], kind: &NodeKind, word: &str) -> NodeAnswer {
        let of_word = ended.iter().find(|(case, _)| has_word(case, word));
        let reason = match of_word {
            None => format!("no required case and no passing recommended one has {word}"),
            Some((case, measured)) => {
                let other = case.facts.settings.traits_beyond(&kind.settings, true).next();
                let other = other.map(|other| format!(", but has {other}")).unwrap_or_default();
                format!("a case with {word} ends as {measured}{other}")
            }
        };
        NodeAnswer { reason: Some(reason), ..self.summed(&[], false) }
    }

    /// Returns the answer for a node if no case with its settings has its types: it likely runs if all cases pass that
    /// differ only in an integer or float type, for at least two other types.
    fn by_other_types(&self, kind: &NodeKind) -> NodeAnswer {
        for (parameter, of_node) in &kind.types {
            let mut any = kind.clone();
            any.types.remove(parameter);
            let neighbours: Vec<EndedCase> = self
                .candidates(&any, Level::Required)
                .into_iter()
                .filter(|(case, _)| !case.facts.is_edge)
                .filter(|(case, _)| case.type_of(parameter).is_some_and(|other| is_neighbour(of_node, other)))
                .collect();
            let types: BTreeSet<&str> = neighbours.iter().filter_map(|(case, _)| case.type_of(parameter)).collect();
            let similar = any.similar(&neighbours);
            if types.len() >= 2 && !similar.cases.is_empty() && neighbours.iter().all(passes) {
                let reason = format!(
                    "no case with these settings has {parameter}={of_node}; all with {} pass",
                    types.into_iter().collect::<Vec<_>>().join(", ")
                );
                let answer = self.summed(&similar.cases, similar.other_ranks);
                return NodeAnswer { verdict: NodeVerdict::LikelyRuns, reason: Some(reason), ..answer };
            }
        }
        NodeAnswer::unknown()
    }

    fn summed(&self, ended: &[EndedCase], other_ranks: bool) -> NodeAnswer {
        // Special values are an exception only if other cases have results.
        let some_work = ended.iter().any(works);
        let plain_work = ended.iter().any(|ended| works(ended) && !ended.0.facts.is_edge);
        let for_case = |(case, measured): &EndedCase| match verdict_for(*measured) {
            NodeVerdict::Inexact if case.facts.is_edge && plain_work => NodeVerdict::RunsButForSpecialValues,
            verdict if verdict > NodeVerdict::Unknown && case.facts.is_edge && some_work => {
                NodeVerdict::RunsButForSpecialValues
            }
            NodeVerdict::Wrong if self.processors_of_failure(&case.id).is_some() => NodeVerdict::WrongOnSomeProcessors,
            verdict => verdict,
        };
        let verdicts: Vec<NodeVerdict> = ended.iter().map(for_case).collect();
        let worst = verdicts.iter().copied().max().unwrap_or(NodeVerdict::Unknown);
        let at_worst = || ended.iter().zip(&verdicts).filter(|(_, verdict)| **verdict == worst).map(|(ended, _)| ended);
        let case = at_worst().next().map(|(case, _)| case.id.clone());
        let verdict = match worst {
            NodeVerdict::NotHere if plain_work => NodeVerdict::PartlyNotHere,
            NodeVerdict::Fails if plain_work => NodeVerdict::PartlyFails,
            worst => worst,
        };
        let reason = case.as_ref().filter(|_| worst > NodeVerdict::Runs).and_then(|id| {
            let processors = self.processors_of_failure(id).map(|processors| format!("processors {processors}"));
            self.entry(id)?.reason.clone().or(processors)
        });
        NodeAnswer {
            verdict,
            cases: ended.len(),
            of_these: at_worst().count(),
            case,
            ulp: largest_distance(at_worst()).filter(|_| worst == NodeVerdict::Inexact),
            other_ranks: other_ranks && !ended.is_empty(),
            reason,
            is_probed: false,
        }
    }
}

/// Returns the answer as a likely run.
fn likely_runs(answer: NodeAnswer) -> NodeAnswer {
    NodeAnswer { verdict: NodeVerdict::LikelyRuns, ..answer }
}

/// Returns true if both types are integers of more than 4 bits, or both floats of 16 bits or more, in the spelling of ids.
fn is_neighbour(one: &str, other: &str) -> bool {
    let integers = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];
    let floats = ["float16", "bfloat16", "float", "double"];
    [&integers[..], &floats[..]].iter().any(|family| family.contains(&one) && family.contains(&other))
}

/// Returns the largest distance of the inexact cases.
fn largest_distance<'a>(ended: impl Iterator<Item = &'a EndedCase>) -> Option<u64> {
    let distance = |(_, measured): &EndedCase| match measured {
        Measured::Inexact(ulps) => Some(*ulps),
        _ => None,
    };
    ended.filter_map(distance).max()
}

/// Returns the verdict for a single case.
fn verdict_for(measured: Measured) -> NodeVerdict {
    match Severity::from_measured(measured, false) {
        None => NodeVerdict::Unknown,
        Some(Severity::Right) => NodeVerdict::Runs,
        Some(Severity::Inexact) => NodeVerdict::Inexact,
        Some(Severity::Declined) => NodeVerdict::NotHere,
        Some(Severity::RefusesValid) => NodeVerdict::Fails,
        Some(Severity::TakesInvalid | Severity::WrongSpecial | Severity::Wrong) => NodeVerdict::Wrong,
        Some(Severity::Crash) => NodeVerdict::Crashes,
    }
}

#[cfg(test)]
mod tests {
    use onnx_conformance_cases::suite::{RecordedCase, recorded_cases};
    use onnx_conformance_check::Limits;
    use onnx_conformance_check::infer::infer;
    use onnx_conformance_reference::model::text::parse_model;
    use onnx_conformance_reference::spec::{DEFAULT_DOMAIN, Specs};

    use super::*;

    /// Returns the kind of the only node of a model.
    fn kind_of(model: &str) -> NodeKind {
        let model = parse_model(model).unwrap();
        let inferred = infer(&model, &Limits::default());
        let facts = inferred.node_facts(inferred.nodes().next().unwrap()).unwrap();
        NodeKind::from_facts(&facts).unwrap()
    }

    /// Returns the answer for a kind of node, from a measurement with these entries.
    fn answer_for(kind: &NodeKind, entries: &str) -> NodeAnswer {
        let text = format!("runtime: a\nversion: 1.2\nexact: true\nstrict: true\nexpect:\n{entries}");
        Measurement::read("a.yaml", &text, None).unwrap().unwrap().answer(kind)
    }

    /// Returns the answer for the only node of a model, from a measurement with these entries.
    fn answer(model: &str, entries: &str) -> NodeAnswer {
        answer_for(&kind_of(model), entries)
    }

    fn softmax(axis: &str, rank: &str) -> String {
        format!(
            "<ir_version: 7, opset_import: [\"\": 13]> g (float[{rank}] x) => (float[{rank}] y) {{ y = Softmax {axis} (x) }}"
        )
    }

    #[test]
    fn cases_like_a_node_decide() {
        let plain = softmax("", "2, 3");
        let good = answer(&plain, "  []\n");
        assert_eq!((good.verdict, good.other_ranks), (NodeVerdict::Runs, false), "{good:?}");
        assert!(good.cases > 2 && good.of_these == good.cases && good.case.is_some(), "{good:?}");
        let all = "  - {cases: 'ai.onnx/Softmax-13/**/T=float', outcome: unsupported}\n";
        assert_eq!(answer(&plain, all).verdict, NodeVerdict::NotHere);
        let other_type = "  - {cases: 'ai.onnx/Softmax-13/**/T=double', outcome: crash}\n";
        assert_eq!(answer(&plain, other_type).verdict, NodeVerdict::Runs);
        let one = format!("  - {{cases: {}, outcome: mismatch, reason: so it is}}\n", good.case.unwrap());
        let wrong = answer(&plain, &one);
        assert_eq!((wrong.verdict, wrong.of_these, wrong.reason.as_deref()), (NodeVerdict::Wrong, 1, Some("so it is")));
        assert_eq!(answer(&plain, &one.replace("mismatch", "error")).verdict, NodeVerdict::PartlyFails);
        let small =
            "  - {cases: 'ai.onnx/Softmax-13/{matrix,rows,small_share,next_to_zero}/T=float', outcome: unsupported}\n";
        assert_eq!(answer(&plain, small).verdict, NodeVerdict::PartlyNotHere);
        assert_eq!(answer(&plain, &all.replace("unsupported", "error")).verdict, NodeVerdict::Fails);
        assert_eq!(answer(&plain, &one.replace("mismatch", "timeout")).verdict, NodeVerdict::Crashes);
    }

    #[test]
    fn inexact_cases_are_neither_right_nor_wrong() {
        let plain = softmax("", "2, 3");
        let good = answer(&plain, "  []\n");
        let one = format!("  - {{cases: {}, outcome: mismatch, ulp: 3}}\n", good.case.unwrap());
        let inexact = answer(&plain, &one);
        assert_eq!((inexact.verdict, inexact.of_these, inexact.ulp), (NodeVerdict::Inexact, 1, Some(3)), "{inexact:?}");
        let all = "  - {cases: 'ai.onnx/Softmax-13/**/T=float', outcome: mismatch, ulp: 2}\n";
        let inexact = answer(&plain, all);
        assert_eq!((inexact.verdict, inexact.of_these, inexact.ulp), (NodeVerdict::Inexact, good.cases, Some(2)));
        // Worse cases decide. One with special values is an exception only if others have results, as inexact ones do.
        let worse = |outcome: &str| answer(&plain, &(one.clone() + &all.replace("mismatch, ulp: 2", outcome))).verdict;
        assert_eq!(worse("mismatch"), NodeVerdict::Wrong);
        assert_eq!(worse("unsupported"), NodeVerdict::PartlyNotHere);
        assert_eq!(worse("crash"), NodeVerdict::Crashes);
        // An inexact case with special values is an exception, too.
        let root = "<ir_version: 7, opset_import: [\"\": 13]> g (float[3] x) => (float[3] y) { y = Sqrt (x) }";
        let edge = "  - {cases: 'ai.onnx/Sqrt-13/nan_and_infinities/T=float', outcome: mismatch, ulp: 1}\n";
        let special = answer(root, edge);
        assert_eq!((special.verdict, special.ulp), (NodeVerdict::RunsButForSpecialValues, None), "{special:?}");
        // Inexact results count as results: they cover a setting.
        let resize = "<ir_version: 10, opset_import: [\"\": 19]> g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4, 4] y) \
                      { y = Resize <mode = \"cubic\", cubic_coeff_a = -0.25, extrapolation_value = 3.0> (x, , s) }";
        let likely = answer(resize, "  - {cases: 'ai.onnx/Resize-19/**/T1=float*', outcome: mismatch, ulp: 5}\n");
        assert_eq!((likely.verdict, likely.ulp), (NodeVerdict::LikelyRuns, Some(5)), "{likely:?}");
    }

    #[test]
    fn a_case_above_the_opset_of_the_model_does_not_count() {
        let abs = |opset: u32| {
            format!(
                "<ir_version: 14, opset_import: [\"\": {opset}]> g (float[2, 3, 4] x) => (float[2, 3, 4] y) {{ y = Abs (x) }}"
            )
        };
        let newest = Specs::embedded().newest_opset(DEFAULT_DOMAIN).unwrap();
        let last = "  - {cases: 'ai.onnx/Abs-13/ranks/*/*@opset=last', outcome: mismatch}\n";
        assert_eq!(answer(&abs(21), last).verdict, NodeVerdict::Runs);
        assert_eq!(answer(&abs(newest), last).verdict, NodeVerdict::Wrong);
    }

    #[test]
    fn a_node_without_a_similar_case_is_answered_by_its_settings() {
        let relu = "<ir_version: 8, opset_import: [\"\": 14]> g (float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y) { y = Relu (x) }";
        let found = answer(relu, "  []\n");
        assert!(found.verdict == NodeVerdict::Runs && found.cases > 2, "{found:?}");
        let resize = "<ir_version: 10, opset_import: [\"\": 19]> g (float[1, 1, 2, 2] x, float[4] s) => (float[1, 1, 4, 4] y) \
                      { y = Resize <mode = \"cubic\", cubic_coeff_a = -0.25, extrapolation_value = 3.0> (x, , s) }";
        assert_eq!(answer(resize, "  []\n").verdict, NodeVerdict::LikelyRuns);
        let declined = "  - {cases: 'ai.onnx/Resize-19/**/T1=float*', outcome: unsupported}\n";
        let declined = answer(resize, declined);
        assert_eq!(declined.verdict, NodeVerdict::NotHere, "{declined:?}");
        assert!(declined.reason.as_ref().is_some_and(|reason| reason.starts_with("every case with ")), "{declined:?}");
    }

    #[test]
    fn recommended_cases_answer_where_they_all_pass() {
        let linear = "<ir_version: 7, opset_import: [\"ai.onnx.ml\": 1]> g (float[2, 2] x) => (int64[2] y, float[2, 2] z) \
                      { y, z = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, 3.0, 4.0], intercepts = [0.0, 1.0], \
                      classlabels_ints = [0, 1]> (x) }";
        let all = recorded_cases(&"ai.onnx.ml/LinearClassifier-1".parse().unwrap());
        let has_labels = |case: &&RecordedCase| case.facts.settings.words().any(|word| word == "classlabels_ints");
        assert!(all.iter().filter(has_labels).all(|case| case.facts.level != Level::Required));
        let good = answer(linear, "  []\n");
        assert!(good.verdict == NodeVerdict::Runs && good.cases > 0, "{good:?}");
        let one = format!("  - {{cases: {}, outcome: mismatch}}\n", good.case.unwrap());
        let unsettled = answer(linear, &one);
        assert!(unsettled.verdict < NodeVerdict::PartlyNotHere, "no wrong answer: {unsettled:?}");
        assert_ne!(unsettled.verdict, NodeVerdict::Runs);
    }

    #[test]
    fn special_values_are_an_exception_to_cases_that_pass() {
        let nonzero = |shape: &str| {
            format!(
                "<ir_version: 7, opset_import: [\"\": 13]> g (float{shape} x) => (int64[a, b] y) {{ y = NonZero (x) }}"
            )
        };
        let edges = |outcome: &str| {
            format!(
                "  - {{cases: 'ai.onnx/NonZero-13/scalar/**', outcome: {outcome}}}\n  - {{cases: \
                 'ai.onnx/NonZero-13/nan_and_infinities/**', outcome: {outcome}}}\n"
            )
        };
        for outcome in ["mismatch", "error", "crash"] {
            let vector = answer(&nonzero("[3]"), &edges(outcome));
            assert_eq!(vector.verdict, NodeVerdict::RunsButForSpecialValues, "{vector:?}");
            let scalar = answer(&nonzero(""), &edges(outcome));
            assert!(scalar.verdict > NodeVerdict::Unknown && scalar.of_these == scalar.cases, "{scalar:?}");
        }
        assert_eq!(answer(&nonzero(""), "  []\n").verdict, NodeVerdict::Runs);
    }

    #[test]
    fn a_failure_beside_the_rarest_setting_decides() {
        let lstm = "<ir_version: 8, opset_import: [\"\": 14]> g (float[3, 2, 2] x, float[2, 12, 2] w, float[2, 12, 3] r) => \
                    (float[3, 2, 2, 3] y) { y = LSTM <direction = \"bidirectional\", hidden_size = 3, clip = 0.5> (x, w, r) }";
        assert_eq!(answer(lstm, "  []\n").verdict, NodeVerdict::LikelyRuns);
        let one = |case: &str| format!("  - {{cases: 'ai.onnx/LSTM-14/{case}/T=float', outcome: mismatch}}\n");
        let wrong = answer(lstm, &one("clip_of_gates"));
        assert_eq!((wrong.verdict, wrong.of_these), (NodeVerdict::Wrong, 1), "{wrong:?}");
        assert!(wrong.reason.is_some_and(|reason| reason.ends_with("these have clip")));
        let unsettled = answer(lstm, &one("clip"));
        assert_eq!(unsettled.verdict, NodeVerdict::Unknown, "{unsettled:?}");
        assert!(unsettled.case.is_some_and(|case| case.contains("/clip/")));
        let of_other_types = one("clip_of_gates").replace("T=float", "T=double");
        assert_eq!(answer(lstm, &of_other_types).verdict, NodeVerdict::LikelyRuns);
    }

    #[test]
    fn types_of_positions_are_neighbours() {
        let gather = "<ir_version: 8, opset_import: [\"\": 13]> g (string[3, 2] x, int64[2] i) => (string[2, 2] y) \
                      { y = Gather <axis = 0> (x, i) }";
        let other = |element: &str| {
            format!(
                "  - {{cases: 'ai.onnx/Gather-13/every_axis/indices=2x2,axis=0/T={element},Tind=*', outcome: mismatch}}\n"
            )
        };
        assert_eq!(answer(gather, &other("string")).verdict, NodeVerdict::Wrong);
        assert_eq!(answer(gather, &other("float")).verdict, NodeVerdict::Runs);
    }

    #[test]
    fn a_recommended_case_about_another_setting_does_not_count() {
        let lstm = "<ir_version: 8, opset_import: [\"\": 14]> g (float[3, 2, 2] x, float[1, 12, 2] w, float[1, 12, 3] r, \
                    float[1, 24] b, float[1, 2, 3] h, float[1, 2, 3] c) => (float[3, 1, 2, 3] y) \
                    { y = LSTM <hidden_size = 3> (x, w, r, b, , h, c) }";
        let clipped = answer(lstm, "  - {cases: 'ai.onnx/LSTM-14/clip/T=float', outcome: mismatch}\n");
        assert_eq!(clipped.verdict, NodeVerdict::Runs, "{clipped:?}");
    }

    #[test]
    fn cases_of_all_types_say_nothing_about_an_unknown_one_unless_they_agree() {
        let mut kind = kind_of(
            "<ir_version: 8, opset_import: [\"\": 14]> g (float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y) { y = Relu (x) }",
        );
        kind.types.clear();
        let of_type = answer_for(&kind, "  - {cases: 'ai.onnx/Relu-14/**/T=bfloat16', outcome: unsupported}\n");
        assert_eq!(of_type.verdict, NodeVerdict::Unknown, "{of_type:?}");
        assert!(
            of_type.reason.is_some_and(|reason| reason.starts_with("its type T is unknown; partly not supported in "))
        );
        assert_eq!(answer_for(&kind, "  []\n").verdict, NodeVerdict::Runs);
        let all = answer_for(&kind, "  - {cases: 'ai.onnx/Relu-14/**', outcome: unsupported}\n");
        assert_eq!(all.verdict, NodeVerdict::NotHere, "{all:?}");
    }

    #[test]
    fn a_declined_large_case_does_not_count_beside_small_ones_that_pass() {
        let pool = "<ir_version: 7, opset_import: [\"\": 13]> g (float[1, 2, 9] x) => (float[1, 2, 1] y) \
                    { y = GlobalMaxPool (x) }";
        let large =
            |outcome: &str| format!("  - {{cases: 'ai.onnx/GlobalMaxPool-1/large/**/T=float', outcome: {outcome}}}\n");
        assert_eq!(answer(pool, &large("unsupported")).verdict, NodeVerdict::Runs);
        assert_eq!(answer(pool, &large("mismatch")).verdict, NodeVerdict::Wrong);
    }

    #[test]
    fn a_setting_that_only_other_index_types_have_is_covered() {
        let gather = "<ir_version: 8, opset_import: [\"\": 13]> g (int64[3, 2] x, int64 i) => (int64[3] y) \
                      { y = Gather <axis = 1> (x, i) }";
        let found = answer(gather, "  []\n");
        assert_eq!(found.verdict, NodeVerdict::LikelyRuns, "{found:?}");
    }
}
