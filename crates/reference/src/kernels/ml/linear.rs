//! Linear models of ai.onnx.ml.

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::ml::post_transform::{Class, Labels, PostTransform, largest};
use crate::kernels::ml::preprocessing::rows_and_columns;
use crate::kernels::ml::shapes;
use crate::tensor::sum::CompensatedSum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::in_domain("ai.onnx.ml", "LinearClassifier", 1, linear_classifier)
        .shapes_of_all(shapes::linear_classes)
        .typed(shapes::label_type),
    Kernel::in_domain("ai.onnx.ml", "LinearRegressor", 1, linear_regressor).shape(shapes::regressed),
];

/// Computes, for each row and target, the weighted sum of the features plus the intercept. `intercepts_rule` is the
/// rule about their number.
fn linear_scores(call: &Call<'_>, targets: usize, coefficients: &[f64], intercepts_rule: &str) -> Result<Vec<f64>> {
    let x = call.tensor(0)?;
    let (rows, columns) = rows_and_columns(x)?;
    if targets.checked_mul(columns) != Some(coefficients.len()) {
        let found = coefficients.len();
        return Err(broken(
            "C5",
            format!("there are {found} coefficients for {targets} targets of {columns} features"),
        ));
    }
    let intercepts = call.optional_floats("intercepts").unwrap_or_default();
    if !intercepts.is_empty() && intercepts.len() != targets {
        let found = intercepts.len();
        return Err(broken(intercepts_rule, format!("there are {found} intercepts for {targets} targets")));
    }
    let values = call.budget.read_floats(x)?;
    let count = rows.checked_mul(targets).ok_or_else(|| invalid("the number of scores overflows"))?;
    let mut scores: Vec<f64> = call.budget.scratch(count)?;
    for (index, score) in scores.iter_mut().enumerate() {
        let (row, target) = (index / targets, index % targets);
        call.budget.count_work(columns)?;
        let mut total = CompensatedSum::default();
        total.add(intercepts.get(target).copied().unwrap_or(0.0));
        let features = values.iter().skip(row * columns).take(columns);
        for (&weight, &feature) in coefficients.iter().skip(target * columns).zip(features) {
            total.add_product(weight, feature);
        }
        *score = total.value();
    }
    Ok(scores)
}

fn linear_regressor(call: &Call<'_>) -> Result {
    let (rows, _) = rows_and_columns(call.tensor(0)?)?;
    let transform = PostTransform::from_call(call).rule("C6")?;
    let targets = call.int("targets")?;
    let targets = usize::try_from(targets)
        .ok()
        .filter(|&targets| targets > 0)
        .ok_or_else(|| invalid(format!("targets is {targets}; it must be 1 or more")))?;
    let coefficients = call.optional_floats("coefficients").ok_or_else(|| invalid("coefficients is not set"))?;
    let mut scores = linear_scores(call, targets, &coefficients, "C3")?;
    scores.chunks_exact_mut(targets).for_each(|row| transform.apply(row));
    Ok(call.floats(ElementType::Float, &[rows, targets], scores)?.into())
}

/// `LinearClassifier`: the label of the largest score. With one weight vector for two labels, its score is the second
/// label's, and the negative score the first's.
fn linear_classifier(call: &Call<'_>) -> Result {
    let (rows, columns) = rows_and_columns(call.tensor(0)?)?;
    let (transform, labels) =
        (PostTransform::from_call(call).rule("C6")?, Labels::from_call(call, "classlabels_ints").rule("C4")?);
    let coefficients = call.optional_floats("coefficients").ok_or_else(|| invalid("coefficients is not set"))?;
    let targets = coefficients.len() / columns.max(1);
    if targets == 0 || (targets > 1 && targets != labels.len()) || (targets == 1 && labels.len() > 2) {
        let (labels, found) = (labels.len(), coefficients.len());
        return Err(broken("C5", format!("there are {found} coefficients of {columns} features for {labels} labels")));
    }
    let mut scores = linear_scores(call, targets, &coefficients, "C5")?;
    let both = targets == 1 && labels.len() == 2;
    let decide = |row: &[f64]| match row {
        &[score] if both => Class::At(usize::from(score > 0.0)),
        &[score] if score > 0.0 => Class::Positive,
        &[_] => Class::Negative,
        row => Class::At(largest(row)),
    };
    let classes = call.budget.collect(scores.chunks_exact(targets).map(decide))?;
    if both {
        scores = call.budget.collect(scores.into_iter().flat_map(|score| [-score, score]))?;
    }
    let width = if both { 2 } else { targets };
    scores.chunks_exact_mut(width).for_each(|row| transform.apply(row));
    let scores = call.floats(ElementType::Float, &[rows, width], scores)?;
    Ok(vec![labels.name(call, &classes)?, scores].into())
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node_of};
    use crate::value::Value;

    fn ml(op: &str) -> OneNode {
        node_of("ai.onnx.ml", op, 1)
    }

    fn outputs(node: OneNode) -> (Vec<f64>, Vec<f64>) {
        match &node.outputs(2).run().unwrap()[..] {
            [Value::Tensor(labels), Value::Tensor(scores)] => (labels.floats(), scores.floats()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_of_a_regressor_name_the_numbers_of_weights_and_targets() {
        let node = || ml("LinearRegressor").input(ints(&[2, 2], &[1, 2, 3, 4])).set("targets", 2);
        let weights = || node().set("coefficients", &[1.0f32, 0.0, 1.0, 1.0][..]);
        assert!(weights().set("intercepts", &[0.5f32][..]).error().contains("1 intercepts for 2 targets"));
        assert!(
            node().set("coefficients", &[1.0f32][..]).error().contains("1 coefficients for 2 targets of 2 features")
        );
        assert!(weights().set("targets", -1).error().contains("targets is -1"));
    }

    #[test]
    fn one_weight_vector_decides_between_two_labels() {
        let node =
            || ml("LinearClassifier").input(floats(&[3, 1], &[2.0, 0.0, -2.0])).set("coefficients", &[1.0f32][..]);
        let (labels, scores) = outputs(node().set("classlabels_ints", &[4, 5][..]));
        assert_eq!((labels, scores), (vec![5.0, 4.0, 4.0], vec![-2.0, 2.0, 0.0, 0.0, 2.0, -2.0]));
        let (labels, scores) = outputs(node().set("classlabels_ints", &[1][..]));
        assert_eq!((labels, scores), (vec![1.0, 0.0, 0.0], vec![2.0, 0.0, -2.0]));
        let refused = node().set("classlabels_ints", &[1, 2, 3][..]).outputs(2);
        assert!(refused.error().contains("for 3 labels"));
    }
}
