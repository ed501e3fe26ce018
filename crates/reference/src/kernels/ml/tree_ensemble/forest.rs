//! Trees of nodes by index, and the votes of their leaves.

use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::invalid;
use crate::kernels::ml::preprocessing::rows_and_columns;
use crate::tensor::sum::CompensatedSum;

/// Trees over shared nodes, without cycles. All indices are within the forest.
pub(super) struct Forest {
    pub(super) nodes: Vec<Node>,
    /// First node of each tree.
    pub(super) roots: Vec<usize>,
    /// Votes of the leaves: target and weight.
    pub(super) votes: Vec<(usize, f64)>,
}

/// Node of a tree.
pub(super) enum Node {
    /// Continues at one of two nodes.
    Branch(Branch),
    /// Ends with these votes.
    Leaf(std::ops::Range<usize>),
}

/// Test of one feature.
pub(super) struct Branch {
    pub(super) feature: usize,
    pub(super) test: Test,
    /// True if NaN passes.
    pub(super) missing_is_true: bool,
    pub(super) if_true: usize,
    pub(super) if_false: usize,
}

/// Condition on a feature.
pub(super) enum Test {
    /// Comparison with a threshold.
    Compare(Comparison, f64),
    /// Membership in a set.
    Member(Vec<f64>),
}

/// Comparison of a feature with the threshold.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
    NotEqual,
}

impl Branch {
    fn passes(&self, feature: f64) -> bool {
        if feature.is_nan() {
            return self.missing_is_true;
        }
        match &self.test {
            Test::Compare(Comparison::LessOrEqual, threshold) => feature <= *threshold,
            Test::Compare(Comparison::Less, threshold) => feature < *threshold,
            Test::Compare(Comparison::GreaterOrEqual, threshold) => feature >= *threshold,
            Test::Compare(Comparison::Greater, threshold) => feature > *threshold,
            Test::Compare(Comparison::Equal, threshold) => feature == *threshold,
            Test::Compare(Comparison::NotEqual, threshold) => feature != *threshold,
            Test::Member(members) => members.contains(&feature),
        }
    }
}

/// Aggregation of the votes for a target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Sum,
    Average,
    Min,
    Max,
}

/// Votes for one target so far.
#[derive(Clone, Copy, Default)]
struct VoteAggregate {
    sum: CompensatedSum,
    extreme: Option<f64>,
}

impl VoteAggregate {
    fn add(&mut self, aggregate: Aggregate, weight: f64) {
        let best = match (aggregate, self.extreme) {
            (Aggregate::Min, Some(extreme)) => extreme.min(weight),
            (Aggregate::Max, Some(extreme)) => extreme.max(weight),
            _ => weight,
        };
        self.sum.add(weight);
        self.extreme = Some(best);
    }

    /// Returns the number for the target, or 0 if no leaf votes for it.
    fn value(self, aggregate: Aggregate, trees: usize) -> f64 {
        match aggregate {
            Aggregate::Sum => self.sum.value(),
            Aggregate::Average => self.sum.value() / trees.max(1) as f64,
            Aggregate::Min | Aggregate::Max => self.extreme.unwrap_or(0.0),
        }
    }
}

impl Forest {
    /// Refuses votes for targets that do not exist.
    pub(super) fn check_targets(&self, targets: usize) -> Result<()> {
        match self.votes.iter().find(|&&(target, _)| target >= targets) {
            Some((target, _)) => Err(invalid(format!("a leaf votes for target {target}, but there are {targets}"))),
            None => Ok(()),
        }
    }

    /// Returns the aggregated votes, `[rows, targets]`.
    pub(super) fn score(&self, call: &Call<'_>, targets: usize, aggregate: Aggregate) -> Result<Vec<f64>> {
        let x = call.tensor(0)?;
        let (rows, columns) = rows_and_columns(x)?;
        self.check_targets(targets)?;
        let values = call.budget.read_floats(x)?;
        let count = rows.checked_mul(targets).ok_or_else(|| invalid("the number of scores overflows"))?;
        let mut scores: Vec<f64> = call.budget.scratch(count)?;
        let mut totals: Vec<VoteAggregate> = call.budget.scratch(targets)?;
        for row in 0..rows {
            call.budget.count_work(targets)?;
            let features = values.get(row * columns..(row + 1) * columns).unwrap_or(&[]);
            totals.fill(VoteAggregate::default());
            for &root in &self.roots {
                for &(target, weight) in self.leaf(call, root, features)? {
                    if let Some(total) = totals.get_mut(target) {
                        total.add(aggregate, weight);
                    }
                }
            }
            for (score, total) in scores.iter_mut().skip(row * targets).zip(&totals) {
                *score = total.value(aggregate, self.roots.len());
            }
        }
        Ok(scores)
    }

    /// Returns the votes of the leaf that the features lead to.
    fn leaf(&self, call: &Call<'_>, root: usize, features: &[f64]) -> Result<&[(usize, f64)]> {
        let mut place = root;
        loop {
            call.budget.count_work(1)?;
            match self.nodes.get(place) {
                Some(Node::Branch(branch)) => {
                    let feature = features.get(branch.feature).copied().ok_or_else(|| {
                        let (feature, count) = (branch.feature, features.len());
                        invalid(format!("a node tests feature {feature}, but the input has {count}"))
                    })?;
                    place = if branch.passes(feature) { branch.if_true } else { branch.if_false };
                }
                Some(Node::Leaf(votes)) => return Ok(self.votes.get(votes.clone()).unwrap_or(&[])),
                None => return Err(invalid(format!("there is no node {place}"))),
            }
        }
    }

    /// Returns one more than the largest target of any vote.
    pub(super) fn targets(&self) -> usize {
        self.votes.iter().map(|&(target, _)| target + 1).max().unwrap_or(1)
    }
}
