//! `Conv` and its integer and causal forms.

#![expect(
    clippy::indexing_slicing,
    reason = "Shapes::forward checks ranks, channels and groups; offsets are below their products"
)]

use std::ops::Range;

use crate::dtype::ElementType;
use crate::kernels::elementwise::activation::sigmoid;
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Outputs, Result};
use crate::kernels::framework::error::{Ruled, broken, broken_for_all_sizes, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::im2col::{ConvGemm, Direction, Patches};
use crate::kernels::nn::shapes;
use crate::kernels::nn::window::{Axis, Rounding, Rules, axes, per_axis, spatial, windows};
use crate::tensor::Tensor;
use crate::tensor::shape::element_count;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::with_magnitude("CausalConvWithState", 27, causal, causal_magnitude).shapes_of_all(shapes::causal),
    Kernel::accumulating("Conv", 1, conv).shape(shapes::convolved),
    Kernel::new("ConvInteger", 10, integer).shape(shapes::convolved),
    Kernel::new("QLinearConv", 10, quantized).shape(shapes::convolved_by_the_fourth),
];

/// Shapes of a convolution, checked against each other.
pub(super) struct Shapes {
    pub(super) images: usize,
    pub(super) groups: usize,
    /// Input channels per group.
    pub(super) channels: usize,
    /// Output channels per group.
    pub(super) features: usize,
    /// Taps of a window along each axis.
    pub(super) kernel: Vec<usize>,
    /// Spatial dimensions of the input.
    pub(super) input: Vec<usize>,
}

impl Shapes {
    /// Reads the shapes of X and W. W's first axis is the output channels, its second the input channels per group.
    pub(super) fn forward(call: &Call<'_>, x: &Tensor, w: &Tensor) -> Result<Shapes> {
        let (shapes, [features, channels]) = Shapes::read(call, x, w)?;
        let Shapes { groups, .. } = shapes;
        if Some(x.shape()[1]) != channels.checked_mul(groups) || !features.is_multiple_of(groups) {
            return Err(weight_mismatch(call, x, w, groups));
        }
        Ok(Shapes { channels, features: features / groups, ..shapes })
    }

    /// Reads the shapes of X and W. W's first axis is the input channels, its second the output channels per group.
    pub(super) fn transposed(call: &Call<'_>, x: &Tensor, w: &Tensor) -> Result<Shapes> {
        let (shapes, [channels, features]) = Shapes::read(call, x, w)?;
        let Shapes { groups, .. } = shapes;
        if x.shape()[1] != channels || !channels.is_multiple_of(groups) {
            return Err(weight_mismatch(call, x, w, groups));
        }
        Ok(Shapes { channels: channels / groups, features, ..shapes })
    }

    fn read(call: &Call<'_>, x: &Tensor, w: &Tensor) -> Result<(Shapes, [usize; 2])> {
        let group = call.int("group")?;
        let groups = usize::try_from(group).ok().filter(|&group| group > 0);
        let groups = groups.ok_or_else(|| {
            broken_for_all_sizes(Rules::for_operator(call).weight, format!("group is {group}; it must be 1 or more"))
        })?;
        let (input, kernel) = (spatial("the input", x.shape())?.to_vec(), spatial("the weight", w.shape())?.to_vec());
        if input.len() != kernel.len() {
            return Err(weight_mismatch(call, x, w, groups));
        }
        if call.has("kernel_shape") && per_axis(call, "kernel_shape", kernel.len(), 1)? != kernel {
            let given = call.ints("kernel_shape")?;
            return Err(broken(
                Rules::for_operator(call).kernel_shape,
                format!("kernel_shape {given:?} differs from that of a weight of shape {:?}", w.shape()),
            ));
        }
        let shapes = Shapes { images: x.shape()[0], groups, channels: 0, features: 0, kernel, input };
        Ok((shapes, [w.shape()[0], w.shape()[1]]))
    }

    /// Returns the windows that the attributes define.
    pub(super) fn axes(&self, call: &Call<'_>) -> Result<Vec<Axis>> {
        axes(call, &self.input, &self.kernel, Rounding::Floor)
    }

    /// Returns the number of weights per output channel.
    pub(super) fn weights_of_feature(&self) -> Result<usize> {
        let taps = element_count(&self.kernel)?;
        Ok(element_count(&[self.channels, taps])?)
    }

    /// Returns the shape of the output.
    pub(super) fn output(&self, axes: &[Axis]) -> Result<Vec<usize>> {
        let features = element_count(&[self.groups, self.features])?;
        Ok([self.images, features].into_iter().chain(axes.iter().map(|axis| axis.output)).collect())
    }

    /// Returns the range of X for one image and group.
    pub(super) fn part(&self, image: usize, group: usize) -> Result<Range<usize>> {
        let size = element_count(&self.input)? * self.channels;
        let start = (image * self.groups + group) * size;
        Ok(start..start + size)
    }

    /// Builds the matrix product of the convolution.
    pub(super) fn product<'a>(
        &self,
        call: &'a Call<'a>,
        axes: &[Axis],
        bias: Option<Vec<f64>>,
        element: ElementType,
    ) -> Result<ConvGemm<'a>> {
        let all = element_count(&[self.groups, self.features])?;
        if let Some(bias) = bias.as_ref().filter(|bias| bias.len() != all) {
            return Err(broken(
                Rules::for_operator(call).bias,
                format!("the bias has {} elements, but there are {all} output channels", bias.len()),
            ));
        }
        Ok(ConvGemm {
            call,
            images: self.images,
            groups: self.groups,
            features: self.features,
            depth: self.weights_of_feature()?,
            windows: windows(axes)?,
            bias,
            compensated: element == ElementType::Double,
        })
    }
}

fn weight_mismatch(
    call: &Call<'_>,
    x: &Tensor,
    w: &Tensor,
    groups: usize,
) -> crate::kernels::framework::error::KernelError {
    broken(
        Rules::for_operator(call).weight,
        format!("a weight of shape {:?} does not fit an input of shape {:?} in {groups} groups", w.shape(), x.shape()),
    )
}

/// Convolution: `Y[n][m][o] = B[m] + sum over c, k of X[n][c][o * stride + k * dilation - pad] * W[m][c][k]`, within a
/// group.
fn conv(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let bias = call.optional_tensor(2)?.map(|bias| accumulate.read(call.budget, bias)).transpose()?;
    let shapes = Shapes::forward(call, x, w)?;
    let axes = shapes.axes(call)?;
    let depth = shapes.weights_of_feature()?;
    let first = |group: usize| group * shapes.features;
    let sums = shapes.product(call, &axes, bias, x.element_type())?.compute(
        |budget, group, rows| {
            let (from, to) = (first(group) + rows.start, first(group) + rows.end);
            accumulate.read(budget, &w.part(from * depth..to * depth))
        },
        |budget, image, group| {
            let image = accumulate.read(budget, &x.part(shapes.part(image, group)?))?;
            Patches::new(image, &axes, Direction::Forward)
        },
    )?;
    Ok(call.floats(accumulate.output(x.element_type()), &shapes.output(&axes)?, sums)?.into())
}

// Integer convolutions.

/// Reads a zero point: none, one, or one per output channel.
fn zero_points(call: &Call<'_>, tensor: Option<&Tensor>, channels: usize, what: &str) -> Result<Vec<f64>> {
    let points = tensor.map_or_else(|| Ok([0.0].to_vec()), |tensor| call.budget.read_floats(tensor))?;
    if points.len() == 1 || points.len() == channels {
        return Ok(points);
    }
    Err(invalid(format!(
        "{what} has {} elements; it must have 1, or {channels} for as many output channels",
        points.len()
    )))
}

/// Computes the exact sums of products, each factor minus its zero point. The rules are about the zero points of the
/// input and of the weight.
fn integer_sums(
    call: &Call<'_>,
    tensors: [usize; 4],
    bias: Option<Vec<f64>>,
    rules: [&str; 2],
) -> Result<(Vec<f64>, Vec<usize>)> {
    let [x, w, x_zero, w_zero] = tensors;
    let (x, w) = (call.tensor(x)?, call.tensor(w)?);
    let shapes = Shapes::forward(call, x, w)?;
    let axes = shapes.axes(call)?;
    let depth = shapes.weights_of_feature()?;
    let x_zero = zero_points(call, call.optional_tensor(x_zero)?, 1, "the zero point of the input").rule(rules[0])?;
    let w_zero = zero_points(call, call.optional_tensor(w_zero)?, w.shape()[0], "the zero point of the weight")
        .rule(rules[1])?;
    let sums = shapes.product(call, &axes, bias, x.element_type())?.compute(
        |budget, group, rows| {
            let (from, to) = (group * shapes.features + rows.start, group * shapes.features + rows.end);
            let mut weights = budget.read_floats(&w.part(from * depth..to * depth))?;
            for (row, weights) in (from..to).zip(weights.chunks_mut(depth.max(1))) {
                let zero = w_zero[if w_zero.len() == 1 { 0 } else { row }];
                for weight in weights {
                    *weight -= zero;
                }
            }
            Ok(weights)
        },
        |budget, image, group| {
            let image = budget.read_floats(&x.part(shapes.part(image, group)?))?;
            let image = image.into_iter().map(|value| value - x_zero[0]).collect();
            Patches::new(image, &axes, Direction::Forward)
        },
    )?;
    Ok((sums, shapes.output(&axes)?))
}

/// `ConvInteger`: sums that wrap to 32 bits.
fn integer(call: &Call<'_>) -> Result {
    let (sums, shape) = integer_sums(call, [0, 1, 2, 3], None, ["C3", "C3"])?;
    #[expect(clippy::cast_possible_truncation, reason = "the sums are integers below 2^53")]
    let sums = sums.into_iter().map(|sum| sum as i128);
    Ok(call.integers(ElementType::Int32, &shape, sums)?.into())
}

/// `QLinearConv`: sums scaled to the output, rounded with ties to even, and saturated.
fn quantized(call: &Call<'_>) -> Result {
    let bias = call.optional_tensor(8)?.map(|tensor| call.budget.read_floats(tensor)).transpose()?;
    let (sums, shape) = integer_sums(call, [0, 3, 2, 5], bias, ["C7", "C2"])?;
    let channels = shape[1];
    let single = |index: usize, what: &str| {
        let tensor = call.tensor(index)?;
        tensor
            .single_float()
            .ok_or_else(|| broken("C7", format!("{what} has shape {:?}; it must be one number", tensor.shape())))
    };
    for (index, name) in [(1, "x"), (4, "w"), (6, "y")] {
        let (scale, zero_point) = (call.tensor(index)?, call.tensor(index + 1)?);
        if scale.len() != zero_point.len() {
            return Err(broken(
                "C7",
                format!(
                    "{name}_scale has shape {:?} and {name}_zero_point {:?}; both must have the same",
                    scale.shape(),
                    zero_point.shape()
                ),
            ));
        }
    }
    let (x_scale, y_scale, y_zero) = (single(1, "x_scale")?, single(6, "y_scale")?, single(7, "y_zero_point")?);
    if call.tensor(4)?.rank() > 1 {
        let shape = call.tensor(4)?.shape();
        return Err(broken("C2", format!("w_scale has shape {shape:?}; it must be a scalar or a vector")));
    }
    let w_scales = zero_points(call, Some(call.tensor(4)?), channels, "w_scale").rule("C2")?;
    let size = element_count(&shape[2..])?.max(1);
    let element = call.tensor(7)?.element_type();
    #[expect(clippy::cast_possible_truncation, reason = "a value beyond i64 saturates either way")]
    let values = sums.into_iter().enumerate().map(|(index, sum)| {
        let w_scale = w_scales[if w_scales.len() == 1 { 0 } else { index / size % channels }];
        let rounded = (sum * (x_scale * w_scale) / y_scale).round_ties_even() + y_zero;
        element.decode_i128(element.saturate(rounded as i128))
    });
    Ok(call.integers(element, &shape, values)?.into())
}

// CausalConvWithState.

fn causal(call: &Call<'_>) -> Result {
    let x = call.tensor(0)?;
    let (sums, sequence) = causal_sums(call, Accumulate::Value)?;
    let silu = call.one_of("activation", &[("none", false), ("silu", true), ("swish", true)]).rule("C4")?;
    let element = x.element_type();
    let output = call.floats(element, x.shape(), sums)?;
    let output = if silu { call.floats(element, x.shape(), output.stream(Tensor::floats).map(swish))? } else { output };
    let present = sequence.present(call)?;
    Ok(Outputs::from(vec![output, present]))
}

/// `x * sigmoid(x)`, with both steps in float, as in the function body.
fn swish(x: f64) -> f64 {
    let float = |value: f64| ElementType::Float.round(value);
    float(x * float(sigmoid(x)))
}

fn causal_magnitude(call: &Call<'_>) -> Result {
    let (sums, sequence) = causal_sums(call, Accumulate::Magnitude)?;
    let output = call.floats(ElementType::Double, call.tensor(0)?.shape(), sums)?;
    let present = sequence.present(call)?;
    let magnitudes = present.stream(Tensor::floats).map(f64::abs);
    Ok(Outputs::from(vec![output, call.floats(ElementType::Double, present.shape(), magnitudes)?]))
}

/// Past state and input of each channel, concatenated.
struct History {
    images: usize,
    channels: usize,
    past: usize,
    length: usize,
}

impl History {
    fn from_tensors(x: &Tensor, w: &Tensor, past: Option<&Tensor>) -> Result<History> {
        match (x.shape(), w.shape()) {
            (&[images, channels, length], &[features, 1, taps])
                if features == channels
                    && taps > 0
                    && past.is_none_or(|past| past.shape() == [images, channels, taps - 1]) =>
            {
                Ok(History { images, channels, past: taps - 1, length })
            }
            (x, w) => {
                let past = past.map(Tensor::shape);
                Err(broken(
                    "C5",
                    format!(
                        "shapes {x:?} of the input, {w:?} of the weight and {past:?} of the past state do not \
                         fit together"
                    ),
                ))
            }
        }
    }

    /// Returns the source of each element of one image and channel: the input (0), the past (1), or zeros (2) without a
    /// past.
    fn positions(&self, row: usize, has_past: bool) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (past, length) = (self.past, self.length);
        let before = (0..past).map(move |index| if has_past { (1, row * past + index) } else { (2, 0) });
        before.chain((0..length).map(move |index| (0, row * length + index)))
    }

    /// Returns the last elements of each channel, as many as the past has.
    fn present(&self, call: &Call<'_>) -> Result<Tensor> {
        let x = call.tensor(0)?;
        let past = call.optional_tensor(3)?;
        let zero = Tensor::zero(x.element_type())?;
        let rows = 0..element_count(&[self.images, self.channels])?;
        let positions = rows.flat_map(|row| self.positions(row, past.is_some()).skip(self.length));
        let shape = [self.images, self.channels, self.past];
        Ok(call.allocate(x.element_type(), &shape)?.gather_from(&[x, past.unwrap_or(&zero), &zero], positions)?)
    }
}

fn causal_sums(call: &Call<'_>, accumulate: Accumulate) -> Result<(Vec<f64>, History)> {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let past = call.optional_tensor(3)?;
    let history = History::from_tensors(x, w, past)?;
    let History { images, channels, length, .. } = history;
    let taps = history.past + 1;
    let bias = call.optional_tensor(2)?.map(|bias| accumulate.read(call.budget, bias)).transpose()?;
    let input = length.checked_add(taps - 1).ok_or_else(|| invalid("the length overflows"))?;
    let axes = [Axis { input, output: length, kernel: taps, stride: 1, dilation: 1, before: 0, after: 0 }];
    let shapes = Shapes { images, groups: channels, channels: 1, features: 1, kernel: vec![taps], input: vec![input] };
    let past = past.map(|tensor| call.budget.read_floats(tensor)).transpose()?;
    let values = call.budget.read_floats(x)?;
    let sums = shapes.product(call, &axes, bias, x.element_type())?.compute(
        |budget, group, _| accumulate.read(budget, &w.part(group * taps..(group + 1) * taps)),
        |budget, image, group| {
            let positions = history.positions(image * channels + group, past.is_some());
            let line = positions.map(|(source, index)| match (source, &past) {
                (0, _) => values[index],
                (1, Some(past)) => past[index],
                _ => 0.0,
            });
            Patches::new(accumulate.apply(budget.collect(line)?), &axes, Direction::Forward)
        },
    )?;
    Ok((sums, history))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, node, typed};

    fn ones(shape: &[usize]) -> Tensor {
        floats(shape, &vec![1.0; shape.iter().product()])
    }

    #[test]
    fn no_spatial_axes_are_a_product_and_an_empty_batch_is_empty() {
        let conv = node("Conv", 1).input(floats(&[1, 2], &[3.0, 5.0])).input(floats(&[1, 2], &[2.0, 10.0])).tensor();
        assert_eq!((conv.shape(), conv.floats().as_slice()), (&[1, 1][..], &[56.0][..]));
        let empty = node("Conv", 1).input(floats(&[0, 1, 3], &[])).input(ones(&[2, 1, 2])).tensor();
        assert_eq!(empty.shape(), [0, 2, 2]);
        let missing = node("Conv", 1).input(floats(&[1, 0, 2], &[])).input(floats(&[1, 0, 1], &[]));
        assert_eq!(missing.input(floats(&[1], &[7.0])).tensor().floats(), [7.0, 7.0]);
    }

    #[test]
    fn sums_are_rounded_once() {
        // 2049 takes 12 bits, and float16 has 11. Each product would round, but the sum is exact.
        let x = typed(ElementType::Float16, &[1, 2, 1], &[683.0, -683.0]);
        let w = typed(ElementType::Float16, &[1, 2, 1], &[3.0, 2.0]);
        assert_eq!(node("Conv", 1).input(x).input(w).tensor().floats(), [683.0]);
        let x = typed(ElementType::Double, &[1, 3, 1], &[1e100, 1.0, -1e100]);
        let w = typed(ElementType::Double, &[1, 3, 1], &[1.0; 3]);
        assert_eq!(node("Conv", 1).input(x).input(w).tensor().floats(), [1.0]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let rows = [
            node("Conv", 1).input(ones(&[1, 1, 3])).input(ones(&[1, 1, 1, 1])),
            node("Conv", 1).input(ones(&[1, 1, 3])).input(ones(&[1, 1, 2])).set("strides", &[0][..]),
            node("Conv", 1).input(ones(&[1, 1, 3])).input(ones(&[3, 1, 2])).set("group", 0),
            node("Conv", 1).input(ones(&[1, 1, 3])).input(ones(&[1, 1, 9])),
        ];
        for row in rows {
            assert!(!row.error().is_empty());
        }
    }

    #[test]
    fn a_long_line_is_unfolded_in_parts() {
        let length = crate::kernels::nn::im2col::UNFOLDED / 8 + 5;
        let x = floats(&[1, 1, length], &(0..length).map(|at| (at % 7) as f64).collect::<Vec<_>>());
        let y = node("Conv", 1).input(x).input(ones(&[2, 1, 16])).tensor().floats();
        let expected = |first: usize| (first..first + 16).map(|index| (index % 7) as f64).sum::<f64>();
        let outputs = length - 15;
        assert_eq!(y.len(), 2 * outputs);
        assert!(y.iter().enumerate().all(|(at, &y)| y == expected(at % outputs)));
    }
}
