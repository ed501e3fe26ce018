//! Causes of failures: common properties of failing cases, across operators and versions.
//!
//! Errors, deaths and wrong types share a cause if their messages are equal apart from names and numbers. Missing features share one if
//! their names are equal. The cause of wrong values and shapes is the kernel of their operator, in all versions, or the pattern of their
//! graph. Several operators share a cause if they break the same rule, or if their wrong values show it, such as doubles that are
//! computed in float. A graph with an operator whose own cases are wrong has the cause of that operator.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use onnx_conformance_cases::case::{CaseId, RuleRef};
use onnx_conformance_cases::suite::WrappedCases;

use crate::escape;
use crate::failures::groups::group_of;
use crate::failures::known_difference::known_difference;
use crate::measure::Severity;
use crate::run::{ANY_TEXT, CaseResult, Outcome, common_message};

/// Minimum number of operators with wrong values or shapes that break the same rule, for the rule to be their cause.
const FEWEST_OPERATORS: usize = 3;

/// Maximum number of operators to name for a cause.
const MAX_NAMES: usize = 6;

/// Maximum number of characters of the model and the inputs of a case.
const MAX_MODEL: usize = 240;

/// Operators whose own cases have wrong values or shapes.
#[derive(Debug, Default)]
struct WrongOperators<'a> {
    /// Operators whose wrong outputs do not show their cause.
    all: BTreeSet<String>,
    /// Operators that break a rule, by its sentence.
    by_rule: BTreeMap<&'a str, BTreeSet<String>>,
}

/// Failures of one cause.
#[derive(Debug)]
pub struct Cause<'a> {
    /// The outcome of the cases.
    pub outcome: Outcome,
    /// The common message, with `...` for what differs; the operator for a cause without one.
    pub title: String,
    /// The operators of the cases; patterns or folders of cases of several operators.
    pub operators: BTreeSet<String>,
    /// The failing cases, the one with the smallest inputs first.
    pub cases: Vec<&'a CaseResult>,
    /// True if each of these is an operator.
    pub has_operators_only: bool,
    /// Number of operators all of whose failures have this cause.
    pub mended: usize,
}

impl Cause<'_> {
    /// Returns the extent: the number of cases and their operators, and the operators that would be right without it.
    pub fn extent(&self) -> String {
        let mut extent = plural(self.cases.len(), "case");
        if self.operators.len() > 1 {
            let named: Vec<&str> = self.operators.iter().take(MAX_NAMES).map(String::as_str).collect();
            let more = if self.operators.len() > named.len() { ", ..." } else { "" };
            let places = if self.has_operators_only { "operators" } else { "operators and folders" };
            let names = escape::line(&named.join(", ")).into_owned();
            let _ = write!(extent, " of {} {places} ({names}{more})", self.operators.len());
        }
        match self.mended {
            0 => {}
            1 => extent.push_str("; without it 1 operator is right"),
            mended => {
                let _ = write!(extent, "; without it {mended} operators are right");
            }
        }
        extent
    }
}

/// Groups failures by cause: the worst outcome first, then the cause with the most operators and cases.
pub fn causes(results: &[CaseResult]) -> Vec<Cause<'_>> {
    let mut all: BTreeMap<(Outcome, String), Cause<'_>> = BTreeMap::new();
    let wrong_operators = WrongOperators::from_results(results);
    let mut by_operator: BTreeMap<String, BTreeSet<(Outcome, String)>> = BTreeMap::new();
    for result in results {
        let (operators, is_operator) = wrong_operators.blamed_for(result);
        let key = (result.outcome, title(result, &operators, &wrong_operators));
        for operator in operators.iter().filter(|_| is_operator) {
            by_operator.entry(operator.clone()).or_default().insert(key.clone());
        }
        let cause = all.entry(key).or_insert_with_key(|(outcome, title)| Cause {
            outcome: *outcome,
            title: title.clone(),
            operators: BTreeSet::new(),
            has_operators_only: true,
            cases: Vec::new(),
            mended: 0,
        });
        cause.has_operators_only &= is_operator;
        cause.operators.extend(operators);
        cause.cases.push(result);
    }
    for causes in by_operator.into_values() {
        if let [only] = causes.into_iter().collect::<Vec<_>>().as_slice()
            && let Some(cause) = all.get_mut(only)
        {
            cause.mended += 1;
        }
    }
    let mut all: Vec<Cause<'_>> = all.into_values().collect();
    for cause in &mut all {
        cause.cases.sort_by_key(|case| (case.level, case.inputs.len(), case.id.len(), case.id.as_str()));
    }
    // A missing feature is not a wrong answer.
    let order = |cause: &Cause<'_>| {
        let severity = Severity::from_outcome(cause.outcome, false);
        (cause.outcome == Outcome::Unsupported, Reverse(cause.cases.len()), Reverse(severity))
    };
    all.sort_by_key(order);
    all
}

/// Returns the operator that a failure counts for: the one in the id, also of a case between no-ops, or the only one of
/// the model. Other cases count for their pattern of graphs or their folder, and the flag is false.
fn operators_of(result: &CaseResult) -> (BTreeSet<String>, bool) {
    let id = WrappedCases::plain_id(&result.id).unwrap_or(&result.id);
    if let Some(version) = CaseId::parse(id).version() {
        return (BTreeSet::from([format!("{}/{}", version.domain, version.name)]), true);
    }
    if id.starts_with("graph/") {
        return (BTreeSet::from([id.split('/').take(3).collect::<Vec<_>>().join("/")]), false);
    }
    let operators = result.operators();
    if operators.len() == 1 { (operators, true) } else { (BTreeSet::from([group_of(id)]), false) }
}

impl<'a> WrongOperators<'a> {
    fn from_results(results: &'a [CaseResult]) -> WrongOperators<'a> {
        let mut found = WrongOperators::default();
        for result in results.iter().filter(|result| is_wrong_output(result)) {
            let (operators, true) = operators_of(result) else { continue };
            if let Some(rule) = &result.rule {
                found.by_rule.entry(sentence(rule)).or_default().extend(operators.clone());
            }
            if known_difference(result).is_none() && !is_scalar_as_vector(&result.message) {
                found.all.extend(operators);
            }
        }
        found.by_rule.retain(|_, operators| operators.len() >= FEWEST_OPERATORS);
        found
    }

    /// Returns the operator that a failure counts for, as [`operators_of`] does. For a wrong output of a graph, it is the only operator
    /// of the graph whose own cases are wrong.
    fn blamed_for(&self, result: &CaseResult) -> (BTreeSet<String>, bool) {
        let (operators, is_operator) = operators_of(result);
        if !is_operator && is_wrong_output(result) {
            let blamed = &result.operators() & &self.all;
            if blamed.len() == 1 {
                return (blamed, true);
            }
        }
        (operators, is_operator)
    }

    /// Returns the sentence of the rule that a case shows, if several operators break it.
    fn shared_rule<'b>(&self, result: &'b CaseResult) -> Option<&'b str> {
        result.rule.as_ref().map(sentence).filter(|rule| self.by_rule.contains_key(*rule))
    }
}

/// Returns true if a case ended with wrong values or a wrong shape.
fn is_wrong_output(result: &CaseResult) -> bool {
    matches!(result.outcome, Outcome::Mismatch | Outcome::WrongShape)
}

/// Returns the first line of a rule.
fn sentence(rule: &RuleRef) -> &str {
    rule.says.lines().next().unwrap_or_default()
}

/// Returns a message without the data set of a vendored case.
fn without_data_set(message: &str) -> &str {
    let rest = message.strip_prefix("test_data_set_").and_then(|rest| rest.split_once(": "));
    rest.map_or(message, |(_, message)| message)
}

/// Returns the text that failures of one cause have in common.
fn title(result: &CaseResult, operators: &BTreeSet<String>, wrong_operators: &WrongOperators<'_>) -> String {
    let names = || operators.iter().cloned().collect::<Vec<_>>().join(", ");
    let common = match result.outcome {
        Outcome::Mismatch | Outcome::WrongShape if is_scalar_as_vector(&result.message) => {
            return "a scalar comes back with the shape [1]".to_owned();
        }
        Outcome::Mismatch | Outcome::WrongShape => {
            let shared = known_difference(result).or_else(|| wrong_operators.shared_rule(result));
            return shared.map_or_else(names, str::to_owned);
        }
        Outcome::Unsupported => result.missing.clone().unwrap_or_default(),
        _ => common_message(without_data_set(&result.message), operators).replace(ANY_TEXT, "..."),
    };
    if common.is_empty() { names() } else { common }
}

/// Formats a number with its noun.
pub fn plural(count: usize, noun: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{end}")
}

/// Formats the nodes and the inputs of a case on one line.
pub fn model_line(case: &CaseResult) -> String {
    let nodes = case.nodes.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let parts: Vec<&str> = [nodes.as_str(), case.inputs.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    escape::line(&escape::cut(&parts.join("; "), MAX_MODEL)).into_owned()
}

/// Returns true if a wrong shape is a vector of one element in place of a scalar.
fn is_scalar_as_vector(message: &str) -> bool {
    message.contains("expected shape [], got [1]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_results::result;

    fn failed(id: &str, outcome: Outcome, message: &str) -> CaseResult {
        CaseResult { message: message.to_owned(), ..result(id, outcome) }
    }

    #[test]
    fn a_message_that_many_operators_have_is_one_cause() {
        let narrowed = "output 'y': expected tensor(float16), got tensor(float)";
        let all = [
            failed("ai.onnx/Abs-13/a/T=float16", Outcome::WrongType, narrowed),
            failed("ai.onnx/Abs-6/b/T=float16", Outcome::WrongType, narrowed),
            failed(
                "ai.onnx/Neg-13/a/T=float16",
                Outcome::WrongType,
                "output 'out': expected tensor(float16), got tensor(float)",
            ),
            failed("ai.onnx/Neg-13/c/T=float", Outcome::Mismatch, "element 3: expected 1, got 2"),
            failed("ai.onnx/Neg-6/c/T=float", Outcome::Mismatch, "element 7: expected 5, got 2"),
        ];
        let causes = causes(&all);
        let shown: Vec<(&str, usize, usize, usize)> = causes
            .iter()
            .map(|cause| (cause.title.as_str(), cause.operators.len(), cause.cases.len(), cause.mended))
            .collect();
        let wide = "output '...': expected tensor(float16), got tensor(float)";
        assert_eq!(shown, [(wide, 2, 3, 1), ("ai.onnx/Neg", 1, 2, 0)]);
    }

    #[test]
    fn a_rule_that_several_operators_break_is_one_cause() {
        let broken = |operator: &str, says: &str| CaseResult {
            rule: Some(RuleRef { id: "C1".to_owned(), says: says.to_owned(), place: "op.yaml:1".to_owned() }),
            ..failed(&format!("ai.onnx/{operator}-1/a"), Outcome::Mismatch, "element 3: expected 1, got 2")
        };
        let shared = ["Abs", "Neg", "Sum"].map(|operator| broken(operator, "A broadcasts"));
        let all = [&shared[..], &[broken("Abs", "its own rule"), broken("Mul", "its own rule")]].concat();
        let titles = |results: &[CaseResult]| {
            causes(results).iter().map(|cause| (cause.title.clone(), cause.cases.len())).collect::<Vec<_>>()
        };
        let name = |title: &str, cases| (title.to_owned(), cases);
        assert_eq!(titles(&all), [name("A broadcasts", 3), name("ai.onnx/Abs", 1), name("ai.onnx/Mul", 1)]);
        assert_eq!(titles(&shared[1..]), [name("ai.onnx/Neg", 1), name("ai.onnx/Sum", 1)]);
    }

    #[test]
    fn a_graph_has_the_cause_of_its_only_wrong_operator() {
        let graph = |name: &str| CaseResult {
            declared_cells: ["ai.onnx/Abs-13".to_owned(), "ai.onnx/Neg-13".to_owned()].into(),
            ..failed(name, Outcome::Mismatch, "element 3: expected 1, got 2")
        };
        let wrong = |id: &str| failed(id, Outcome::Mismatch, "element 3: expected 1, got 2");
        let count = |results: &[CaseResult]| causes(results).len();
        let graphs = [graph("graph/a/b/good"), graph("graph/c/d/good")];
        assert_eq!(count(&graphs), 2);
        assert_eq!(count(&[&graphs[..], &[wrong("ai.onnx/Neg-13/a")]].concat()), 1);
        assert_eq!(count(&[&graphs[..], &[wrong("ai.onnx/Neg-13/a"), wrong("ai.onnx/Abs-13/a")]].concat()), 4);
        assert_eq!(count(&[&graphs[..], &[wrong("ai.onnx/Sum-13/a")]].concat()), 3);
    }

    #[test]
    fn the_data_set_of_a_case_is_no_part_of_a_cause() {
        let all = [
            failed("ai.onnx/Abs-13/a", Outcome::Error, "no memory"),
            failed("onnx-1.0/node/test_a", Outcome::Error, "test_data_set_0: no memory"),
        ];
        assert_eq!(causes(&all).len(), 1);
    }

    #[test]
    fn a_scalar_as_a_vector_is_a_cause_of_its_own() {
        let message = "output 'y': expected shape [], got [1]";
        let all = [
            failed("ai.onnx/Abs-13/scalar/T=float", Outcome::WrongShape, message),
            failed("ai.onnx/Neg-13/scalar/T=float", Outcome::WrongShape, message),
        ];
        assert_eq!(causes(&all).len(), 1);
    }
}
