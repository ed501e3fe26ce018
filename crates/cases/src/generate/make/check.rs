//! Conversion of a `check` of op.yaml to an expectation.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::{Tensor, TensorError};
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::Expected;
use crate::compare::Accuracy;
use crate::compare::statistics::Distribution;
use crate::generate::file::check::{CheckFile, CheckName, CheckRule};
use crate::generate::make::draft::NodeDraft;
use crate::generate::make::model::Declared;

/// Error of converting a check to an expectation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CheckError {
    /// The check has no rule.
    #[error("a check has one of permutation, lossy, normal, uniform, bernoulli, multinomial, dropout and mask")]
    NoRule,
    /// The check needs an expected value.
    #[error("the check needs an expected value, but no kernel computes one; add `values`")]
    NoValue,
    /// The check is for tensors, but the output is something else.
    #[error("the check only supports tensors")]
    NoTensor,
    /// The check draws elements, but the output is not a tensor of a known shape.
    #[error("a random output must be a tensor of a known shape; add `shape`")]
    NoShape,
    /// The check names an input that does not exist or is not a tensor.
    #[error("the check names '{0}', which is not a tensor input")]
    NoInput(String),
    /// A bound cannot be created.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Returns the expectation for an output of a declared type and shape under a check.
pub(crate) fn checked(
    check: &CheckFile,
    declared: &Declared,
    expected: Option<&Value>,
    draft: &NodeDraft,
) -> Result<Expected, CheckError> {
    let rule = match check {
        CheckFile::Named(CheckName::Set) => return Ok(Expected::Set(required_value(expected)?.clone())),
        CheckFile::Rule(rule) => rule,
    };
    let input = |name: &str| {
        let tensor = draft.inputs.iter().find(|input| input.name == name).and_then(|input| input.value.as_tensor());
        tensor.cloned().ok_or_else(|| CheckError::NoInput(name.to_owned()))
    };
    let element = declared.value_type.element_type();
    let sampled = |law: Distribution| match (&declared.value_type, &declared.shape) {
        (ValueType::Tensor(_), Some(shape)) => Ok(Expected::SampledFrom { element, shape: shape.clone(), law }),
        _ => Err(CheckError::NoShape),
    };
    match rule {
        CheckRule { permutation: Some(axis), .. } => Ok(Expected::PermutedAlongAxis(tensor(expected)?, *axis)),
        CheckRule { lossy: Some(distance), .. } => bounded(tensor(expected)?, *distance),
        CheckRule { normal: Some((mean, deviation)), .. } => {
            sampled(Distribution::Normal { mean: *mean, deviation: *deviation })
        }
        CheckRule { uniform: Some((low, high)), .. } => sampled(Distribution::Uniform { low: *low, high: *high }),
        CheckRule { bernoulli: Some(name), .. } => sampled(Distribution::Bernoulli(input(name)?)),
        CheckRule { multinomial: Some(name), .. } => sampled(Distribution::Multinomial(input(name)?)),
        CheckRule { dropout: Some((name, ratio)), .. } => {
            Ok(Expected::DropoutOf { source: input(name)?, ratio: *ratio })
        }
        CheckRule { mask: Some((name, ratio)), .. } => {
            Ok(Expected::Mask { shape: input(name)?.shape().to_vec(), ratio: *ratio })
        }
        _ => Err(CheckError::NoRule),
    }
}

fn required_value(expected: Option<&Value>) -> Result<&Value, CheckError> {
    expected.ok_or(CheckError::NoValue)
}

fn tensor(expected: Option<&Value>) -> Result<Tensor, CheckError> {
    required_value(expected)?.as_tensor().cloned().ok_or(CheckError::NoTensor)
}

fn bounded(expected: Tensor, distance: f64) -> Result<Expected, CheckError> {
    let bounds = vec![distance; expected.len()];
    let bound = Tensor::of_floats(ElementType::Double, expected.shape(), &bounds)?;
    Ok(Expected::Value(Value::Tensor(expected), Accuracy::Bounded(bound)))
}
