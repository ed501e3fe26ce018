//! A run as `JUnit` XML for CI services.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::Verdict;
use onnx_conformance_harness::failures::{causes, group_of};
use onnx_conformance_harness::run::{CaseResult, Outcome};

/// Maximum number of cases for a report that lists each of them.
const MAX_CASES: usize = 10_000;

/// Creates the report of each case, or by cause if there are too many for a CI service.
pub fn report(runtime: &str, results: &[(CaseResult, Verdict)]) -> Result<String, SerializeError> {
    if results.len() > MAX_CASES { report_by_cause(runtime, results) } else { report_of_cases(runtime, results) }
}

/// Creates the report with a test suite per cause of unexpected failures. A test is an operator version or a group of
/// vendored cases, with its failures of that cause. The last suite has the tests whose cases are all as expected.
fn report_by_cause(runtime: &str, results: &[(CaseResult, Verdict)]) -> Result<String, SerializeError> {
    let mut report = Report::new(format!("onnx-conformance {}", escape::line(runtime)));
    let with = |verdict: Verdict| results.iter().filter(move |(_, other)| *other == verdict).map(|(result, _)| result);
    let regressions: Vec<CaseResult> = with(Verdict::Regression).cloned().collect();
    for cause in causes(&regressions) {
        let title = format!("{}: {}", cause.outcome, cause.title);
        let name = escape::line(&title);
        let kind = kind_of(cause.outcome);
        report.add_test_suite(suite_of_groups(&name, &cause.cases, |cases| failed_group(kind, "unexpected", cases)));
    }
    let better: Vec<&CaseResult> = with(Verdict::Improvement).collect();
    if !better.is_empty() {
        let status = |cases: &[&CaseResult]| failed_group(NonSuccessKind::Failure, "better than expected", cases);
        report.add_test_suite(suite_of_groups("better than expected", &better, status));
    }
    let unexpected: BTreeSet<String> = regressions.iter().chain(better).map(|result| group_of(&result.id)).collect();
    let is_expected = |(result, _): &&(CaseResult, Verdict)| !unexpected.contains(&group_of(&result.id));
    let expected: Vec<&CaseResult> = results.iter().filter(is_expected).map(|(result, _)| result).collect();
    if !expected.is_empty() {
        report.add_test_suite(suite_of_groups("as expected", &expected, |_| TestCaseStatus::success()));
    }
    report.to_string()
}

/// Creates a test suite with a test per operator version or group of vendored cases.
fn suite_of_groups(
    name: &str,
    results: &[&CaseResult],
    status: impl Fn(&[&CaseResult]) -> TestCaseStatus,
) -> TestSuite {
    let mut groups: BTreeMap<String, Vec<&CaseResult>> = BTreeMap::new();
    for result in results {
        groups.entry(group_of(&result.id)).or_default().push(result);
    }
    let mut suite = TestSuite::new(name);
    for (group, cases) in groups {
        let mut test = TestCase::new(escape::line(&group), status(&cases));
        test.set_classname(name);
        let seconds = cases.iter().map(|case| case.ms).sum::<f64>() / 1e3;
        test.set_time(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        suite.add_test_case(test);
    }
    suite
}

/// Creates the status of a group of failures with its first case.
fn failed_group(kind: NonSuccessKind, what: &str, cases: &[&CaseResult]) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    if let Some(first) = cases.first() {
        status.set_type(first.outcome.name());
        let count = if let [_] = cases { "1 case".to_owned() } else { format!("{} cases", cases.len()) };
        status.set_message(format!("{what}: {}: {count}", first.outcome));
        let rule = first.rule.as_ref().map(|rule| format!("\nrule {rule}")).unwrap_or_default();
        let message = escape::cut(&first.message, LONGEST);
        status.set_description(escape::message(&format!("{}\n{message}{rule}", first.id)));
    }
    status
}

/// Maximum number of characters of a message in a report by cause.
const LONGEST: usize = 300;

/// Creates the report with a test suite per operator version or group of vendored cases. Expected failures and inconclusive
/// cases are skipped with the reason. A pass is a failure if a failure is expected.
pub fn report_of_cases(runtime: &str, results: &[(CaseResult, Verdict)]) -> Result<String, SerializeError> {
    let mut suites: BTreeMap<&str, Vec<&(CaseResult, Verdict)>> = BTreeMap::new();
    for result in results {
        suites.entry(CaseId::parse(&result.0.id).group()).or_default().push(result);
    }
    let mut report = Report::new(format!("onnx-conformance {}", escape::line(runtime)));
    for (name, mut results) in suites {
        results.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
        let mut suite = TestSuite::new(escape::line(name));
        suite.add_test_cases(results.into_iter().map(|(result, standing)| test_case(name, result, *standing)));
        report.add_test_suite(suite);
    }
    report.to_string()
}

fn test_case(suite_name: &str, result: &CaseResult, standing: Verdict) -> TestCase {
    let status = match standing {
        Verdict::Pass => TestCaseStatus::success(),
        Verdict::ExpectedFailure => skipped("expected", result),
        Verdict::NotJudged if result.outcome == Outcome::Pass => TestCaseStatus::success(),
        Verdict::NotJudged => skipped("not judged", result),
        Verdict::Improvement => failed(NonSuccessKind::Failure, "better than expected", result),
        Verdict::Regression => failed(kind_of(result.outcome), "unexpected", result),
    };
    let mut case = TestCase::new(escape::line(&result.id), status);
    case.set_classname(escape::line(suite_name));
    case.set_time(Duration::try_from_secs_f64(result.ms / 1e3).unwrap_or_default());
    case
}

/// Returns the kind of a failure: an error if the runtime gave no answer.
fn kind_of(outcome: Outcome) -> NonSuccessKind {
    match outcome {
        Outcome::Timeout | Outcome::OutOfMemory | Outcome::Crash | Outcome::ProtocolError => NonSuccessKind::Error,
        _ => NonSuccessKind::Failure,
    }
}

fn skipped(what: &str, result: &CaseResult) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    let finding = result.finding.as_ref().map(|id| format!(" (finding {})", escape::line(id))).unwrap_or_default();
    status.set_message(format!("{what}: {}{finding}: {}", result.outcome, escape::message(&result.message)));
    status
}

fn failed(kind: NonSuccessKind, what: &str, result: &CaseResult) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(result.outcome.name());
    status.set_message(format!("{what}: {}", result.outcome));
    let rule = result.rule.as_ref().map(|rule| format!("\nrule {rule}")).unwrap_or_default();
    status.set_description(escape::message(&result.message) + &escape::message(&rule));
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{gate_result, result};

    #[test]
    fn many_cases_are_reported_by_cause() {
        let mut results: Vec<CaseResult> =
            (0..MAX_CASES).map(|number| result(&format!("ai.onnx/Abs-13/x{number}/T=float"), Outcome::Pass)).collect();
        for (operator, count) in [("Add-14", 3), ("Neg-13", 2)] {
            results.extend((0..count).map(|number| CaseResult {
                message: format!("node {number} cannot be loaded"),
                ..result(&format!("ai.onnx/{operator}/x{number}/T=float"), Outcome::Error)
            }));
        }
        let text = report("mine", &gate_result(&results).1).unwrap();
        assert!(text.contains("tests=\"3\" skipped=\"0\" failures=\"2\" errors=\"0\""), "{text}");
        assert!(text.contains("<testsuite name=\"error: node ... cannot be loaded\" tests=\"2\""), "{text}");
        assert!(text.contains("message=\"unexpected: error: 3 cases\""), "{text}");
        assert!(text.contains("ai.onnx/Add-14/x0/T=float\nnode 0 cannot be loaded"), "{text}");
        assert!(text.contains("<testsuite name=\"as expected\" tests=\"1\""), "{text}");
    }

    #[test]
    fn every_case_is_told_with_how_it_stands() {
        let mut crash = result("ai.onnx/Abs-13/x/T=float", Outcome::Crash);
        crash.message = format!("signal <9> \u{1b}[31m\u{fffe}\u{ffff}\u{0}{}", "x".repeat(900_000));
        let results = [crash, result("onnx-1/node/test_a", Outcome::NotDeclared), result("a", Outcome::Pass)];
        let text = report("mine", &gate_result(&results).1).unwrap();
        assert!(text.contains("tests=\"3\" skipped=\"1\" failures=\"0\" errors=\"1\""), "{text}");
        assert!(text.contains("<testsuite name=\"ai.onnx/Abs-13\""), "{text}");
        assert!(text.contains("type=\"crash\"") && text.contains("signal &lt;9&gt;"), "{text}");
        assert!(text.contains("<skipped message=\"not judged: not-declared"), "{text}");
        assert!(text.contains("\\u{1b}[31m\\u{fffe}\\u{ffff}\\u{0}xxx") && text.len() < 4_000, "{text}");
        assert!(text.chars().all(|c| c == '\n' || escape::is_plain(c)), "{text}");
    }
}
