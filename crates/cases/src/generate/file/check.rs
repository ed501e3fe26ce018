//! Checks of an output other than element by element.

use serde::{Deserialize, Serialize};

/// A check of an output other than element by element.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "not a check; write set, {permutation: AXIS}, {lossy: DISTANCE}, {normal: [MEAN, DEVIATION]}, {uniform: [LOW, HIGH]}, {bernoulli: INPUT}, {multinomial: INPUT}, {dropout: [INPUT, RATIO]} or {mask: [INPUT, RATIO]}"
)]
pub enum CheckFile {
    /// By name.
    Named(CheckName),
    /// A check with parameters.
    Rule(CheckRule),
}

/// A check without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckName {
    /// The slices along the first axis, or the items of a sequence, in any order.
    Set,
}

/// A check with parameters. Exactly one is given.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckRule {
    /// The elements of each lane along this axis, in any order.
    pub permutation: Option<i64>,
    /// At most this far away, in an integer type too: for a lossy format.
    pub lossy: Option<f64>,
    /// A sample of the normal distribution with this mean and standard deviation.
    pub normal: Option<(f64, f64)>,
    /// A sample of the uniform distribution over this range.
    pub uniform: Option<(f64, f64)>,
    /// 1 with the probability in the input of this name, else 0.
    pub bernoulli: Option<String>,
    /// Classes by the logarithms of their weights, which are in the input of this name.
    pub multinomial: Option<String>,
    /// Dropout of the input of this name: each element is 0 with this probability, else scaled.
    pub dropout: Option<(String, f64)>,
    /// A mask in the shape of the input of this name, each element false with this probability.
    pub mask: Option<(String, f64)>,
}

impl CheckFile {
    /// Returns true if the check needs no expected value.
    pub(crate) fn is_free(&self) -> bool {
        match self {
            CheckFile::Named(CheckName::Set) => false,
            CheckFile::Rule(rule) => rule.permutation.is_none() && rule.lossy.is_none(),
        }
    }

    /// Returns the input names in the check.
    pub(crate) fn input_names(&mut self) -> Vec<&mut String> {
        let CheckFile::Rule(rule) = self else { return Vec::new() };
        let pairs = [&mut rule.dropout, &mut rule.mask].into_iter().flatten().map(|(name, _)| name);
        rule.bernoulli.iter_mut().chain(rule.multinomial.iter_mut()).chain(pairs).collect()
    }
}
