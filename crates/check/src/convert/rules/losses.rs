//! Losses: `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`, at opsets that do not have them yet.

use onnx_conformance_reference::dtype::ElementType;
use onnx_conformance_reference::spec::OpSpec;

use super::axes::{as_int, tensor};
use super::body::Body;
use super::functions::wide;
use super::rule::Replacement;
use crate::convert::answer::{Step, impossible};
use crate::convert::attributes::{self, get_int, get_string};
use crate::convert::draft::Draft;

pub(super) const REPLACEMENTS: &[Replacement] = &[
    Replacement { operator: "NegativeLogLikelihoodLoss", replace: negative_log_likelihood },
    Replacement { operator: "SoftmaxCrossEntropyLoss", replace: softmax_cross_entropy },
];

/// Inputs and attributes of a loss.
struct Loss {
    /// The type of the scores and of the loss.
    element: ElementType,
    /// The type that the body computes in.
    wide: ElementType,
    labels: String,
    label_type: ElementType,
    weights: String,
    ignored: Option<i64>,
    reduction: String,
}

impl Loss {
    fn of(draft: &Draft) -> Step<Loss> {
        let element = draft.element(0)?;
        Ok(Loss {
            element,
            wide: wide(element)?,
            labels: draft.input(1),
            label_type: draft.element(1)?,
            weights: draft.input(2),
            ignored: get_int(&draft.node, "ignore_index")?,
            reduction: get_string(&draft.node, "reduction")?.unwrap_or_else(|| "mean".to_owned()),
        })
    }

    /// Ends a body by the loss of logarithms of probabilities, `[N, C, D1, ...]`: `-log[n, label[n]] * weight[label[n]]`, which is
    /// 0 for an ignored label, and then the sum or the weighted mean.
    fn finish(self, mut body: Body, logarithms: &str) -> Step {
        let Loss { element, wide, labels, label_type, weights, ignored, reduction } = self;
        let column = body.with_axes("Unsqueeze", &labels, &[1])?;
        let mut place = column.clone();
        let mut is_ignored = None;
        // No label has a value outside of its type.
        let is_label = |value: &i64| label_type == ElementType::Int64 || i32::try_from(*value).is_ok();
        if let Some(ignored) = ignored.filter(is_label) {
            let ignored = body.constant(&tensor(label_type, &[], &[ignored])?);
            let mask = body.plain("Equal", &[&column, &ignored])?;
            let zero = body.number(label_type, 0.0)?;
            place = body.plain("Where", &[&mask, &zero, &column])?;
            is_ignored = Some(mask);
        }
        let zero = body.number(wide, 0.0)?;
        let unless_ignored = |body: &mut Body, value: String| match &is_ignored {
            Some(mask) => body.plain("Where", &[mask, &zero, &value]),
            None => Ok(value),
        };
        let picked = body.node("GatherElements", &[logarithms, &place], vec![attributes::int("axis", 1)])?;
        let loss = body.plain("Neg", &[&picked])?;
        let mut loss = unless_ignored(&mut body, loss)?;
        let mut applied = None;
        if !weights.is_empty() {
            let weights = body.cast(weights, wide)?;
            let weights = body.node("Gather", &[&weights, &place], vec![attributes::int("axis", 0)])?;
            let weights = unless_ignored(&mut body, weights)?;
            loss = body.plain("Mul", &[&loss, &weights])?;
            applied = Some(weights);
        } else if let Some(mask) = &is_ignored {
            let one = body.number(wide, 1.0)?;
            applied = Some(body.plain("Where", &[mask, &zero, &one])?);
        }
        if reduction == "none" {
            loss = body.with_axes("Squeeze", &loss, &[1])?;
            return finish_as(body, &loss, wide, element);
        }
        let sum = body.sum(&loss, None)?;
        match reduction.as_str() {
            "sum" => finish_as(body, &sum, wide, element),
            "mean" => {
                let count = if let Some(weights) = applied {
                    body.sum(&weights, None)?
                } else {
                    let size = body.plain("Size", &[&labels])?;
                    body.cast(size, wide)?
                };
                let mean = body.plain("Div", &[&sum, &count])?;
                finish_as(body, &mean, wide, element)
            }
            other => impossible(format!("reduction={other} is not one of none, sum, mean")),
        }
    }
}

/// Ends a body by a value, in the type of the output.
fn finish_as(body: Body, value: &str, wide: ElementType, element: ElementType) -> Step {
    if wide == element {
        body.last("Identity", &[value], Vec::new());
    } else {
        body.last_cast(value, element);
    }
    Ok(())
}

fn negative_log_likelihood(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (loss, scores) = (Loss::of(draft)?, draft.input(0));
    let mut body = Body::new(draft, from);
    let logarithms = body.cast(scores, loss.wide)?;
    loss.finish(body, &logarithms)
}

/// The logarithms of the softmax along axis 1, as output 1, and their loss. Before opset 13, `LogSoftmax` merges the
/// axes from `axis` on, so the axis of the classes is moved to the end.
fn softmax_cross_entropy(draft: &mut Draft, from: &OpSpec, _: &OpSpec) -> Step {
    let (loss, scores, rank) = (Loss::of(draft)?, draft.input(0), draft.rank(0)?);
    let mut body = Body::new(draft, from);
    let mut logarithms = body.cast(scores.clone(), loss.wide)?;
    if rank == 2 {
        logarithms = body.node("LogSoftmax", &[&logarithms], vec![attributes::int("axis", 1)])?;
    } else {
        let last = as_int(rank.saturating_sub(1));
        let to_end: Vec<i64> = [0].into_iter().chain(2..=last).chain([1]).collect();
        let back: Vec<i64> = [0, last].into_iter().chain(1..last).collect();
        logarithms = body.node("Transpose", &[&logarithms], vec![attributes::ints("perm", &to_end)])?;
        logarithms = body.node("LogSoftmax", &[&logarithms], vec![attributes::int("axis", last)])?;
        logarithms = body.node("Transpose", &[&logarithms], vec![attributes::ints("perm", &back)])?;
    }
    body.later_output(1, &logarithms, loss.element)?;
    loss.finish(body, &logarithms)
}
