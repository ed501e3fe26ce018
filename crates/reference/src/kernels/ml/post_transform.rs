//! Post-transforms of scores and labels of classes, shared by the models of ai.onnx.ml.

use std::sync::Arc;

use crate::dtype::ElementType;
use crate::kernels::elementwise::activation::sigmoid;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{broken, invalid};
use crate::kernels::reduction::softmax::softmax;
use crate::tensor::Tensor;
use crate::tensor::sum::sum;

/// Final transform of a row of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostTransform {
    /// No transform.
    None,
    /// Softmax of the row.
    Softmax,
    /// Logistic function of each score.
    Logistic,
    /// Softmax of the nonzero scores. Zeros are kept.
    SoftmaxZero,
    /// Quantile of the normal distribution at each score.
    Probit,
}

impl PostTransform {
    /// Reads the attribute `post_transform`.
    pub(super) fn from_call(call: &Call<'_>) -> Result<PostTransform> {
        call.one_of(
            "post_transform",
            &[
                ("NONE", PostTransform::None),
                ("SOFTMAX", PostTransform::Softmax),
                ("LOGISTIC", PostTransform::Logistic),
                ("SOFTMAX_ZERO", PostTransform::SoftmaxZero),
                ("PROBIT", PostTransform::Probit),
            ],
        )
    }

    /// Returns the transform of a code, as `TreeEnsemble` numbers them.
    pub(super) fn from_code(code: i64) -> Result<PostTransform> {
        Ok(match code {
            0 => PostTransform::None,
            1 => PostTransform::Softmax,
            2 => PostTransform::Logistic,
            3 => PostTransform::SoftmaxZero,
            4 => PostTransform::Probit,
            other => return Err(broken("C10", format!("post_transform is {other}; it must be from 0 to 4"))),
        })
    }

    /// Transforms one row of scores.
    pub(super) fn apply(self, row: &mut [f64]) {
        match self {
            PostTransform::None => {}
            PostTransform::Logistic => row.iter_mut().for_each(|score| *score = sigmoid(*score)),
            PostTransform::Probit => row.iter_mut().for_each(|score| *score = probit(*score)),
            PostTransform::Softmax => softmax(row),
            PostTransform::SoftmaxZero => softmax_zero(row),
        }
    }
}

/// Softmax of the nonzero scores. Scores within 1e-7 of zero count as zero, and contribute only `score * exp(-max)`.
fn softmax_zero(row: &mut [f64]) {
    const ZERO: f64 = 1e-7;
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for score in row.iter_mut() {
        *score = if score.abs() > ZERO { libm::exp(*score - largest) } else { *score * libm::exp(-largest) };
    }
    let total = sum(row.iter().copied());
    for score in row.iter_mut() {
        *score = if total == 0.0 { 0.5 } else { *score / total };
    }
}

/// Quantile of the normal distribution, by the approximation that runtimes share: Winitzki's inverse of the error
/// function with a = 0.147, and 0 at the ends.
fn probit(p: f64) -> f64 {
    const A: f64 = 0.147;
    let x = 2.0 * p - 1.0;
    let product = (1.0 - x) * (1.0 + x);
    if product == 0.0 {
        return 0.0;
    }
    let log = libm::log(product);
    let half = 2.0 / (std::f64::consts::PI * A) + 0.5 * log;
    let inverse = libm::sqrt(libm::sqrt(half * half - log / A) - half);
    std::f64::consts::SQRT_2 * if x < 0.0 { -inverse } else { inverse }
}

/// Names of the classes.
pub(super) enum Labels {
    /// Integer labels.
    Integers(Vec<i64>),
    /// String labels.
    Strings(Vec<Arc<str>>),
}

/// Decision of a classifier for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The label at this index.
    At(usize),
    /// The only class applies, with the label 1.
    Positive,
    /// The only class does not apply: label 0.
    Negative,
}

impl Labels {
    /// Reads the labels from `classlabels_strings` or the attribute `integers`. Exactly one must be set.
    pub(super) fn from_call(call: &Call<'_>, integers: &str) -> Result<Labels> {
        match (call.optional_ints(integers), call.optional_strings("classlabels_strings")) {
            (Some(labels), None) => Ok(Labels::Integers(labels.to_vec())),
            (None, Some(labels)) => Ok(Labels::Strings(labels)),
            (None, None) => Err(invalid(format!("neither {integers} nor classlabels_strings is set; one must be"))),
            _ => Err(invalid(format!("{integers} and classlabels_strings are both set; only one may be"))),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Labels::Integers(labels) => labels.len(),
            Labels::Strings(labels) => labels.len(),
        }
    }

    /// Returns the label of each row's class.
    pub(super) fn name(&self, call: &Call<'_>, classes: &[Class]) -> Result<Tensor> {
        let shape = [classes.len()];
        let outside = || invalid(format!("a class has an index beyond the {} labels", self.len()));
        match self {
            Labels::Integers(labels) => {
                let name = |class: &Class| match class {
                    Class::At(index) => labels.get(*index).copied().map(i128::from).ok_or_else(outside),
                    Class::Positive => Ok(1),
                    Class::Negative => Ok(0),
                };
                call.integers(ElementType::Int64, &shape, classes.iter().map(name).collect::<Result<Vec<_>>>()?)
            }
            Labels::Strings(labels) => {
                let (positive, negative): (Arc<str>, Arc<str>) = (Arc::from("1"), Arc::from("0"));
                let name = |class: &Class| match class {
                    Class::At(index) => labels.get(*index).cloned().ok_or_else(outside),
                    Class::Positive => Ok(Arc::clone(&positive)),
                    Class::Negative => Ok(Arc::clone(&negative)),
                };
                let names = classes.iter().map(name).collect::<Result<Vec<_>>>()?;
                Ok(call.allocate(ElementType::String, &shape)?.strings(names)?)
            }
        }
    }
}

/// Returns the index of the largest score. Ties go to the first.
pub(super) fn largest(row: &[f64]) -> usize {
    let better = |best: usize, (index, score): (usize, &f64)| {
        if row.get(best).is_some_and(|b| score > b) { index } else { best }
    };
    row.iter().enumerate().fold(0, better)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transformed(transform: PostTransform, row: &[f64]) -> Vec<f64> {
        let mut row = row.to_vec();
        transform.apply(&mut row);
        row
    }

    #[test]
    fn transforms_hold_at_the_extremes() {
        assert_eq!(transformed(PostTransform::SoftmaxZero, &[0.0, 0.0]), [0.5, 0.5]);
        assert_eq!(transformed(PostTransform::SoftmaxZero, &[0.0, 3.0]), [0.0, 1.0]);
        assert_eq!(transformed(PostTransform::Probit, &[0.5, 0.0, 1.0]), [0.0, 0.0, 0.0]);
        // The quantile at 0.975 is 1.959964. The approximation is within 0.002 of the inverse error function.
        let [low, high] = transformed(PostTransform::Probit, &[0.025, 0.975])[..] else { panic!() };
        assert!((high - 1.959_964).abs() < 0.005 && (low + high).abs() < 1e-12, "{low}, {high}");
    }

    #[test]
    fn the_first_of_equal_scores_wins() {
        assert_eq!([largest(&[1.0, 3.0, 3.0]), largest(&[-1.0]), largest(&[])], [1, 0, 0]);
    }
}
