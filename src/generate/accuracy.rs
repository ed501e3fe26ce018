//! How exact the outputs of an operator must be, as op.yaml says it.

use serde::Deserialize;

use crate::compare::Accuracy;

/// How exact outputs of floating types must be; all others are exact.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "exact, {ulp: N}, {abs: DISTANCE} or {sum: K}, each with a source where it is not exact")]
pub enum AccuracyFile {
    /// The same value.
    #[default]
    Default,
    /// By name.
    Named(Exactness),
    /// By a number.
    Rule(RuleFile),
}

/// A rule without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Exactness {
    /// The same value.
    Exact,
}

/// A rule with a number, and where it comes from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// At most this many representable values away.
    pub ulp: Option<u64>,
    /// At most this far away.
    pub abs: Option<f64>,
    /// An accumulation may err by this multiple of the type's unit roundoff times the sum of absolute terms.
    pub sum: Option<f64>,
    /// Where the rule comes from: `standard`, `body`, `upstream` or `ours`.
    pub source: Source,
}

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A sentence of the standard.
    Standard,
    /// The function body that defines the operator.
    Body,
    /// Upstream's tests or runner.
    Upstream,
    /// Our own judgement, argued in docs/accuracy.md.
    Ours,
}

/// What a rule asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// The same rule for every element.
    Uniform(Accuracy),
    /// A bound for each element: this multiple of unit roundoff times the magnitude.
    Sum(f64),
}

impl AccuracyFile {
    /// What the rule asks for.
    pub fn ask(&self) -> Result<Ask, String> {
        let AccuracyFile::Rule(rule) = self else { return Ok(Ask::Uniform(Accuracy::Exact)) };
        match (rule.ulp, rule.abs, rule.sum) {
            (Some(most), None, None) => Ok(Ask::Uniform(Accuracy::Ulp(most))),
            (None, Some(distance), None) => Ok(Ask::Uniform(Accuracy::Absolute(distance))),
            (None, None, Some(multiple)) => Ok(Ask::Sum(multiple)),
            _ => Err("an accuracy is one of ulp, abs and sum".to_owned()),
        }
    }
}
