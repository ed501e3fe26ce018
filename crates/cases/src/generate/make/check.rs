//! Conversion of a `check` of op.yaml to an expectation.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::tensor::Tensor;
use onnx_conformance_reference::types::ValueType;
use onnx_conformance_reference::value::Value;

use crate::case::Expected;
use crate::compare::Accuracy;
use crate::compare::statistics::Distribution;
use crate::generate::file::check::{CheckFile, CheckName, CheckRule};
use crate::generate::make::draft::NodeDraft;
use crate::generate::make::model::Declared;

/// Returns the expectation for an output of a declared type and shape under a check.
pub(crate) fn checked(
    check: &CheckFile,
    declared: &Declared,
    expected: Option<&Value>,
    draft: &NodeDraft,
) -> Result<Expected, String> {
    let rule = match check {
        CheckFile::Named(CheckName::Set) => return Ok(Expected::Set(needed(expected)?.clone())),
        CheckFile::Rule(rule) => rule,
    };
    let input = |name: &str| {
        let tensor = draft.inputs.iter().find(|input| input.name == name).and_then(|input| input.value.as_tensor());
        tensor.cloned().ok_or_else(|| format!("the check names '{name}', which is no tensor among the inputs"))
    };
    let element = declared.value_type.element_type();
    let sampled = |law: Distribution| match (&declared.value_type, &declared.shape) {
        (ValueType::Tensor(_), Some(shape)) => Ok(Expected::SampledFrom { element, shape: shape.clone(), law }),
        _ => Err("a draw must be a tensor of a known shape; give `shape`".to_owned()),
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
        _ => Err("a check is one of permutation, lossy, normal, uniform, bernoulli, multinomial, dropout and mask"
            .to_owned()),
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
    Ok(Expected::Value(Value::Tensor(expected), Accuracy::Bounded(bound)))
}
