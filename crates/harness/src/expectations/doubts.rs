//! Which results are to be had a second time before they are believed.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::expectations::{ExpectationMatcher, Verdict};
use crate::run::{CaseResult, Outcome};

/// How many results of a run are doubted. A runtime without expectations has thousands that are not as expected.
const MOST: usize = 32;

/// The doubts of a run: a result that is other than expected may be owed to the process that the case was run in.
#[derive(Debug, Default)]
pub struct Doubts {
    /// How many results were doubted.
    so_far: AtomicUsize,
}

impl Doubts {
    /// Whether the result is to be had a second time: these expectations do not have it, it is not of a second run already, the
    /// runtime did answer (where it did not, its process has ended), and fewer than 32 were doubted.
    pub fn doubtful(&self, matcher: &ExpectationMatcher, result: &CaseResult) -> bool {
        result.flaky.is_none()
            && result.outcome.rank() < Outcome::Timeout.rank()
            && matches!(matcher.verdict(result).0, Verdict::Regression | Verdict::Improvement)
            && self.so_far.fetch_add(1, Ordering::Relaxed) < MOST
    }
}
