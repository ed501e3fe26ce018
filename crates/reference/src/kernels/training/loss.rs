//! Classification losses: `NegativeLogLikelihoodLoss`, `SoftmaxCrossEntropyLoss`.

#![expect(
    clippy::indexing_slicing,
    reason = "each class has been checked to be below the number of classes, and weights to have one element per class"
)]

use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::lanes::Lanes;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::reduction::softmax::log_softmax;
use crate::kernels::training::shapes;
use crate::tensor::Tensor;
use crate::tensor::sum::sum;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("NegativeLogLikelihoodLoss", 12, negative_log_likelihood).shape(shapes::likelihood),
    Kernel::new("SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy).shapes_of_all(shapes::cross_entropy),
];

/// Ids of the rules that the two losses share.
struct Rules {
    reduction: &'static str,
    labels: &'static str,
    weights: &'static str,
}

const LOG_LIKELIHOOD: Rules = Rules { reduction: "C1", labels: "C4", weights: "C5" };
const CROSS_ENTROPY: Rules = Rules { reduction: "C2", labels: "C5", weights: "C6" };

/// Scores of shape `[N, C, D1, ...]`, and a class for each element of `[N, D1, ...]`.
struct Samples<'a> {
    scores: &'a Tensor,
    labels: &'a Tensor,
    classes: usize,
}

impl<'a> Samples<'a> {
    fn from_call(call: &Call<'a>, rules: &Rules) -> Result<Samples<'a>> {
        let (scores, labels) = (call.tensor(0)?, call.tensor(1)?);
        match (scores.shape(), labels.shape()) {
            ([batch, classes, inner @ ..], [labels_batch, labels_inner @ ..])
                if batch == labels_batch && inner == labels_inner =>
            {
                Ok(Samples { scores, labels, classes: *classes })
            }
            (scores, labels) => Err(broken(
                rules.labels,
                format!("labels have shape {labels:?}; it must be that of the scores, {scores:?}, without axis 1"),
            )),
        }
    }

    /// Returns the position of a class's score for a sample.
    fn position(&self, sample: usize, class: usize) -> usize {
        let inner: usize = self.labels.shape().iter().skip(1).product::<usize>().max(1);
        (sample / inner * self.classes + class) * inner + sample % inner
    }
}

/// Computes the loss from the logarithms of the probabilities.
fn loss(call: &Call<'_>, samples: &Samples<'_>, logarithms: &[f64], rules: &Rules) -> Result<Tensor> {
    let weights = class_weights(call, samples.classes, rules)?;
    let ignored = call.optional_int("ignore_index");
    let mut losses: Vec<f64> = call.budget.scratch(samples.labels.len())?;
    let mut applied: Vec<f64> = call.budget.scratch(samples.labels.len())?;
    let slots = losses.iter_mut().zip(&mut applied);
    let labels = samples.labels.stream(Tensor::indices);
    for (sample, (label, (loss, applied))) in call.budget.timed(labels.zip(slots)).enumerate() {
        if Some(label) == ignored {
            continue;
        }
        let class = usize::try_from(label).ok().filter(|class| *class < samples.classes).ok_or_else(|| {
            let classes = samples.classes;
            broken(rules.labels, format!("label {label} is neither in [0, {classes}) nor the value of ignore_index"))
        })?;
        *applied = weights.as_ref().map_or(1.0, |weights| weights[class]);
        *loss = -logarithms[samples.position(sample, class)] * *applied;
    }
    let (element, shape) = (samples.scores.element_type(), samples.labels.shape());
    let reductions = [("none", Reduction::None), ("sum", Reduction::Sum), ("mean", Reduction::Mean)];
    match call.one_of("reduction", &reductions).rule(rules.reduction)? {
        Reduction::None => call.floats(element, shape, losses),
        Reduction::Sum => call.floats(element, &[], [sum(losses.into_iter())]),
        Reduction::Mean => call.floats(element, &[], [sum(losses.into_iter()) / sum(applied.into_iter())]),
    }
}

/// Reduction of the losses of the samples.
#[derive(Clone, Copy)]
enum Reduction {
    None,
    Sum,
    Mean,
}

/// Returns the weight of each class, if there are weights.
fn class_weights(call: &Call<'_>, classes: usize, rules: &Rules) -> Result<Option<Vec<f64>>> {
    let Some(weights) = call.optional_tensor(2)? else { return Ok(None) };
    if weights.shape() != [classes] {
        return Err(broken(rules.weights, format!("weights have shape {:?}; it must be [{classes}]", weights.shape())));
    }
    call.budget.read_floats(weights).map(Some)
}

fn negative_log_likelihood(call: &Call<'_>) -> Result {
    let samples = Samples::from_call(call, &LOG_LIKELIHOOD)?;
    Ok(loss(call, &samples, &call.budget.read_floats(samples.scores)?, &LOG_LIKELIHOOD)?.into())
}

fn softmax_cross_entropy(call: &Call<'_>) -> Result {
    let samples = Samples::from_call(call, &CROSS_ENTROPY)?;
    let scores = samples.scores;
    let mut logarithms = call.budget.read_floats(scores)?;
    Lanes::along(call, scores.shape(), 1)?.change(call, &mut logarithms, |_, lane| log_softmax(lane))?;
    let mut outputs = vec![Some(Value::Tensor(loss(call, &samples, &logarithms, &CROSS_ENTROPY)?))];
    if call.wants(1) {
        outputs.push(Some(Value::Tensor(call.floats(scores.element_type(), scores.shape(), logarithms)?)));
    }
    Ok(Outputs(outputs))
}

#[cfg(test)]
mod tests {
    use crate::testing::{floats, ints, node};

    #[test]
    fn the_error_names_the_classes_and_the_mean_of_ignored_labels_is_nan() {
        let scores = || floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let loss = |label: i64| {
            let call = node("NegativeLogLikelihoodLoss", 12).input(scores()).input(ints(&[2], &[label, 0]));
            call.set("ignore_index", -1)
        };
        for label in [2, -2] {
            assert!(loss(label).error().contains("[0, 2)"));
        }
        let all = node("NegativeLogLikelihoodLoss", 12).input(scores()).input(ints(&[2], &[7, 7]));
        assert!(all.set("ignore_index", 7).tensor().floats()[0].is_nan());
    }
}
