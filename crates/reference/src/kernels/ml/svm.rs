//! Support vector machines (SVM) of ai.onnx.ml.

use crate::dtype::ElementType;
use crate::kernels::elementwise::activation::sigmoid;
use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::ml::post_transform::{Class, Labels, PostTransform, largest};
use crate::kernels::ml::preprocessing::rows_and_columns;
use crate::kernels::ml::shapes;
use crate::tensor::sum::{CompensatedSum, dot, sum};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::in_domain("ai.onnx.ml", "SVMClassifier", 1, svm_classifier)
        .shapes_of_all(shapes::svm_classes)
        .typed(shapes::label_type),
    Kernel::in_domain("ai.onnx.ml", "SVMRegressor", 1, svm_regressor).shape(shapes::regressed_to_one),
];

/// Kernel function, which measures the similarity of two vectors.
struct Similarity {
    kind: SimilarityKind,
    gamma: f64,
    coef0: f64,
    degree: f64,
}

#[derive(Clone, Copy)]
enum SimilarityKind {
    Linear,
    Poly,
    Rbf,
    Sigmoid,
}

impl Similarity {
    const LINEAR: Similarity = Similarity { kind: SimilarityKind::Linear, gamma: 0.0, coef0: 0.0, degree: 0.0 };

    fn from_call(call: &Call<'_>) -> Result<Similarity> {
        let kinds = [
            ("LINEAR", SimilarityKind::Linear),
            ("POLY", SimilarityKind::Poly),
            ("RBF", SimilarityKind::Rbf),
            ("SIGMOID", SimilarityKind::Sigmoid),
        ];
        let kind = call.one_of("kernel_type", &kinds).rule("C6")?;
        match call.optional_floats("kernel_params").unwrap_or_default()[..] {
            [] => Ok(Similarity { kind, ..Similarity::LINEAR }),
            [gamma, coef0, degree] => Ok(Similarity { kind, gamma, coef0, degree }),
            ref other => {
                let found = other.len();
                let message = format!("kernel_params has {found} elements; it must have three: gamma, coef0, degree");
                Err(broken("C2", message))
            }
        }
    }

    fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let product = || dot(a.iter().copied().zip(b.iter().copied()));
        match self.kind {
            SimilarityKind::Linear => product(),
            SimilarityKind::Poly => libm::pow(self.gamma * product() + self.coef0, self.degree),
            SimilarityKind::Sigmoid => libm::tanh(self.gamma * product() + self.coef0),
            SimilarityKind::Rbf => {
                let distance = sum(a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)));
                libm::exp(-self.gamma * distance)
            }
        }
    }
}

fn floats(call: &Call<'_>, name: &str) -> Vec<f64> {
    call.optional_floats(name).unwrap_or_default()
}

fn expect_len(name: &str, found: usize, expected: Option<usize>) -> Result<()> {
    match expected {
        Some(expected) if expected == found => Ok(()),
        Some(expected) => {
            Err(invalid(format!("{name} has {found} elements; the other attributes and the input require {expected}")))
        }
        None => Err(invalid(format!("the number of elements of {name} overflows"))),
    }
}

/// `SVMRegressor`: one score per row, over the support vectors or, without any, by the weights alone.
fn svm_regressor(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (rows, columns) = rows_and_columns(x)?;
    let (transform, one_class) = (PostTransform::from_call(call).rule("C6")?, call.flag("one_class")?);
    let (coefficients, vectors) = (floats(call, "coefficients"), floats(call, "support_vectors"));
    let bias = floats(call, "rho").first().copied().unwrap_or(0.0);
    let supports = call.int("n_supports")?;
    let supports = usize::try_from(supports).map_err(|_| invalid(format!("n_supports is {supports}")))?;
    let similarity = Similarity::from_call(call)?;
    if supports > 0 {
        expect_len("support_vectors", vectors.len(), supports.checked_mul(columns)).rule("C4")?;
        expect_len("coefficients", coefficients.len(), Some(supports)).rule("C4")?;
    } else {
        expect_len("coefficients", coefficients.len(), Some(columns)).rule("C4")?;
    }
    let values = call.budget.read_floats(x)?;
    let mut scores: Vec<f64> = call.budget.scratch(rows)?;
    for (index, score) in scores.iter_mut().enumerate() {
        let features = values.get(index * columns..(index + 1) * columns).unwrap_or(&[]);
        *score = bias
            + if supports > 0 {
                let vectors =
                    chunks(&vectors, columns, supports).take_while(|_| call.budget.count_work(columns).is_ok());
                let each = vectors.map(|vector| similarity.between(features, vector));
                dot(coefficients.iter().copied().zip(each))
            } else {
                Similarity::LINEAR.between(features, &coefficients)
            };
        if one_class {
            *score = if *score > 0.0 { 1.0 } else { -1.0 };
        } else {
            transform.apply(std::slice::from_mut(score));
        }
    }
    Ok(call.floats(ElementType::Float, &[rows, 1], scores)?.into())
}

/// Iterates over `count` consecutive vectors of `width` elements, even if they are empty.
fn chunks(values: &[f64], width: usize, count: usize) -> impl Iterator<Item = &[f64]> {
    (0..count).map(move |index| values.get(index * width..(index + 1) * width).unwrap_or(&[]))
}

/// Attributes of a classifier, checked against each other and the width of the input.
struct Machine {
    classes: usize,
    columns: usize,
    similarity: Similarity,
    coefficients: Vec<f64>,
    vectors: Vec<f64>,
    /// Start of each class's support vectors, and their total number at the end. Empty for a linear machine.
    starts: Vec<usize>,
    rho: Vec<f64>,
    /// Probability coefficients per pair of classes. Empty if scores are raw.
    probability: Vec<(f64, f64)>,
}

impl Machine {
    fn from_call(call: &Call<'_>, classes: usize, columns: usize) -> Result<Machine> {
        let per_class = call.optional_ints("vectors_per_class").unwrap_or_default();
        let mut starts = vec![0usize];
        for &count in per_class {
            let last = starts.last().copied().unwrap_or(0);
            let next = usize::try_from(count).ok().and_then(|count| last.checked_add(count));
            starts.push(next.ok_or_else(|| invalid(format!("vectors_per_class contains {count}")))?);
        }
        let total = starts.last().copied().unwrap_or(0);
        let (coefficients, vectors) = (floats(call, "coefficients"), floats(call, "support_vectors"));
        let (rho, pairs) = (floats(call, "rho"), classes * classes.saturating_sub(1) / 2);
        let (a, b) = (floats(call, "prob_a"), floats(call, "prob_b"));
        if total == 0 {
            starts.clear();
            expect_len("coefficients", coefficients.len(), classes.checked_mul(columns)).rule("C5")?;
        } else {
            expect_len("vectors_per_class", per_class.len(), Some(classes)).rule("C5")?;
            expect_len("support_vectors", vectors.len(), total.checked_mul(columns)).rule("C5")?;
            expect_len("coefficients", coefficients.len(), classes.saturating_sub(1).checked_mul(total)).rule("C5")?;
            expect_len("rho", rho.len(), Some(pairs)).rule("C5")?;
            expect_len("prob_b", b.len(), Some(a.len())).rule("C3")?;
            if !a.is_empty() {
                expect_len("prob_a", a.len(), Some(pairs)).rule("C3")?;
            }
        }
        let probability = if total == 0 { Vec::new() } else { a.into_iter().zip(b).collect() };
        let similarity = Similarity::from_call(call)?;
        Ok(Machine { classes, columns, similarity, coefficients, vectors, starts, rho, probability })
    }

    /// Returns one score per class, each with the first bias.
    fn linear(&self, features: &[f64]) -> Vec<f64> {
        let bias = self.rho.first().copied().unwrap_or(0.0);
        let weights = chunks(&self.coefficients, self.columns, self.classes);
        weights.map(|weights| bias + Similarity::LINEAR.between(features, weights)).collect()
    }

    /// Returns one score per pair of classes, and the number of pairs that each class wins.
    fn pair_scores(&self, features: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let total = self.starts.last().copied().unwrap_or(0);
        let near: Vec<f64> = chunks(&self.vectors, self.columns, total)
            .map(|vector| self.similarity.between(features, vector))
            .collect();
        let part = |sum: &mut CompensatedSum, row: usize, class: usize| {
            let (from, to) = (entry(&self.starts, class), entry(&self.starts, class + 1));
            let weights = self.coefficients.iter().skip(row * total).take(total);
            for (&weight, &near) in weights.zip(&near).skip(from).take(to - from) {
                sum.add_product(weight, near);
            }
        };
        let (mut scores, mut votes) = (Vec::new(), Vec::new());
        votes.resize(self.classes, 0.0);
        for first in 0..self.classes {
            for second in first + 1..self.classes {
                let mut score = CompensatedSum::default();
                score.add(self.rho.get(scores.len()).copied().unwrap_or(0.0));
                part(&mut score, second - 1, first);
                part(&mut score, first, second);
                let score = score.value();
                scores.push(score);
                if let Some(votes) = votes.get_mut(if score > 0.0 { first } else { second }) {
                    *votes += 1.0;
                }
            }
        }
        (scores, votes)
    }

    /// Returns the probability of each class, from the scores of the pairs.
    fn probabilities(&self, budget: &Budget, scores: &[f64]) -> Result<Vec<f64>> {
        const MIN: f64 = 1e-7;
        let classes = self.classes;
        let mut pairs: Vec<f64> = budget.scratch(classes * classes)?;
        let each = (0..classes).flat_map(|first| (first + 1..classes).map(move |second| (first, second)));
        for ((first, second), (score, (a, b))) in each.zip(scores.iter().zip(&self.probability)) {
            let probability = (1.0 - sigmoid(score * a + b)).clamp(MIN, 1.0 - MIN);
            for (slot, value) in
                [(first * classes + second, probability), (second * classes + first, 1.0 - probability)]
            {
                if let Some(slot) = pairs.get_mut(slot) {
                    *slot = value;
                }
            }
        }
        combine_pairwise(budget, &pairs, classes)
    }
}

fn entry(list: &[usize], place: usize) -> usize {
    list.get(place).copied().unwrap_or(0)
}

/// Combines pairwise probabilities into one per class, by the second method of Wu, Lin and Weng (2004). Iterates like
/// LIBSVM until the error is below 0.005 / k.
fn combine_pairwise(budget: &Budget, pairs: &[f64], classes: usize) -> Result<Vec<f64>> {
    let r = |row: usize, column: usize| pairs.get(row * classes + column).copied().unwrap_or(0.0);
    let mut q: Vec<f64> = budget.scratch(classes * classes)?;
    for (place, slot) in q.iter_mut().enumerate() {
        let (t, j) = (place / classes, place % classes);
        *slot = if t == j {
            (0..classes).filter(|&other| other != t).map(|other| r(other, t) * r(other, t)).sum()
        } else {
            -r(j, t) * r(t, j)
        };
    }
    let mut p: Vec<f64> = budget.scratch(classes)?;
    p.fill(1.0 / classes as f64);
    for _ in 0..classes.max(100) {
        budget.count_work(q.len())?;
        let mut products: Vec<f64> =
            q.chunks_exact(classes).map(|row| row.iter().zip(&p).map(|(q, p)| q * p).sum()).collect();
        let mut total: f64 = p.iter().zip(&products).map(|(p, product)| p * product).sum();
        let error = products.iter().map(|product| (product - total).abs()).fold(0.0, f64::max);
        if error < 0.005 / classes as f64 {
            break;
        }
        for (t, row) in q.chunks_exact(classes).enumerate() {
            let (own, product) = (row.get(t).copied().unwrap_or(1.0), products.get(t).copied().unwrap_or(0.0));
            let step = (total - product) / own;
            total = (total + step * (step * own + 2.0 * product)) / ((1.0 + step) * (1.0 + step));
            for (index, (p, (product, q))) in p.iter_mut().zip(products.iter_mut().zip(row)).enumerate() {
                *p = (*p + if index == t { step } else { 0.0 }) / (1.0 + step);
                *product = (*product + step * q) / (1.0 + step);
            }
        }
    }
    Ok(p)
}

/// `SVMClassifier`: the class with the most votes or, without support vectors, the largest score, and the transformed
/// scores.
fn svm_classifier(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (rows, columns) = rows_and_columns(x)?;
    let (transform, labels) =
        (PostTransform::from_call(call).rule("C6")?, Labels::from_call(call, "classlabels_ints").rule("C4")?);
    let classes = labels.len().max(1);
    let machine = Machine::from_call(call, classes, columns)?;
    let all_positive = machine.coefficients.iter().all(|&weight| weight >= 0.0);
    let values = call.budget.read_floats(x)?;
    let (mut decided, mut scores, mut width) = (Vec::new(), Vec::new(), 0);
    for row in 0..rows {
        let features = values.get(row * columns..(row + 1) * columns).unwrap_or(&[]);
        call.budget.count_work(machine.vectors.len().max(machine.coefficients.len()))?;
        let (mut row, ballot) = if machine.starts.is_empty() {
            (machine.linear(features), None)
        } else {
            let (scores, votes) = machine.pair_scores(features);
            (scores, Some(votes))
        };
        if !machine.probability.is_empty() {
            row = machine.probabilities(&call.budget.nested(), &row)?;
        }
        let ballot = ballot.as_deref().unwrap_or(&row);
        let best = largest(ballot);
        let votes = ballot.get(best).copied().unwrap_or(0.0);
        decided.push(match (machine.rho.len(), labels.len()) {
            (1, 2) if machine.probability.is_empty() && all_positive && votes >= 0.5 => Class::At(1),
            (1, count) if count != 2 && votes > 0.0 => Class::Positive,
            (1, count) if count != 2 => Class::Negative,
            _ => Class::At(best),
        });
        if let ([score], 2) = (&row[..], classes) {
            row = vec![-score, *score];
        }
        transform.apply(&mut row);
        width = row.len();
        call.budget.count(width, 2 * size_of::<f64>())?;
        scores.extend(row);
    }
    if rows == 0 {
        width = if machine.starts.is_empty() || !machine.probability.is_empty() {
            classes
        } else {
            (classes * (classes - 1) / 2).max(2)
        };
    }
    let scores = call.floats(ElementType::Float, &[rows, width], scores)?;
    Ok(vec![labels.name(call, &decided)?, scores].into())
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node_of};
    use crate::value::Value;

    fn outputs(node: OneNode) -> (Vec<f64>, Vec<f64>) {
        match &node.outputs(2).run().unwrap()[..] {
            [Value::Tensor(labels), Value::Tensor(scores)] => (labels.floats(), scores.floats()),
            other => panic!("{other:?}"),
        }
    }

    fn regressor(kernel: &str) -> OneNode {
        node_of("ai.onnx.ml", "SVMRegressor", 1)
            .input(ints(&[1, 2], &[1, 2]))
            .set("kernel_type", kernel)
            .set("n_supports", 2)
            .set("support_vectors", &[1.0f32, 2.0, 3.0, -1.0][..])
            .set("coefficients", &[2.0f32, -1.0][..])
            .set("rho", &[0.5f32][..])
    }

    #[test]
    fn one_class_gives_a_sign_and_errors_name_the_attribute() {
        assert_eq!(regressor("LINEAR").set("one_class", 1).tensor().floats(), [1.0]);
        assert!(regressor("CUBIC").error().contains("kernel_type is 'CUBIC'"));
        assert!(regressor("RBF").set("n_supports", 3).error().contains("support_vectors has 4 elements"));
    }

    fn pairs(x: &[f64]) -> OneNode {
        node_of("ai.onnx.ml", "SVMClassifier", 1)
            .input(floats(&[x.len(), 1], x))
            .set("vectors_per_class", &[1, 1][..])
            .set("support_vectors", &[1.0f32, -1.0][..])
            .set("coefficients", &[1.0f32, -1.0][..])
            .set("rho", &[1.0f32][..])
    }

    #[test]
    fn a_pair_of_classes_has_one_score_written_twice() {
        // The score is x + x + 1.
        let (labels, scores) = outputs(pairs(&[1.0, -2.0]).set("classlabels_ints", &[4, 9][..]));
        assert_eq!((labels, scores), (vec![4.0, 9.0], vec![-3.0, 3.0, 3.0, -3.0]));
        assert!(
            pairs(&[0.0])
                .set("rho", &[][..] as &[f32])
                .set("classlabels_ints", &[1, 2][..])
                .outputs(2)
                .error()
                .contains("rho has 0")
        );
    }
}
