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
    /// Returns true if the result should be re-run: it differs from what a file expects, it is not from a re-run, the runtime answered
    /// (otherwise its process has already ended), and fewer than 32 results were selected before. Without a file, thousands of results
    /// may be unexpected.
    pub fn doubtful(&self, matcher: &ExpectationMatcher, result: &CaseResult) -> bool {
        let has_file = !matcher.expectations().path().is_empty();
        has_file
            && result.flaky.is_none()
            && result.outcome.rank() < Outcome::Timeout.rank()
            && matches!(matcher.verdict(result).0, Verdict::Regression | Verdict::Improvement)
            && self.so_far.fetch_add(1, Ordering::Relaxed) < MAX_DOUBTS
    }
}
