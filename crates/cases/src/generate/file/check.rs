//! How an output is held against what is expected, other than element by element.

use serde::Deserialize;

/// How an output is held against what is expected.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "no check is written so; it is set, {permutation: AXIS}, {lossy: DISTANCE}, {normal: [MEAN, DEVIATION]}, {uniform: [LOW, HIGH]}, {bernoulli: INPUT}, {multinomial: INPUT}, {dropout: [INPUT, RATIO]} or {mask: [INPUT, RATIO]}"
)]
pub enum CheckFile {
    /// By name.
    Named(CheckName),
    /// With what it needs.
    Rule(CheckRule),
}

/// A check that needs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CheckName {
    /// The slices along the first axis, or the items of a sequence, in any order.
    Set,
}

/// A check with what it needs: one of these.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckRule {
    /// The elements of each lane along this axis, in any order.
    pub permutation: Option<i64>,
    /// At most this far away, in an integer type too: a lossy format.
    pub lossy: Option<f64>,
    /// Drawn from the normal distribution of this mean and standard deviation.
    pub normal: Option<(f64, f64)>,
    /// Drawn evenly from this range.
    pub uniform: Option<(f64, f64)>,
    /// 1 with the probability that the input of this name gives, or else 0.
    pub bernoulli: Option<String>,
    /// Classes drawn by the logarithms of their weights, which the input of this name gives.
    pub multinomial: Option<String>,
    /// The elements of the input of this name, 0 with this probability and scaled otherwise.
    pub dropout: Option<(String, f64)>,
    /// In the shape of the input of this name, false with this probability.
    pub mask: Option<(String, f64)>,
}

impl CheckFile {
    /// Whether the check does without an expected value.
    pub(crate) fn is_free(&self) -> bool {
        match self {
            CheckFile::Named(CheckName::Set) => false,
            CheckFile::Rule(rule) => rule.permutation.is_none() && rule.lossy.is_none(),
        }
    }

    /// The names of inputs that the check speaks of.
    pub(crate) fn input_names(&mut self) -> Vec<&mut String> {
        let CheckFile::Rule(rule) = self else { return Vec::new() };
        let pairs = [&mut rule.dropout, &mut rule.mask].into_iter().flatten().map(|(name, _)| name);
        rule.bernoulli.iter_mut().chain(rule.multinomial.iter_mut()).chain(pairs).collect()
    }
}
