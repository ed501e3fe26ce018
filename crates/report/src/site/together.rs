//! Failures that runtimes share: how the failing behaviours of one runtime end on every other runtime.

use onnx_conformance_harness::measure::Severity;
use serde::Serialize;

/// Number of behaviours by their end on the other runtime: fails, inexact, right, declined, not judged.
type Ends = [usize; 5];

/// Table of runtimes by runtimes: the results on the column's runtime of behaviours that fail on the row's runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Together(Vec<Vec<Ends>>);

impl Together {
    /// Adds a behaviour of an operator version by its worst severity on each runtime; `None` if it is not judged.
    pub(crate) fn add(&mut self, worst: &[Option<Severity>]) {
        self.widen(worst.len());
        for (row, severity) in self.0.iter_mut().zip(worst) {
            if !severity.is_some_and(is_failure) {
                continue;
            }
            for (ends, other) in row.iter_mut().zip(worst) {
                if let Some(count) = ends.get_mut(position(*other)) {
                    *count += 1;
                }
            }
        }
    }

    /// Adds the counts of another operator.
    pub(crate) fn merge(&mut self, other: &Together) {
        self.widen(other.0.len());
        let (own, others) = (self.0.iter_mut().flatten().flatten(), other.0.iter().flatten().flatten());
        for (count, more) in own.zip(others) {
            *count += more;
        }
    }

    fn widen(&mut self, runtimes: usize) {
        if self.0.is_empty() {
            self.0 = vec![vec![Ends::default(); runtimes]; runtimes];
        }
    }
}

/// Returns true for an end that is a failure. Inexact outputs are not counted, since their bounds differ by processor.
fn is_failure(severity: Severity) -> bool {
    !matches!(severity, Severity::Right | Severity::Inexact | Severity::Declined)
}

fn position(severity: Option<Severity>) -> usize {
    match severity {
        Some(severity) if is_failure(severity) => 0,
        Some(Severity::Inexact) => 1,
        Some(Severity::Right) => 2,
        Some(_) => 3,
        None => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_by_their_end_on_the_other_runtime() {
        let mut together = Together::default();
        together.add(&[Some(Severity::Wrong), Some(Severity::Crash)]);
        together.add(&[Some(Severity::Wrong), Some(Severity::Declined)]);
        together.add(&[Some(Severity::RefusesValid), None]);
        together.add(&[Some(Severity::Inexact), Some(Severity::TakesInvalid)]);
        assert_eq!(together.0, [[[3, 0, 0, 0, 0], [1, 0, 0, 1, 1]], [[1, 1, 0, 0, 0], [2, 0, 0, 0, 0]]]);
        let mut sum = Together::default();
        sum.merge(&together);
        sum.merge(&together);
        assert_eq!(sum.0, [[[6, 0, 0, 0, 0], [2, 0, 0, 2, 2]], [[2, 2, 0, 0, 0], [4, 0, 0, 0, 0]]]);
    }
}
