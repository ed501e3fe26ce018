//! Properties of expectation files that the program writes: results match a file that was made from them.

use std::collections::BTreeMap;

use onnx_conformance_cases::case::{Level, RefusalClass, Variant};
use onnx_conformance_cases::suite::Filter;
use onnx_conformance_subject::Declaration;
use proptest::prelude::*;

use crate::expectations::{
    Conclusion, ExpectationMatcher, Expectations, GateResult, Scope, WholeRun, first_expectations, first_measurement,
    updated_expectations,
};
use crate::run::test_results::result;
use crate::run::{CaseResult, Header, Outcome, Selected};

/// Groups of cases: operators in several versions, patterns of graphs, wrapped cases, folders of a user.
const GROUPS: [&str; 12] = [
    "d/A-1",
    "d/A-6",
    "d/A-13",
    "ai.onnx/Add-14",
    "ai.onnx/Add-7",
    "ai.onnx/SplitToSequence-11",
    "graph/reshapes/pair",
    "graph/wrapped/d/A-1",
    "graph/wrapped/ai.onnx/Add-14",
    "others/node",
    "hostile",
    "mine [x]{y}*?!",
];

/// Cases in a group. No id is the folder of another one.
const INSIDE: [&str; 10] = [
    "whole",
    "x/T=float",
    "x/T=float16",
    "y/T=float",
    "y/T=float16",
    "y/a=1/T=string",
    "test_abs",
    "test_abs_[1]",
    "#z",
    "'q' \"r\": s",
];

const OPERATORS: [&str; 3] = ["d/A", "ai.onnx/Add", "ai.onnx/SplitToSequence"];

const MISSING: [&str; 11] = [
    "operator d/A-1",
    "operator d/A",
    "operator ai.onnx/SplitToSequence-11",
    "tensor(float16)",
    "tensor(float16) in d/A-1",
    "tensor(string) in ai.onnx/Add-14",
    "opset 9 of ai.onnx",
    "graph/**: [a] * {b}? \"quoted\" 'it's'\nsecond line",
    "!negated",
    "# comment: value",
    "",
];

const MESSAGES: [&str; 10] = [
    "output 'y': expected tensor(float16), got tensor(float)",
    "output 'z1': expected tensor(float16), got tensor(float)",
    "node 3 'A' cannot be loaded: dimension 17 is not 4",
    "node 12 'Add' cannot be loaded: dimension 3 is not 5",
    "assertion failed: (x > 0) in layer 'A_3'",
    "it's an open 'quotation of A",
    "* * * wildcards [a-z] {everywhere} ** in the text?",
    "short",
    "\u{1b}[31mred\u{1b}[0m text of an adapter\nTraceback: line 3",
    "",
];

/// Creates the results of these cases, with an outcome each, from random numbers.
fn results(numbers: &[(u8, u8, u8, u8, u8)]) -> Vec<CaseResult> {
    let mut by_id = BTreeMap::new();
    for &(group, inside, outcome, text, other) in numbers {
        let pick = |list: &[&str], number: u8| list[usize::from(number) % list.len()].to_owned();
        let id = format!("{}/{}", pick(&GROUPS, group), pick(&INSIDE, inside));
        let outcome = Outcome::ALL[usize::from(outcome) % Outcome::ALL.len()];
        let cells =
            vec![format!("{}-1 T=tensor(float16)", pick(&OPERATORS, other)), format!("{}-1", pick(&OPERATORS, text))];
        let is_missing = outcome == Outcome::Unsupported && other % 5 > 0;
        let made = CaseResult {
            message: if outcome == Outcome::Pass { String::new() } else { pick(&MESSAGES, text) },
            missing: is_missing.then(|| pick(&MISSING, text)),
            ulps: (outcome == Outcome::Mismatch && other % 2 == 0).then_some(u64::from(other) + 1),
            level: [Level::Required, Level::Required, Level::Recommended, Level::Open][usize::from(other) % 4],
            class: (other % 7 == 0).then_some(RefusalClass::Static),
            executed_cells: if other % 3 == 0 { cells.clone() } else { Vec::new() },
            declared_cells: if other % 3 == 1 { cells } else { Vec::new() },
            ..result(&id, outcome)
        };
        by_id.insert(id, made);
    }
    by_id.into_values().collect()
}

fn numbers() -> impl Strategy<Value = Vec<(u8, u8, u8, u8, u8)>> {
    // Few outcomes, so that groups of cases end alike.
    let outcome = prop_oneof![Just(0), Just(0), Just(3), Just(4), Just(7), 0..16_u8];
    prop::collection::vec((0..12_u8, 0..10_u8, outcome, 0..11_u8, 0..210_u8), 0..90)
}

fn matcher(text: &str, strict: bool) -> ExpectationMatcher {
    let file = Expectations::parse("a.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    ExpectationMatcher::new(file, &Declaration::named("a", "1"), strict)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Asserts that all results match a file.
fn assert_green(text: &str, strict: bool, results: &[CaseResult], is_whole: bool) {
    let (matcher, mut gate, all) = (matcher(text, strict), GateResult::default(), Filter::default());
    for result in results {
        gate.add_result(result, &matcher);
    }
    gate.finish(&matcher, &Scope { filter: is_whole.then_some(&all), variant: Variant::Runtime });
    let is_judged = results.iter().any(|result| matcher.judges(result));
    let conclusion = gate.conclusion();
    if conclusion == Conclusion::NothingJudged && !is_judged {
        return;
    }
    let shown = |results: &[CaseResult]| results.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join("\n");
    assert_eq!(
        conclusion,
        Conclusion::AsExpected,
        "{text}\nregressions: {}improvements: {}entries: {:?}\nproblems: {:?}",
        shown(&gate.regressions),
        shown(&gate.improvements),
        gate.entry_problems,
        gate.problems
    );
}

fn first_text(exact: bool, strict: bool, run: &WholeRun<'_>) -> String {
    if exact {
        let header = Header::new(Declaration::named("a", "1"), "digest".to_owned(), Selected::default());
        first_measurement(&header, strict, run).to_yaml()
    } else {
        first_expectations("a", strict, run).to_yaml()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_are_as_their_own_file_says(numbers in numbers(), strict: bool, exact: bool, half: bool) {
        let results = results(&numbers);
        let text = first_text(exact, strict, &WholeRun::new(results.clone(), Variant::Runtime));
        assert_green(&text, strict, &results, true);
        let part: Vec<CaseResult> =
            results.into_iter().enumerate().filter(|(index, _)| (index % 2 == 0) == half).map(|(_, result)| result).collect();
        assert_green(&text, strict, &part, false);
    }

    #[test]
    fn results_are_as_an_updated_file_says(before in numbers(), after in numbers(), strict: bool, exact: bool) {
        let (before, after) = (results(&before), results(&after));
        let text = first_text(exact, strict, &WholeRun::new(before, Variant::Runtime));
        let run = WholeRun::new(after.clone(), Variant::Runtime);
        let updated = updated_expectations(&text, &matcher(&text, strict), &run).unwrap();
        assert_green(&updated, strict, &after, true);
        let again = updated_expectations(&updated, &matcher(&updated, strict), &run).unwrap();
        prop_assert_eq!(again, updated);
    }

    #[test]
    fn each_run_is_as_the_file_of_several_runs_says(
        numbers in numbers(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..16_u8), 0..12),
        strict: bool,
        exact: bool,
        update: bool,
    ) {
        let first = results(&numbers);
        let mut second = first.clone();
        for (index, outcome) in changes {
            if !second.is_empty() {
                let changed = index.get(&second).id.clone();
                let outcome = Outcome::ALL[usize::from(outcome)];
                let other = CaseResult { missing: None, ulps: None, ..index.get(&second).clone() };
                second.iter_mut().filter(|result| result.id == changed).for_each(|result| {
                    let message = MESSAGES[usize::from(u8::from(outcome == Outcome::Error)) * 3].to_owned();
                    *result = CaseResult { outcome, message, ..other.clone() };
                });
            }
        }
        let run = WholeRun::worst_of(vec![first.clone(), second.clone()], Variant::Runtime);
        let text = if update {
            let text = first_text(exact, strict, &WholeRun::new(first.clone(), Variant::Runtime));
            updated_expectations(&text, &matcher(&text, strict), &run).unwrap()
        } else {
            first_text(exact, strict, &run)
        };
        assert_green(&text, strict, &first, true);
        assert_green(&text, strict, &second, true);
    }
}
