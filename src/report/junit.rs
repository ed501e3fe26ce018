//! Results as JUnit XML, which CI systems show.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::run::{CaseResult, Expected, Header, Standing, Used};

/// The report: a suite for each group of cases. What fails as expected is skipped with its reason; what does not go as
/// expected fails.
pub fn report(
    header: &Header,
    results: &[CaseResult],
    expected: &Expected<'_>,
    strict: bool,
) -> Result<String, quick_junit::SerializeError> {
    let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
    for result in results {
        let (group, name) = split(&result.id);
        let mut case = TestCase::new(name, status(result, expected, strict));
        case.set_classname(group).set_time(Duration::from_secs_f64(result.ms.max(0.0) / 1e3));
        suites.entry(group).or_insert_with(|| TestSuite::new(group)).add_test_case(case);
    }
    let mut report = Report::new(format!("onnx-conformance of {} {}", header.runtime.name, header.runtime.version));
    report.add_test_suites(suites.into_values());
    report.to_string()
}

fn status(result: &CaseResult, expected: &Expected<'_>, strict: bool) -> TestCaseStatus {
    let (mut status, standing) = match expected.standing(result, strict, &mut Used::default()) {
        Standing::Pass => return TestCaseStatus::success(),
        Standing::Expected => (TestCaseStatus::skipped(), "expected: "),
        Standing::Silent => (TestCaseStatus::skipped(), "not judged: "),
        Standing::Regression => (TestCaseStatus::non_success(NonSuccessKind::Failure), ""),
        Standing::Improvement => (TestCaseStatus::non_success(NonSuccessKind::Failure), "better than expected: "),
    };
    status.set_message(format!("{standing}{}: {}", result.outcome, result.message));
    if matches!(status, TestCaseStatus::NonSuccess { .. }) {
        status.set_type(result.outcome.name());
    }
    status
}

/// The operator version or the folder of a case, and the rest of its id.
fn split(id: &str) -> (&str, &str) {
    let at = id.match_indices('/').nth(1).map_or(0, |(at, _)| at);
    (id.get(..at).unwrap_or_default(), id.get(at..).unwrap_or(id).trim_start_matches('/'))
}
