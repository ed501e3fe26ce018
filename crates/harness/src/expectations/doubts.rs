//! Selects unexpected results to re-run in a fresh process before they are reported.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::expectations::{ExpectationMatcher, Verdict};
use crate::run::{CaseResult, Outcome};

/// Maximum number of results to re-run.
const MAX_DOUBTS: usize = 32;

/// Number of unexpected results in a row that are not flaky, after which no further result is re-run.
const ENOUGH: usize = 8;

/// Counter of the re-runs. An unexpected result may be caused by the process that ran the case.
#[derive(Debug, Default)]
pub struct Doubts {
    /// Number of results selected so far.
    so_far: AtomicUsize,
    /// Number of unexpected results since the last flaky one.
    confirmed: AtomicUsize,
}

impl Doubts {
    /// Returns true if the result should be re-run: it differs from what a file expects, it is not from a re-run, it is neither a crash,
    /// which a host re-runs itself, nor the end at a limit, fewer than 32 results were selected before, and fewer than 8 in a row were the
    /// same again. Without a file, thousands of results may be unexpected.
    pub fn doubtful(&self, matcher: &ExpectationMatcher, result: &CaseResult) -> bool {
        result.flaky.is_none()
            && self.confirmed.load(Ordering::Relaxed) < ENOUGH
            && is_unexpected(matcher, result)
            && self.so_far.fetch_add(1, Ordering::Relaxed) < MAX_DOUBTS
    }

    /// Counts a final result: that of the re-run if there was one.
    pub fn add_final(&self, matcher: &ExpectationMatcher, result: &CaseResult) {
        if result.flaky.is_some() {
            self.confirmed.store(0, Ordering::Relaxed);
        } else if self.so_far.load(Ordering::Relaxed) > 0 && is_unexpected(matcher, result) {
            self.confirmed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Returns true if a result that another process may change differs from what a file expects.
fn is_unexpected(matcher: &ExpectationMatcher, result: &CaseResult) -> bool {
    !matcher.expectations().path().is_empty()
        && !matches!(result.outcome, Outcome::Timeout | Outcome::OutOfMemory | Outcome::Crash)
        && matches!(matcher.verdict(result).0, Verdict::Regression | Verdict::Improvement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expectations::Expectations;
    use crate::run::test_results::result;
    use onnx_conformance_subject::Declaration;

    fn matcher(file: Expectations) -> ExpectationMatcher {
        ExpectationMatcher::new(file, &Declaration::named("a", "1"), false).unwrap()
    }

    #[test]
    fn an_unexpected_answer_or_violation_is_re_run_and_a_limit_is_not() {
        let text = "runtime: a\nexpect:\n  - {cases: known, outcome: protocol-error}\n";
        let with_file = matcher(Expectations::parse("a.yaml", text).unwrap());
        let without_file = matcher(Expectations::empty("a"));
        for outcome in Outcome::ALL {
            let is_re_run = match outcome {
                Outcome::Pass | Outcome::NotApplicable | Outcome::NotDeclared => false,
                other => !matches!(other, Outcome::Timeout | Outcome::OutOfMemory | Outcome::Crash),
            };
            let result = result("new", outcome);
            assert_eq!(Doubts::default().doubtful(&with_file, &result), is_re_run, "{outcome}");
            assert!(!Doubts::default().doubtful(&without_file, &result), "{outcome}");
            let again = CaseResult { flaky: Some(String::new()), ..result };
            assert!(!Doubts::default().doubtful(&with_file, &again), "{outcome}");
        }
        let known = result("known", Outcome::ProtocolError);
        assert!(!Doubts::default().doubtful(&with_file, &known));
        let doubts = Doubts::default();
        let re_run = (0..40).filter(|_| doubts.doubtful(&with_file, &result("new", Outcome::ProtocolError)));
        assert_eq!(re_run.count(), MAX_DOUBTS);
    }
    #[test]
    fn after_eight_results_that_are_the_same_again_none_is_re_run() {
        let with_file = matcher(Expectations::parse("a.yaml", "runtime: a\nexpect: []\n").unwrap());
        let doubts = Doubts::default();
        let is_re_run = |result: &CaseResult| {
            let is_re_run = doubts.doubtful(&with_file, result);
            doubts.add_final(&with_file, result);
            is_re_run
        };
        let new = result("new", Outcome::Error);
        assert!(!is_re_run(&result("good", Outcome::Pass)));
        assert_eq!((0..20).filter(|_| is_re_run(&new)).count(), ENOUGH);
        assert!(!is_re_run(&CaseResult { flaky: Some("crash".to_owned()), ..new.clone() }));
        assert!(is_re_run(&new));
    }
}
