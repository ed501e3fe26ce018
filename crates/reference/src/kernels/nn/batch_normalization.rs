//! `BatchNormalization`. Each version selects training or inference in its own way.

#![expect(clippy::indexing_slicing, reason = "the parameters have been checked to have one element per channel")]

use crate::dtype::ElementType;
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{broken, invalid};
use crate::kernels::framework::lanes::Lanes;
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::normalization::{absolute_moments, moments};
use crate::kernels::nn::shapes;
use crate::tensor::Tensor;
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("BatchNormalization", 1, |call, accumulate| batch(call, rules_of_1(call)?, accumulate))
        .shapes_of_all(shapes::batch),
    Kernel::accumulating("BatchNormalization", 7, |call, accumulate| batch(call, rules_of_7(call)?, accumulate))
        .shapes_of_all(shapes::batch),
    Kernel::accumulating("BatchNormalization", 9, |call, accumulate| batch(call, rules_of_9(call), accumulate))
        .shapes_of_all(shapes::batch),
    Kernel::accumulating("BatchNormalization", 14, |call, accumulate| batch(call, rules_of_14(call)?, accumulate))
        .shapes_of_all(shapes::batch),
];

fn rules_of_1(call: &Call<'_>) -> Result<Rules> {
    Ok(Rules { training: !call.flag("is_test")?, spatial: call.flag("spatial")?, saves: true })
}

fn rules_of_7(call: &Call<'_>) -> Result<Rules> {
    Ok(Rules { training: call.output_count() > 1, spatial: call.flag("spatial")?, saves: true })
}

fn rules_of_9(call: &Call<'_>) -> Rules {
    Rules { training: call.output_count() > 1, spatial: true, saves: true }
}

fn rules_of_14(call: &Call<'_>) -> Result<Rules> {
    Ok(Rules { training: call.flag("training_mode")?, spatial: true, saves: false })
}

/// Behaviour of a node in a version.
#[derive(Clone, Copy)]
struct Rules {
    /// Uses the statistics of the batch and updates the running ones. Set by `is_test` before version 7, by the
    /// presence of further outputs from 7 to 13, and by `training_mode` from 14 on.
    training: bool,
    /// True if a channel has one mean and one variance, false if each of its elements has its own.
    spatial: bool,
    /// True if the statistics of the batch are outputs, too.
    saves: bool,
}

/// Parameters of each lane, a group of elements that share statistics.
struct Parameters {
    scale: Vec<f64>,
    bias: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
}

/// Normalizes each channel: `Y = scale * (X - mean) / sqrt(variance + epsilon) + B`.
fn batch(call: &Call<'_>, rules: Rules, accumulate: Accumulate) -> Result {
    let data = call.tensor(0)?;
    if !rules.training && (1..call.output_count()).any(|index| call.wants(index)) {
        return Err(broken(
            "C3",
            "the outputs after the first are for training only; omit them, or set the mode to training",
        ));
    }
    // A 1-D input is a batch of one channel.
    let shape = match *data.shape() {
        [] => return Err(invalid("the input is a scalar; it must have a batch axis")),
        [batch] => vec![batch, 1],
        ref shape => shape.to_vec(),
    };
    let along: Vec<bool> = (0..shape.len()).map(|axis| axis == 0 || (rules.spatial && axis > 1)).collect();
    let lanes = Lanes::new(call, &shape, &along)?;
    let mut values = call.budget.read_floats(data)?;
    let mut current = lanes.fold(call, &values, moments)?;
    let given = Parameters {
        scale: accumulate.apply(one_per_mean(call, 1, current.len())?),
        bias: accumulate.apply(one_per_mean(call, 2, current.len())?),
        mean: accumulate.apply(one_per_mean(call, 3, current.len())?),
        variance: one_per_mean(call, 4, current.len())?,
    };
    let epsilon = call.float("epsilon")?;
    lanes.change(call, &mut values, |lane, values| {
        let given_statistics = (given.mean[lane], given.variance[lane]);
        let (mean, variance) = if rules.training { current[lane] } else { given_statistics };
        let deviation = (variance + epsilon).sqrt();
        let (scale, bias) = (given.scale[lane], given.bias[lane]);
        if accumulate == Accumulate::Magnitude {
            // A batch variance loses precision if it is the mean of squares minus the squared mean.
            let (of_batch, square) = absolute_moments(values);
            let (mean, loss) =
                if rules.training { (of_batch, 1.0 + square / (variance + epsilon)) } else { (mean, 1.0) };
            for value in &mut *values {
                *value = (value.abs() + mean) / deviation * loss * scale + bias;
            }
            return;
        }
        for value in &mut *values {
            *value = (*value - mean) / deviation * scale + bias;
        }
    })?;
    let y = call.floats(accumulate.output(data.element_type()), data.shape(), values)?;
    if accumulate == Accumulate::Magnitude {
        let values = call.budget.read_floats(data)?;
        current = lanes.fold(call, &values, |lane| absolute_moments(&lane.collect::<Vec<_>>()))?;
    }
    let mut outputs = vec![Some(Value::Tensor(y))];
    if rules.training {
        outputs.extend(
            statistics(call, &given, &current, (rules, accumulate))?.into_iter().map(|tensor| Some(tensor.into())),
        );
    }
    Ok(Outputs(outputs))
}

/// Returns the running statistics after this batch and, if the version outputs them, those of the batch.
fn statistics(
    call: &Call<'_>,
    given: &Parameters,
    current: &[(f64, f64)],
    (rules, accumulate): (Rules, Accumulate),
) -> Result<Vec<Tensor>> {
    let momentum = call.float("momentum")?;
    let (mean_like, variance_like) = (call.tensor(3)?, call.tensor(4)?);
    let element: ElementType = accumulate.output(mean_like.element_type());
    let moved = |old: &f64, new: f64| old * momentum + new * (1.0 - momentum);
    let means = current.iter().map(|(mean, _)| *mean);
    let variances = current.iter().map(|(_, variance)| *variance);
    let running_mean = given.mean.iter().zip(means.clone()).map(|(old, new)| moved(old, new));
    let running_variance = given.variance.iter().zip(variances.clone()).map(|(old, new)| moved(old, new));
    let mut tensors = vec![
        call.floats(element, mean_like.shape(), running_mean)?,
        call.floats(element, variance_like.shape(), running_variance)?,
    ];
    if rules.saves {
        tensors.push(call.floats(element, mean_like.shape(), means)?);
        tensors.push(call.floats(element, variance_like.shape(), variances)?);
    }
    Ok(tensors)
}

/// Returns the elements of a parameter, one per mean.
fn one_per_mean(call: &Call<'_>, index: usize, count: usize) -> Result<Vec<f64>> {
    let tensor = call.tensor(index)?;
    if tensor.len() != count {
        let shape = tensor.shape();
        return Err(broken(
            "C10",
            format!("input {index} has shape {shape:?}; it must have {count} elements, one for each mean"),
        ));
    }
    call.budget.read_floats(tensor)
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::testing::{OneNode, floats, node, typed};

    /// Two channels with means 3 and 30 and variances 4 and 400. The running means are 1 and 10, the variances 1 and
    /// 100.
    fn call(opset: i64) -> OneNode {
        let data = floats(&[2, 2, 1], &[1.0, 10.0, 5.0, 50.0]);
        let pair = |a: f64, b: f64| floats(&[2], &[a, b]);
        let call = node("BatchNormalization", opset).input(data).input(pair(1.0, 2.0)).input(pair(0.0, 1.0));
        call.input(pair(1.0, 10.0)).input(pair(1.0, 100.0)).set("epsilon", 0.0f32).set("momentum", 0.5f32)
    }

    fn parts(call: OneNode, count: usize) -> Vec<Vec<f64>> {
        let outputs = call.outputs(count).run().unwrap();
        outputs.iter().map(|output| output.as_tensor().unwrap().floats()).collect()
    }

    const TRAINED: [f64; 4] = [-1.0, -1.0, 1.0, 3.0];
    const RUNNING: [[f64; 2]; 2] = [[2.0, 20.0], [2.5, 250.0]];
    const OF_BATCH: [[f64; 2]; 2] = [[3.0, 30.0], [4.0, 400.0]];

    #[test]
    fn before_7_training_is_the_default_and_inference_has_one_output() {
        let first = call(1).set("consumed_inputs", &[0i64, 0, 0, 1, 1][..]);
        let outputs = parts(first, 5);
        assert_eq!(outputs[0], TRAINED);
        assert_eq!(outputs[1..3], RUNNING.map(Vec::from));
        assert_eq!(outputs[3..], OF_BATCH.map(Vec::from));
        assert!(call(6).set("is_test", 1).outputs(3).error().contains("training"));
    }

    #[test]
    fn from_7_to_13_several_outputs_select_training() {
        for opset in [7, 9, 13] {
            let outputs = parts(call(opset), 5);
            assert_eq!(outputs[0], TRAINED);
            assert_eq!(outputs[1..3], RUNNING.map(Vec::from));
            assert_eq!(outputs[3..], OF_BATCH.map(Vec::from));
        }
    }

    #[test]
    fn a_vector_is_a_batch_of_one_channel_and_the_statistics_keep_their_type() {
        let one = |value: f64| floats(&[1], &[value]);
        let call = node("BatchNormalization", 15).input(floats(&[2], &[1.0, 5.0])).input(one(1.0)).input(one(0.0));
        let statistic = || typed(E::Float16, &[1], &[1.0]);
        let call = call.input(statistic()).input(statistic()).set("epsilon", 0.0f32).set("training_mode", 1);
        let outputs = call.outputs(3).run().unwrap();
        assert_eq!(outputs[0].as_tensor().unwrap().floats(), [-1.0, 1.0]);
        assert_eq!(outputs[1].as_tensor().unwrap().element_type(), E::Float16);
    }
}
