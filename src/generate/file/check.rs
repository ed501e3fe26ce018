//! How an output is held against what is expected, other than element by element.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;
use serde::Deserialize;

use crate::case::Expected;
use crate::compare::statistics::Distribution;
use crate::generate::make::model::Declared;
use crate::generate::plan::fit::NodeDraft;

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

    /// What an output of a declared type and shape must be.
    pub(crate) fn expected_output(
        &self,
        declared: &Declared,
        expected: Option<&Value>,
        parts: &NodeDraft,
    ) -> Result<Expected, String> {
        let rule = match self {
            CheckFile::Named(CheckName::Set) => return Ok(Expected::Set(needed(expected)?.clone())),
            CheckFile::Rule(rule) => rule,
        };
        let input = |name: &str| {
            let tensor = parts.inputs.iter().find(|input| input.name == name).and_then(|input| input.value.as_tensor());
            tensor.cloned().ok_or_else(|| format!("the check names '{name}', which is no tensor among the inputs"))
        };
        let element = declared.value_type.element_type();
        let drawn = |law: Distribution| match (&declared.value_type, &declared.shape) {
            (ValueType::Tensor(_), Some(shape)) => Ok(Expected::SampledFrom { element, shape: shape.clone(), law }),
            _ => Err("a draw must be a tensor of a known shape; give `shape`".to_owned()),
        };
        match rule {
            CheckRule { permutation: Some(axis), .. } => Ok(Expected::PermutedAlongAxis(tensor(expected)?, *axis)),
            CheckRule { lossy: Some(distance), .. } => bounded(tensor(expected)?, *distance),
            CheckRule { normal: Some((mean, deviation)), .. } => {
                drawn(Distribution::Normal { mean: *mean, deviation: *deviation })
            }
            CheckRule { uniform: Some((low, high)), .. } => drawn(Distribution::Uniform { low: *low, high: *high }),
            CheckRule { bernoulli: Some(name), .. } => drawn(Distribution::Bernoulli(input(name)?)),
            CheckRule { multinomial: Some(name), .. } => drawn(Distribution::Multinomial(input(name)?)),
            CheckRule { dropout: Some((name, ratio)), .. } => {
                Ok(Expected::DropoutOf { source: input(name)?, ratio: *ratio })
            }
            CheckRule { mask: Some((name, ratio)), .. } => {
                Ok(Expected::Mask { shape: input(name)?.shape().to_vec(), ratio: *ratio })
            }
            _ => Err("a check is one of permutation, lossy, normal, uniform, bernoulli, multinomial, dropout and mask"
                .to_owned()),
        }
    }
}

fn needed(expected: Option<&Value>) -> Result<&Value, String> {
    expected.ok_or_else(|| "the check needs an expected value, and no kernel computes one; give `values`".to_owned())
}

fn tensor(expected: Option<&Value>) -> Result<Tensor, String> {
    needed(expected)?.as_tensor().cloned().ok_or_else(|| "the check is for tensors".to_owned())
}

fn bounded(expected: Tensor, distance: f64) -> Result<Expected, String> {
    let bounds = vec![distance; expected.len()];
    let bound = Tensor::of_floats(ElementType::Double, expected.shape(), &bounds).map_err(|error| error.to_string())?;
    Ok(Expected::Bounded(expected, bound))
}
