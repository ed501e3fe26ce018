//! Rewrites: which graphs the optimizer of a runtime changes.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::Case;
use onnx_conformance_cases::suite::{GraphId, GraphRole};
use onnx_conformance_reference::proto::decode;
use onnx_conformance_subject::{Host, Operators};

use crate::run::{CaseResult, Outcome};

/// Names of patterns by topic.
pub type PatternNames = BTreeMap<String, Vec<String>>;

/// Asks a runtime for the operators of a graph before and after optimization, and adds the answer to the result of its
/// case. Only cases that the runtime answered are sent.
pub(super) fn add_rewrite(case: &Case, optimizer: &dyn Host, result: &mut CaseResult) {
    if GraphId::parse(&case.id).is_none() || !is_answered(result.outcome) {
        return;
    }
    let Some(Ok(operators)) = optimizer.optimize(&case.model) else { return };
    let Ok(model) = decode::model(case.model.clone()) else { return };
    result.rewritten = Some(operators.are_rewritten(&model));
    let Operators { before, after } = operators;
    result.optimized = Some(after).filter(|after| before.is_none_or(|before| before != *after));
}

fn is_answered(outcome: Outcome) -> bool {
    outcome == Outcome::Pass || outcome.is_of_positive_cases()
}

/// Rewrites in the results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrites {
    /// True if a good form of a pattern was rewritten, by topic and name of the pattern.
    patterns: BTreeMap<(String, String), bool>,
    /// Ids of graphs that were rewritten and fail.
    pub failing: Vec<String>,
    /// Number of graphs with a known answer.
    pub known: usize,
    /// Number of graphs that ran, and whose operators after optimization are unknown.
    pub unknown: usize,
}

impl Rewrites {
    /// Collects the rewrites in results.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a CaseResult>) -> Rewrites {
        let mut rewrites = Rewrites::default();
        results.into_iter().for_each(|result| rewrites.add(result));
        rewrites
    }

    /// Adds a result.
    pub fn add(&mut self, result: &CaseResult) {
        let Some(graph) = GraphId::parse(&result.id).filter(|_| is_answered(result.outcome)) else { return };
        let Some(is_rewritten) = result.rewritten else {
            self.unknown += 1;
            return;
        };
        self.known += 1;
        if graph.role == GraphRole::Good {
            let key = (graph.topic.to_owned(), graph.pattern.to_owned());
            *self.patterns.entry(key).or_default() |= is_rewritten;
        }
        if is_rewritten && result.outcome.is_of_positive_cases() {
            self.failing.push(result.id.clone());
        }
    }

    /// Returns the number of patterns with a known answer.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// Returns the rewritten patterns, or `None` if no answer is known.
    pub fn rewritten(&self) -> Option<PatternNames> {
        let mut names = PatternNames::new();
        for ((topic, pattern), _) in self.patterns.iter().filter(|(_, is_rewritten)| **is_rewritten) {
            names.entry(topic.clone()).or_default().push(pattern.clone());
        }
        (self.known > 0).then_some(names)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use onnx_conformance_cases::suite::{CaseGroup, GraphCases, Source as _};
    use onnx_conformance_subject::{Builtin, Declaration, OperatorCounts, Ran, Request};

    use super::*;
    use crate::run::test_results::result;

    /// An optimizer that turns everything into one Identity.
    struct Eager;

    impl Host for Eager {
        fn declaration(&self) -> Declaration {
            Declaration::named("eager", "1")
        }

        fn run(&self, request: &Request<'_>) -> Ran {
            Builtin::new(std::time::Duration::from_mins(1)).run(request)
        }

        fn optimize(&self, _: &bytes::Bytes) -> Option<Result<Operators, String>> {
            let after = OperatorCounts::from([("ai.onnx/Identity".to_owned(), NonZeroU32::MIN)]);
            Some(Ok(Operators { before: None, after }))
        }
    }

    fn graph(id: &str, outcome: Outcome, rewritten: Option<bool>) -> CaseResult {
        CaseResult { rewritten, ..result(id, outcome) }
    }

    #[test]
    fn only_graphs_that_ran_are_asked_for() {
        let id = "graph/transposes/pair_that_cancels/good/T=float";
        let cases = GraphCases.load(&CaseGroup { name: "graph/transposes".to_owned() }, &|other| other == id).unwrap();
        let asked = |host: &dyn Host, id: &str, outcome| {
            let case = Case { id: id.to_owned(), ..cases[0].clone() };
            let mut result = result(id, outcome);
            add_rewrite(&case, host, &mut result);
            (result.rewritten, result.optimized.map(|counts| counts.len()))
        };
        assert_eq!(asked(&Eager, id, Outcome::Pass), (Some(true), Some(1)));
        assert_eq!(asked(&Eager, id, Outcome::Mismatch), (Some(true), Some(1)));
        assert_eq!(asked(&Eager, id, Outcome::Unsupported), (None, None));
        assert_eq!(asked(&Eager, "ai.onnx/Abs-13/ranks/X=2x3x4/T=float", Outcome::Pass), (None, None));
        let silent = Builtin::new(std::time::Duration::from_mins(1));
        assert_eq!(asked(&silent, id, Outcome::Pass), (None, None));
    }

    #[test]
    fn a_pattern_is_rewritten_if_a_good_form_is() {
        let results = [
            graph("graph/casts/pair/good/T=float", Outcome::Pass, Some(false)),
            graph("graph/casts/pair/good/T=double", Outcome::Pass, Some(true)),
            graph("graph/casts/dead/good", Outcome::Pass, Some(false)),
            graph("graph/casts/dead/near/other", Outcome::Mismatch, Some(true)),
            graph("graph/casts/dead/near/another", Outcome::Mismatch, Some(false)),
            graph("graph/casts/dead/in/in_branch", Outcome::Pass, Some(true)),
            graph("graph/clips/unknown/good", Outcome::Pass, None),
            graph("graph/clips/unknown/near/other", Outcome::Unsupported, None),
            graph("ai.onnx/Abs-13/ranks/X=2x3x4/T=float", Outcome::Pass, None),
        ];
        let rewrites = Rewrites::of(&results);
        assert_eq!(rewrites.rewritten(), Some(PatternNames::from([("casts".to_owned(), vec!["pair".to_owned()])])));
        assert_eq!((rewrites.patterns(), rewrites.known, rewrites.unknown), (2, 6, 1));
        assert_eq!(rewrites.failing, ["graph/casts/dead/near/other"]);
        assert_eq!(Rewrites::of(&results[6..]).rewritten(), None);
    }
}
