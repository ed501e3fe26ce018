//! Accuracy of an operator's outputs, as op.yaml states it.

use std::collections::BTreeMap;

use onnx_conformance_reference::dtype::{ElementType, FloatFormat};
use serde::Deserialize;

use crate::compare::Accuracy;
use crate::generate::file::expression::{ExpressionError, Size};
use crate::generate::file::ordered::Ordered;

/// Error of resolving an accuracy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccuracyError {
    /// A key of `by_type` is not an element type.
    #[error("by_type names '{0}', which is not an element type")]
    ByType(String),
    /// The type of `through` is not a floating type.
    #[error("through names '{0}', which is not a floating type")]
    Through(String),
    /// A rule has no number, or several.
    #[error("an accuracy has exactly one of ulp, abs, roundoffs and sum")]
    Number,
    /// A rule with `through` has neither `roundoffs` nor `sum`, or another number too.
    #[error("`through` requires exactly one of roundoffs and sum")]
    NumberOfThrough,
    /// A number of ULP is negative.
    #[error("'{size}' is {value}, which is not a number of ULP")]
    Ulp {
        /// The number as written.
        size: Size,
        /// Its value.
        value: i64,
    },
    /// An expression has no value.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

/// Accuracy of outputs of floating types. All other types are exact.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "write exact, {ulp: N}, {abs: DISTANCE}, {roundoffs: K} or {sum: K}; all but exact need a source, and may have other rules for some types under narrow and by_type"
)]
pub enum AccuracyFile {
    /// The same value.
    #[default]
    Default,
    /// By name.
    Named(Exactness),
    /// By a number.
    Rule(Box<RuleFile>),
}

/// A rule without a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Exactness {
    /// The same value.
    Exact,
}

/// A rule with a number, and the source of the rule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// At most this many representable values away: a number, or an expression over the names that the case defines.
    pub ulp: Option<Size>,
    /// At most this far away.
    pub abs: Option<f64>,
    /// At most this multiple of the type's unit roundoff times `1 + |expected|` away: for a computation with
    /// intermediate values near 1.
    pub roundoffs: Option<f64>,
    /// At most this multiple of the type's unit roundoff times the sum of absolute terms away, for an accumulation: a
    /// number, or an expression over the names that the case defines.
    pub sum: Option<Size>,
    /// Another rule for floating types of at most 16 bits, in which few runtimes compute.
    pub narrow: Option<TypeRule>,
    /// The source of the rule: `standard`, `body`, `upstream` or `ours`.
    pub source: Source,
    /// Other rules for some element types.
    #[serde(default)]
    pub by_type: Ordered<TypeRule>,
}

/// A rule for an element type.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "write exact, {ulp: N}, {abs: DISTANCE}, {roundoffs: K} or {sum: K}, the last two also with `through`, a type"
)]
pub enum TypeRule {
    /// By name.
    Named(Exactness),
    /// By a number.
    Number(NumberFile),
}

/// A rule with a number.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NumberFile {
    /// At most this many representable values away.
    pub ulp: Option<Size>,
    /// At most this far away.
    pub abs: Option<f64>,
    /// At most this multiple of unit roundoff times `1 + |expected|` away.
    pub roundoffs: Option<f64>,
    /// At most this multiple of unit roundoff times the sum of absolute terms away.
    pub sum: Option<Size>,
    /// The type of the computation. Its unit roundoff applies, and the result is rounded once, which may add one unit
    /// in the last place.
    pub through: Option<String>,
}

/// Source of a rule.
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
    /// Our own judgement, argued by this project.
    Ours,
}

/// Accuracy for an element type. A bound that depends on the element is given as a formula.
pub type ResolvedAccuracy = Accuracy<ErrorBound>;

/// Bound of each element of an output: the rounding error of a computation in its own type or in a wider one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBound {
    /// The wider type of the computation, from which the result is rounded once.
    pub through: Option<ElementType>,
    /// The multiple of the unit roundoff of the computation's type.
    pub multiple: f64,
    /// True if the multiple is times the sum of absolute terms, false if it is times `1 + |expected|`.
    pub is_sum: bool,
}

impl ErrorBound {
    /// Returns the bound of an element of type `element` with the value `expected`; `magnitude` is the sum of its
    /// absolute terms.
    pub fn bound(&self, element: ElementType, expected: f64, magnitude: f64) -> f64 {
        let roundoff = self.through.unwrap_or(element).float_format().map_or(0.0, FloatFormat::unit_roundoff);
        let size = if self.is_sum { magnitude } else { 1.0 + expected.abs() };
        let ulp = self.through.and_then(|_| element.float_format()?.ulp(expected)).unwrap_or(0.0);
        self.multiple * roundoff * size + ulp
    }
}

impl AccuracyFile {
    /// Resolves the rule for an element type, with the values of the names.
    pub fn resolve(
        &self,
        element: ElementType,
        names: &BTreeMap<String, i64>,
    ) -> Result<ResolvedAccuracy, AccuracyError> {
        let AccuracyFile::Rule(rule) = self else { return Ok(Accuracy::Exact) };
        if let Some(name) = rule.by_type.keys().find(|name| name.parse::<ElementType>().is_err()) {
            return Err(AccuracyError::ByType(name.to_owned()));
        }
        match rule.by_type.get(element.name()) {
            Some(own) => own.resolve(names),
            None if rule.narrow.is_some() && element.is_float() && element.bits() <= 16 => {
                rule.narrow.as_ref().map_or_else(|| rule.number().resolve(names), |narrow| narrow.resolve(names))
            }
            None => rule.number().resolve(names),
        }
    }
}

impl AccuracyFile {
    /// Describes the rules: the types, and the accuracy of each.
    pub fn sentences(&self) -> Vec<(String, String)> {
        let AccuracyFile::Rule(rule) = self else { return vec![("all types".to_owned(), "exact".to_owned())] };
        let source = match rule.source {
            Source::Standard => "by a sentence of the standard",
            Source::Body => "by the function body that defines the operator",
            Source::Upstream => "as ONNX's own tests have it",
            Source::Ours => "argued by this project",
        };
        let mut sentences = vec![("floating types".to_owned(), format!("{}, {source}", rule.number().sentence()))];
        if let Some(narrow) = &rule.narrow {
            sentences.push(("floating types of at most 16 bits".to_owned(), narrow.sentence()));
        }
        sentences.extend(rule.by_type.0.iter().map(|(name, rule)| (name.clone(), rule.sentence())));
        sentences.push(("other types".to_owned(), "exact".to_owned()));
        sentences
    }
}

impl TypeRule {
    fn sentence(&self) -> String {
        match self {
            TypeRule::Named(Exactness::Exact) => "exact".to_owned(),
            TypeRule::Number(number) => number.sentence(),
        }
    }
}

impl NumberFile {
    fn sentence(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.ulp.as_ref().map(|most| format!("at most {most} ULP")));
        parts.extend(self.abs.map(|distance| format!("at most {distance} away")));
        parts.extend(
            self.roundoffs.map(|multiple| format!("at most {multiple} times the unit roundoff, times 1 + |expected|")),
        );
        parts.extend(
            self.sum
                .as_ref()
                .map(|multiple| format!("at most {multiple} times the unit roundoff, times the sum of absolute terms")),
        );
        parts.extend(self.through.as_ref().map(|name| format!("computed in {name} and rounded once")));
        parts.join(", ")
    }
}

impl TypeRule {
    fn resolve(&self, names: &BTreeMap<String, i64>) -> Result<ResolvedAccuracy, AccuracyError> {
        match self {
            TypeRule::Named(Exactness::Exact) => Ok(Accuracy::Exact),
            TypeRule::Number(number) => number.resolve(names),
        }
    }
}

impl RuleFile {
    fn number(&self) -> NumberFile {
        NumberFile {
            ulp: self.ulp.clone(),
            abs: self.abs,
            roundoffs: self.roundoffs,
            sum: self.sum.clone(),
            through: None,
        }
    }
}

impl NumberFile {
    fn resolve(&self, names: &BTreeMap<String, i64>) -> Result<ResolvedAccuracy, AccuracyError> {
        if let Some(name) = &self.through {
            return self.resolve_through(name, names);
        }
        match (&self.ulp, self.abs, self.roundoffs, &self.sum) {
            (Some(most), None, None, None) => {
                let value = most.value(names)?;
                let most = u64::try_from(value).map_err(|_| AccuracyError::Ulp { size: most.clone(), value })?;
                Ok(Accuracy::Ulp(most))
            }
            (None, Some(distance), None, None) => Ok(Accuracy::Absolute(distance)),
            (None, None, Some(multiple), None) => Ok(Accuracy::Roundoffs(multiple)),
            (None, None, None, Some(multiple)) => {
                let multiple = multiple.value(names)? as f64;
                Ok(Accuracy::Bounded(ErrorBound { through: None, multiple, is_sum: true }))
            }
            _ => Err(AccuracyError::Number),
        }
    }

    fn resolve_through(&self, name: &str, names: &BTreeMap<String, i64>) -> Result<ResolvedAccuracy, AccuracyError> {
        let element = name.parse::<ElementType>().ok().filter(|element| element.is_float());
        let element = element.ok_or_else(|| AccuracyError::Through(name.to_owned()))?;
        let (multiple, is_sum) = match (&self.ulp, self.abs, self.roundoffs, &self.sum) {
            (None, None, Some(multiple), None) => (multiple, false),
            (None, None, None, Some(multiple)) => (multiple.value(names)? as f64, true),
            _ => return Err(AccuracyError::NumberOfThrough),
        };
        Ok(Accuracy::Bounded(ErrorBound { through: Some(element), multiple, is_sum }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str, element: ElementType) -> Result<ResolvedAccuracy, AccuracyError> {
        let file: AccuracyFile = serde_yaml::from_str(text).unwrap();
        file.resolve(element, &BTreeMap::from([("N".to_owned(), 5)]))
    }

    fn sum(multiple: f64) -> ResolvedAccuracy {
        Accuracy::Bounded(ErrorBound { through: None, multiple, is_sum: true })
    }

    #[test]
    fn a_type_may_have_a_rule_of_its_own() {
        let text = "{ulp: 8, source: ours, by_type: {float16: {ulp: 2}, double: {sum: 4}, bfloat16: exact}}";
        for (element, expected) in [
            (ElementType::Float, Accuracy::Ulp(8)),
            (ElementType::Float16, Accuracy::Ulp(2)),
            (ElementType::Double, sum(4.0)),
            (ElementType::Bfloat16, Accuracy::Exact),
        ] {
            assert_eq!(ask(text, element), Ok(expected), "{element}");
        }
    }

    #[test]
    fn a_number_of_ulp_may_grow_with_a_size() {
        assert_eq!(ask("{ulp: 2 + N, source: ours}", ElementType::Float), Ok(Accuracy::Ulp(7)));
        assert!(ask("{ulp: 2 - N, source: ours}", ElementType::Float).is_err());
    }

    #[test]
    fn narrow_types_are_computed_in_float_and_rounded_once() {
        let text = "{sum: 8 * N, source: ours, narrow: {sum: N, through: float}, by_type: {float16: exact}}";
        let through = ErrorBound { through: Some(ElementType::Float), multiple: 5.0, is_sum: true };
        assert_eq!(ask(text, ElementType::Float), Ok(sum(40.0)));
        assert_eq!(ask(text, ElementType::Float16), Ok(Accuracy::Exact));
        assert_eq!(ask(text, ElementType::Bfloat16), Ok(Accuracy::Bounded(through)));
        // One unit in the last place of bfloat16 at 3 is 2^-6; the unit roundoff of float is 2^-24.
        let ulp = 0.015_625;
        assert_eq!(through.bound(ElementType::Bfloat16, 3.0, 16.0), ulp + 80.0 / 16_777_216.0);
        let around_one = ErrorBound { is_sum: false, ..through };
        assert_eq!(around_one.bound(ElementType::Bfloat16, -3.0, 16.0), ulp + 20.0 / 16_777_216.0);
        assert!(ask("{ulp: 1, source: ours, narrow: {ulp: 1, through: float}}", ElementType::Float16).is_err());
        assert!(ask("{ulp: 1, source: ours, narrow: {sum: 1, through: int8}}", ElementType::Float16).is_err());
    }

    #[test]
    fn a_rule_reads_as_a_sentence() {
        let text = "{sum: 8, source: ours, narrow: {sum: 64, through: float}, by_type: {double: exact}}";
        let file: AccuracyFile = serde_yaml::from_str(text).unwrap();
        let sum = "times the unit roundoff, times the sum of absolute terms";
        let expected = [
            ("floating types", format!("at most 8 {sum}, argued by this project")),
            ("floating types of at most 16 bits", format!("at most 64 {sum}, computed in float and rounded once")),
            ("double", "exact".to_owned()),
            ("other types", "exact".to_owned()),
        ];
        assert_eq!(file.sentences(), expected.map(|(types, rule)| (types.to_owned(), rule)));
        assert_eq!(AccuracyFile::Default.sentences(), [("all types".to_owned(), "exact".to_owned())]);
    }

    #[test]
    fn two_rules_at_once_and_unknown_types_are_refused() {
        assert!(ask("{ulp: 2, abs: 1, source: ours}", ElementType::Float).is_err());
        assert!(ask("{ulp: 2, source: ours, by_type: {float17: exact}}", ElementType::Float).is_err());
    }
}
