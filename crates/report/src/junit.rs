//! A run as `JUnit` XML for CI services.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use onnx_conformance_cases::case::CaseId;
use onnx_conformance_harness::escape;
use onnx_conformance_harness::expectations::Verdict;
use onnx_conformance_harness::run::{CaseResult, Outcome};

/// Creates the report, with a test suite per operator version or group of vendored cases. Expected failures and inconclusive
/// cases are skipped with the reason. A pass is a failure if a failure is expected.
pub fn report(runtime: &str, results: &[(CaseResult, Verdict)]) -> Result<String, SerializeError> {
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
        Verdict::Regression => match result.outcome {
            Outcome::Timeout | Outcome::OutOfMemory | Outcome::Crash | Outcome::ProtocolError => {
                failed(NonSuccessKind::Error, "unexpected", result)
            }
            _ => failed(NonSuccessKind::Failure, "unexpected", result),
        },
    };
    let mut case = TestCase::new(escape::line(&result.id), status);
    case.set_classname(escape::line(suite_name));
    case.set_time(Duration::try_from_secs_f64(result.ms / 1e3).unwrap_or_default());
    case
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
