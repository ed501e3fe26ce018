//! Selects unexpected results to re-run in a fresh process before they are reported.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::expectations::{ExpectationMatcher, Verdict};
use crate::run::{CaseResult, Outcome};

/// Maximum number of results to re-run.
const MAX_DOUBTS: usize = 32;

/// Counter of the re-runs. An unexpected result may be caused by the process that ran the case.
#[derive(Debug, Default)]
pub struct Doubts {
    /// Number of results selected so far.
    so_far: AtomicUsize,
}

impl Doubts {
    /// Returns true if the result should be re-run: it differs from what a file expects, it is not from a re-run, it is neither a crash,
    /// which a host re-runs itself, nor the end at a limit, and fewer than 32 results were selected before. Without a file, thousands of
    /// results may be unexpected.
    pub fn doubtful(&self, matcher: &ExpectationMatcher, result: &CaseResult) -> bool {
        let has_file = !matcher.expectations().path().is_empty();
        has_file
            && result.flaky.is_none()
            && !matches!(result.outcome, Outcome::Timeout | Outcome::OutOfMemory | Outcome::Crash)
            && matches!(matcher.verdict(result).0, Verdict::Regression | Verdict::Improvement)
            && self.so_far.fetch_add(1, Ordering::Relaxed) < MAX_DOUBTS
    }
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
}
