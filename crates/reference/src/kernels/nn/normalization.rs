//! Normalization by the statistics of parts of a tensor, or by neighbouring channels.

#![expect(
    clippy::indexing_slicing,
    reason = "the parameters have been checked to have one element per channel or group"
)]

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::lanes::{Lane, Lanes};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::shapes;
use crate::tensor::Tensor;
use crate::tensor::index::StridedIter;
use crate::tensor::shape::{broadcast, normalize_axis};
use crate::tensor::sum::{dot, sum};
use crate::value::Value;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("InstanceNormalization", 1, instance).shape(rules::same),
    Kernel::accumulating("LayerNormalization", 17, layer).shapes_of_all(shapes::layer).typed(shapes::statistics_type),
    Kernel::accumulating("GroupNormalization", 18, group_by_group).shape(rules::same),
    Kernel::accumulating("GroupNormalization", 21, group_by_channel).shape(rules::same),
    Kernel::new("RMSNormalization", 23, root_mean_square).shape(rules::same),
    Kernel::accumulating("MeanVarianceNormalization", 9, mean_variance).shape(rules::same),
    Kernel::new("LpNormalization", 1, norm).shape(rules::same),
    Kernel::new("LRN", 1, local_response).shape(rules::same),
];

/// Epsilon that the body of `MeanVarianceNormalization` adds to the standard deviation.
const MEAN_VARIANCE_EPSILON: f32 = 1e-9;

/// Returns the mean and the population variance.
pub(super) fn moments(lane: Lane<'_, f64>) -> (f64, f64) {
    let count = lane.len() as f64;
    let mean = sum(lane.clone()) / count;
    let variance = dot(lane.map(|value| (value - mean, value - mean))) / count;
    (mean, variance)
}

/// Returns the mean of the absolute values, and the mean of the squares.
pub(super) fn absolute_moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    (sum(values.iter().map(|value| value.abs())) / count, dot(values.iter().map(|&value| (value, value))) / count)
}

/// Subtracts the mean from each element of a lane and divides by the deviation. For magnitudes the mean is added, and
/// the result grows by the loss of a variance computed as mean of squares minus squared mean.
fn standardize(accumulate: Accumulate, values: &mut [f64], mean: f64, deviation: f64) {
    if accumulate == Accumulate::Value {
        for value in &mut *values {
            *value = (*value - mean) / deviation;
        }
        return;
    }
    let (mean, square) = absolute_moments(values);
    let loss = 1.0 + square / (deviation * deviation);
    for value in &mut *values {
        *value = (value.abs() + mean) / deviation * loss;
    }
}

/// Type of the first stage. Its results are rounded to this type before the second stage.
#[derive(Clone, Copy)]
struct Stash(ElementType);

impl Stash {
    fn from_call(call: &Call<'_>) -> Result<Stash> {
        match call.element_type("stash_type")? {
            Some(element) if element.is_float() => Ok(Stash(element)),
            _ => Err(invalid(format!("stash_type is {}, which is not a floating-point type", call.int("stash_type")?))),
        }
    }

    fn round(self, value: f64) -> f64 {
        self.0.round(value)
    }

    /// Returns the mean and the population variance. The variance is infinite if a squared distance from the mean, a
    /// value of the first stage, is beyond its type.
    fn moments(self, lane: Lane<'_, f64>) -> (f64, f64) {
        let (mean, variance) = moments(lane.clone());
        let mut distances = lane.map(|value| value - mean);
        (mean, if distances.any(|distance| self.square_overflows(distance)) { f64::INFINITY } else { variance })
    }

    fn square_overflows(self, value: f64) -> bool {
        value.is_finite() && self.round(value * value).is_infinite()
    }

    /// Reads the elements of a tensor, rounded to the type of the first stage.
    fn floats(self, call: &Call<'_>, tensor: &Tensor) -> Result<Vec<f64>> {
        let mut values = call.budget.read_floats(tensor)?;
        for value in &mut *values {
            *value = self.round(*value);
        }
        Ok(values)
    }
}

/// Returns the number of channels of `[N, C, D1, ...]`.
fn channels(data: &Tensor) -> Result<usize> {
    match data.shape() {
        [_, channels, ..] => Ok(*channels),
        shape => Err(invalid(format!("the input has shape {shape:?}; it must have a batch and a channel axis"))),
    }
}

/// Returns the elements of the input at `index`, one per channel or group, `count` in all.
fn one_per_part(call: &Call<'_>, index: usize, count: usize, part: &str) -> Result<Vec<f64>> {
    let tensor = call.tensor(index)?;
    if tensor.shape() != [count] {
        let shape = tensor.shape();
        return Err(invalid(format!(
            "input {index} has shape {shape:?}; it must be [{count}], one element per {part}"
        )));
    }
    call.budget.read_floats(tensor)
}

/// Returns, for each element of `shape`, the element of an input that broadcasts to it.
fn broadcast_values<'a>(
    tensor: &Tensor,
    values: &'a [f64],
    shape: &[usize],
) -> Result<impl Iterator<Item = f64> + use<'a>> {
    if broadcast(tensor.shape(), shape)? != shape {
        return Err(invalid(format!("an input of shape {:?} does not broadcast to {shape:?}", tensor.shape())));
    }
    Ok(StridedIter::broadcast(tensor.shape(), shape).map(|position| values[position]))
}

/// Instance normalization: `Y = scale * (X - mean) / sqrt(variance + epsilon) + B`, over the spatial axes of each
/// channel.
fn instance(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let data = call.tensor(0)?;
    let channels = channels(data)?;
    let scale = accumulate.apply(one_per_part(call, 1, channels, "channel").rule("C3")?);
    let bias = accumulate.apply(one_per_part(call, 2, channels, "channel").rule("C3")?);
    let epsilon = call.float("epsilon")?;
    let lanes = Lanes::from_axis(call, data.shape(), 2)?;
    let mut values = call.budget.read_floats(data)?;
    let statistics = lanes.fold(call, &values, moments)?;
    lanes.change(call, &mut values, |lane, values| {
        let ((mean, variance), channel) = (statistics[lane], lane % channels);
        let deviation = (variance + epsilon).sqrt();
        if accumulate == Accumulate::Magnitude {
            standardize(accumulate, values, mean, deviation);
            for value in &mut *values {
                *value = scale[channel] * *value + bias[channel];
            }
            return;
        }
        for value in &mut *values {
            *value = scale[channel] * (*value - mean) / deviation + bias[channel];
        }
    })?;
    Ok(call.floats(accumulate.output(data.element_type()), data.shape(), values)?.into())
}

/// Layer normalization over all axes from `axis` on: `D = (X - mean) / sqrt(variance + epsilon)` in the stash type,
/// rounded to the input's type, then `Y = D * scale + B`.
fn layer(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let (data, stash) = (call.tensor(0)?, Stash::from_call(call)?);
    let (element, shape) = (data.element_type(), data.shape());
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C1")?;
    let epsilon = stash.round(call.float("epsilon")?);
    let lanes = Lanes::from_axis(call, shape, axis)?;
    let mut values = stash.floats(call, data)?;
    let mut statistics = lanes.fold(call, &values, |lane| stash.moments(lane))?;
    lanes.change(call, &mut values, |lane, values| {
        let (mean, variance) = statistics[lane];
        standardize(accumulate, values, mean, (variance + epsilon).sqrt());
        for value in &mut *values {
            *value = element.round(stash.round(*value));
        }
    })?;

    let (scale, bias) = (call.tensor(1)?, call.optional_tensor(2)?);
    let scales = accumulate.apply(call.budget.read_floats(scale)?);
    values
        .iter_mut()
        .zip(broadcast_values(scale, &scales, shape).rule("C5")?)
        .for_each(|(value, scale)| *value *= scale);
    if let Some(bias) = bias {
        let biases = accumulate.apply(call.budget.read_floats(bias)?);
        values
            .iter_mut()
            .zip(broadcast_values(bias, &biases, shape).rule("C5")?)
            .for_each(|(value, bias)| *value += bias);
    }
    let y = call.floats(accumulate.output(element), shape, values)?;

    let reduced: Vec<usize> =
        shape.iter().enumerate().map(|(index, &dim)| if index < axis { dim } else { 1 }).collect();
    if accumulate == Accumulate::Magnitude {
        statistics = lanes.fold(call, &stash.floats(call, data)?, |lane| {
            let (mean, _) = absolute_moments(&lane.clone().collect::<Vec<_>>());
            (mean, stash.moments(lane).1)
        })?;
    }
    let saved = |index: usize, value: fn((f64, f64), f64) -> f64| -> Result<Option<Value>> {
        if !call.wants(index) {
            return Ok(None);
        }
        if !matches!(stash.0, ElementType::Float | ElementType::Bfloat16) {
            return Err(invalid(format!("stash_type is {}, but the statistics are float or bfloat16", stash.0)));
        }
        let values = statistics.iter().map(|&statistics| value(statistics, epsilon));
        Ok(Some(Value::Tensor(call.floats(accumulate.output(stash.0), &reduced, values)?)))
    };
    let mean = saved(1, |(mean, _), _| mean)?;
    let inverse = saved(2, |(_, variance), epsilon| 1.0 / (variance + epsilon).sqrt())?;
    Ok(Outputs(vec![Some(Value::Tensor(y)), mean, inverse]))
}

/// Channels of `[N, C, D1, ...]` in groups of neighbours.
struct Groups {
    channels: usize,
    count: usize,
    /// `[N, groups, channels per group, D1, ...]`.
    shape: Vec<usize>,
}

impl Groups {
    fn from_call(call: &Call<'_>, data: &Tensor) -> Result<Groups> {
        let channels = channels(data)?;
        let named = call.int("num_groups")?;
        let groups = usize::try_from(named).ok().filter(|&groups| groups > 0 && channels.is_multiple_of(groups));
        let groups = groups.ok_or_else(|| {
            broken("C4", format!("num_groups is {named}; it must be positive and divide the {channels} channels"))
        })?;
        let (batch, inner) = data.shape().split_at(1);
        let parts = [groups, channels / groups];
        let shape = batch.iter().chain(&parts).chain(&inner[1..]).copied().collect();
        Ok(Groups { channels, count: groups, shape })
    }

    /// Standardizes each group of each instance.
    fn standardize(
        &self,
        call: &Call<'_>,
        values: &mut [f64],
        (epsilon, accumulate): (f64, Accumulate),
        round: impl Fn(f64) -> f64 + Sync,
    ) -> Result<()> {
        let lanes = Lanes::from_axis(call, &self.shape, 2)?;
        let statistics = lanes.fold(call, values, moments)?;
        lanes.change(call, values, |lane, values| {
            let (mean, variance) = statistics[lane];
            standardize(accumulate, values, mean, (variance + epsilon).sqrt());
            for value in &mut *values {
                *value = round(*value);
            }
        })
    }
}

/// Scales and shifts `count` equal parts of each instance of `[N, count * ..., ...]`.
fn scale_parts(values: &mut [f64], batch: usize, scale: &[f64], bias: &[f64]) {
    let part = values.len() / batch.saturating_mul(scale.len()).max(1);
    for (index, values) in values.chunks_exact_mut(part.max(1)).enumerate() {
        let index = index % scale.len();
        for value in &mut *values {
            *value = scale[index] * *value + bias[index];
        }
    }
}

/// `GroupNormalization` in version 18: scales and shifts by group, without a stash type.
fn group_by_group(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let data = call.tensor(0)?;
    let groups = Groups::from_call(call, data)?;
    let scale = accumulate.apply(one_per_part(call, 1, groups.count, "group").rule("C2")?);
    let bias = accumulate.apply(one_per_part(call, 2, groups.count, "group").rule("C2")?);
    let mut values = call.budget.read_floats(data)?;
    groups.standardize(call, &mut values, (call.float("epsilon")?, accumulate), |value| value)?;
    scale_parts(&mut values, data.shape()[0], &scale, &bias);
    Ok(call.floats(accumulate.output(data.element_type()), data.shape(), values)?.into())
}

/// `GroupNormalization` from version 21 on: the first stage uses the stash type, the second scales and shifts by
/// channel.
fn group_by_channel(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let (data, stash) = (call.tensor(0)?, Stash::from_call(call)?);
    let groups = Groups::from_call(call, data)?;
    let scale = accumulate.apply(one_per_part(call, 1, groups.channels, "channel").rule("C3")?);
    let bias = accumulate.apply(one_per_part(call, 2, groups.channels, "channel").rule("C3")?);
    let (element, epsilon) = (data.element_type(), stash.round(call.float("epsilon")?));
    let mut values = stash.floats(call, data)?;
    groups.standardize(call, &mut values, (epsilon, accumulate), |value| element.round(stash.round(value)))?;
    scale_parts(&mut values, data.shape()[0], &scale, &bias);
    Ok(call.floats(accumulate.output(element), data.shape(), values)?.into())
}

/// `RMSNormalization`: divides all axes from `axis` on by their root mean square, in stages like `LayerNormalization`.
fn root_mean_square(call: &Call<'_>) -> Result {
    let (data, scale, stash) = (call.tensor(0)?, call.tensor(1)?, Stash::from_call(call)?);
    let (element, shape) = (data.element_type(), data.shape());
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C1")?;
    let epsilon = stash.round(call.float("epsilon")?);
    let mut values = stash.floats(call, data)?;
    Lanes::from_axis(call, shape, axis)?.change(call, &mut values, |_, values| {
        let mean = if values.iter().any(|&value| stash.square_overflows(value)) {
            f64::INFINITY
        } else {
            dot(values.iter().map(|&value| (value, value))) / values.len() as f64
        };
        let root = (mean + epsilon).sqrt();
        for value in &mut *values {
            *value = element.round(stash.round(*value / root));
        }
    })?;
    let scales = call.budget.read_floats(scale)?;
    values
        .iter_mut()
        .zip(broadcast_values(scale, &scales, shape).rule("C4")?)
        .for_each(|(value, scale)| *value *= scale);
    Ok(call.floats(scale.element_type(), shape, values)?.into())
}

/// `MeanVarianceNormalization`: by the mean and standard deviation over the axes.
fn mean_variance(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let data = call.tensor(0)?;
    let mut along: Vec<bool> = data.shape().iter().map(|_| false).collect();
    for &axis in call.ints("axes")? {
        along[normalize_axis(axis, data.rank()).rule("C1")?] = true;
    }
    let lanes = Lanes::new(call, data.shape(), &along)?;
    let mut values = call.budget.read_floats(data)?;
    let statistics = lanes.fold(call, &values, moments)?;
    lanes.change(call, &mut values, |lane, values| {
        let (mean, variance) = statistics[lane];
        standardize(accumulate, values, mean, variance.sqrt() + f64::from(MEAN_VARIANCE_EPSILON));
    })?;
    Ok(call.floats(accumulate.output(data.element_type()), data.shape(), values)?.into())
}

/// `LpNormalization`: divides by the 1-norm or 2-norm along an axis. A norm of zero gives zeros.
fn norm(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C1")?;
    let norm: fn(&[f64]) -> f64 = match call.int("p")? {
        1 => |lane| sum(lane.iter().map(|value| value.abs())),
        2 => |lane| dot(lane.iter().map(|&value| (value, value))).sqrt(),
        p => return Err(broken("C1", format!("p is {p}; only 1 and 2 are supported"))),
    };
    let mut values = call.budget.read_floats(data)?;
    Lanes::along(call, data.shape(), axis)?.change(call, &mut values, |_, lane| match norm(lane) {
        0.0 => lane.fill(0.0),
        norm => lane.iter_mut().for_each(|value| *value /= norm),
    })?;
    Ok(call.floats(data.element_type(), data.shape(), values)?.into())
}

/// `LRN`: `Y = X / (bias + alpha / size * sum of squares)^beta` over `size` neighbouring channels. If `size` is even,
/// there is one more after the channel than before it.
fn local_response(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    channels(data)?;
    let (alpha, beta, bias) = (call.float("alpha")?, call.float("beta")?, call.float("bias")?);
    let named = call.int("size")?;
    let size = usize::try_from(named).ok().filter(|&size| size > 0);
    let size = size.ok_or_else(|| broken("C1", format!("size is {named}; it must be positive")))?;
    let (before, after) = ((size - 1) / 2, size / 2);
    let mut values = call.budget.read_floats(data)?;
    let largest = data.shape()[1].min(size);
    // Each lane is copied.
    call.budget.count(data.len(), size_of::<f64>())?;
    Lanes::along(call, data.shape(), 1)?.change(call, &mut values, |_, lane| {
        let original: Vec<f64> = lane.to_vec();
        for (index, value) in lane.iter_mut().enumerate() {
            if call.budget.count_work(largest).is_err() {
                return;
            }
            let region =
                index.saturating_sub(before)..index.saturating_add(after).saturating_add(1).min(original.len());
            let squares = dot(original[region].iter().map(|&value| (value, value)));
            *value /= libm::pow(bias + alpha / size as f64 * squares, beta);
        }
    })?;
    Ok(call.floats(data.element_type(), data.shape(), values)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node, typed};
    use ElementType as E;

    #[test]
    fn the_first_stage_rounds_before_the_scale() {
        // The largest is sqrt(3/2) = 1.22474..., in half precision 1.224609375. The wider scale makes the rounding
        // visible.
        let data = typed(E::Float16, &[3], &[-1.0, 0.0, 1.0]);
        let scaled = node("RMSNormalization", 23).input(data).input(typed(E::Double, &[], &[3.0]));
        let y = scaled.set("epsilon", 0.0f32).tensor();
        assert_eq!((y.element_type(), y.floats()), (E::Double, vec![-3.673_828_125, 0.0, 3.673_828_125]));
        // Values that float cannot distinguish are equal in a first stage of float.
        let stashed = node("LayerNormalization", 17).input(typed(E::Double, &[2], &[1.0 + 1e-12, 1.0]));
        let y = stashed.input(typed(E::Double, &[], &[1.0])).tensor();
        assert_eq!(y.floats(), [0.0, 0.0]);
        // So are values whose squares overflow in it: they are divided by an infinite deviation.
        for name in ["LayerNormalization", "RMSNormalization"] {
            let since = if name == "LayerNormalization" { 17 } else { 23 };
            let [bounded, beyond] = [1e19, 2e19].map(|value| {
                node(name, since).input(floats(&[2], &[value, -value])).input(floats(&[], &[1.0])).tensor().floats()
            });
            assert_eq!((bounded, beyond), (vec![1.0, -1.0], vec![0.0, 0.0]), "{name}");
        }
    }

    #[test]
    fn numbers_of_groups_that_do_not_divide_are_refused_in_18_too() {
        for groups in [0, 3, -1] {
            let pair = || floats(&[2], &[1.0, 2.0]);
            let call = node("GroupNormalization", 18).input(floats(&[1, 4, 1], &[1.0, 5.0, 1.0, 5.0])).input(pair());
            assert!(call.input(pair()).set("num_groups", groups).error().contains("num_groups"));
        }
    }

    #[test]
    fn axes_may_be_negative_and_those_by_default_must_exist() {
        let data = floats(&[1, 2, 1, 2], &[1.0, 5.0, 10.0, 10.0]);
        let pairs = node("MeanVarianceNormalization", 13).input(data).set("axes", &[-1i64, 0][..]).tensor();
        assert_eq!(pairs.floats(), [-1.0, 1.0, 0.0, 0.0]);
        assert!(node("MeanVarianceNormalization", 13).input(floats(&[2], &[0.0; 2])).error().contains("axis 2"));
    }

    #[test]
    fn a_region_may_be_larger_than_any_number_of_channels() {
        let response = |size: i64| {
            let data = floats(&[1, 3, 1], &[2.0, 4.0, 8.0]);
            let call = node("LRN", 13).input(data).set("size", size).set("bias", 0.0f32).set("beta", 1.0f32);
            #[expect(clippy::cast_precision_loss, reason = "only the quotient by the size counts")]
            call.set("alpha", size as f32).tensor()
        };
        assert_eq!(response(i64::MAX).floats()[0], response(5).floats()[0]);
    }

    #[test]
    fn empty_tensors_stay_empty() {
        let empty = || floats(&[2, 0, 3], &[]);
        for op in ["LpNormalization", "LRN"] {
            let y = node(op, 22).input(empty());
            assert_eq!(if op == "LRN" { y.set("size", 1) } else { y }.tensor().shape(), [2, 0, 3]);
        }
        let no_parameters = || floats(&[0], &[]);
        let y = node("InstanceNormalization", 22).input(empty()).input(no_parameters()).input(no_parameters()).tensor();
        assert_eq!(y.shape(), [2, 0, 3]);
        assert!(node("LpNormalization", 22).input(ints(&[1], &[1])).run().is_err());
    }
}
