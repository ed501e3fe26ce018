//! Choice of the sizes of inputs over several runs: the first ones that a model accepts, then others.

use crate::models::generated_inputs::resized_ways;

/// Way to give inputs that a model accepts, as far as the runs have shown.
#[derive(Default)]
pub(super) struct Fit {
    /// The first way that was not refused.
    first: usize,
    /// True if a model with several ways ran.
    is_fitted: bool,
    /// True if it refused other sizes.
    refuses_sizes: bool,
}

impl Fit {
    /// Returns the ways to try in the next run.
    pub(super) fn ways(&self, ways: usize) -> Vec<usize> {
        if !self.is_fitted || ways < 2 {
            return (self.first.min(ways.saturating_sub(1))..ways).collect();
        }
        let resized = (!self.refuses_sizes).then(|| resized_ways(self.first, ways));
        resized.into_iter().flatten().chain([self.first]).collect()
    }

    /// Adds the result of a run.
    pub(super) fn add(&mut self, way: usize, ways: usize, runs: bool) {
        if ways < 2 {
            return;
        }
        if way < ways {
            self.first = way;
            self.refuses_sizes |= self.is_fitted;
        }
        self.is_fitted |= runs;
    }
}
