//! `ConvTranspose`: convolution that scatters each element of its input over the output.

#![expect(
    clippy::indexing_slicing,
    reason = "Shapes::transposed checks ranks, channels and groups; attribute lists have one entry per axis"
)]

use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::conv::Shapes;
use crate::kernels::nn::im2col::{Direction, Patches};
use crate::kernels::nn::shapes;
use crate::kernels::nn::window::{AutoPad, Axis, per_axis};
use crate::tensor::shape::element_count;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("ConvTranspose", 1, |call, accumulate| conv_transpose(call, Rules::Of1, accumulate))
        .shape(shapes::transposed),
    Kernel::accumulating("ConvTranspose", 11, |call, accumulate| conv_transpose(call, Rules::Of11, accumulate))
        .shape(shapes::transposed),
];

/// Rules of a version for `output_shape` and `output_padding`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// `output_shape` may include batch and channels. The odd element of its padding is at the beginning only for
    /// `SAME_UPPER`.
    Of1,
    /// `output_shape` is spatial. The odd element is at the beginning for all but `SAME_UPPER`. `output_padding` is
    /// less than stride or dilation.
    Of11,
}

/// Transposed convolution: `Y[n][m][i * stride + k * dilation - pad] += X[n][c][i] * W[c][m][k]`, within a group.
fn conv_transpose(call: &Call<'_>, rules: Rules, accumulate: Accumulate) -> Result {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let bias = call.optional_tensor(2)?.map(|bias| accumulate.read(call.budget, bias)).transpose()?;
    let shapes = Shapes::transposed(call, x, w)?;
    let axes = transposed_axes(call, &shapes, rules)?;
    let taps = element_count(&shapes.kernel)?;
    let weights = accumulate.read(call.budget, w)?;
    let sums = shapes.product(call, &axes, bias, x.element_type())?.compute(
        |budget, group, rows| {
            let mut out: Vec<f64> = budget.scratch(rows.len() * shapes.channels * taps)?;
            let pairs = rows.flat_map(|row| (0..shapes.channels).map(move |channel| (row, channel)));
            for ((feature, channel), out) in pairs.zip(out.chunks_mut(taps.max(1))) {
                let start = ((group * shapes.channels + channel) * shapes.features + feature) * taps;
                out.copy_from_slice(&weights[start..start + taps]);
            }
            Ok(out)
        },
        |budget, image, group| {
            let image = accumulate.read(budget, &x.part(shapes.part(image, group)?))?;
            Patches::new(image, &axes, Direction::Transposed)
        },
    )?;
    Ok(call.floats(accumulate.output(x.element_type()), &shapes.output(&axes)?, sums)?.into())
}

/// Returns the axes of a transposed convolution. The first `before` scattered elements are cropped, then `output` are
/// kept.
fn transposed_axes(call: &Call<'_>, shapes: &Shapes, rules: Rules) -> Result<Vec<Axis>> {
    let count = shapes.input.len();
    let (auto_pad, pads) = AutoPad::with_pads(call, count)?;
    let strides = per_axis(call, "strides", count, 1)?;
    let dilations = per_axis(call, "dilations", count, 1)?;
    let extra = per_axis(call, "output_padding", count, 0)?;
    let outputs = given_outputs(call, count, rules)?;
    (0..count)
        .map(|index| {
            let (input, kernel, stride, dilation) =
                (shapes.input[index], shapes.kernel[index], strides[index], dilations[index]);
            if rules == Rules::Of11 && extra[index] >= stride.max(dilation) && extra[index] > 0 {
                let extra = extra[index];
                return Err(broken(
                    "C9",
                    format!("output_padding is {extra}; it must be less than stride {stride} or dilation {dilation}"),
                ));
            }
            let axis =
                Axis { input, output: 0, kernel, stride, dilation, before: pads[index], after: pads[count + index] };
            let given = outputs.as_ref().map(|outputs| outputs[index]);
            TransposedAxis { axis, extra: extra[index], given }.laid_out(auto_pad, rules)
        })
        .collect()
}

/// Reads the attribute `output_shape`.
fn given_outputs(call: &Call<'_>, count: usize, rules: Rules) -> Result<Option<Vec<usize>>> {
    let Some(given) = call.optional_ints("output_shape") else { return Ok(None) };
    let includes_batch = rules == Rules::Of1 && given.len() == count + 2;
    let outputs = per_axis(call, "output_shape", if includes_batch { count + 2 } else { count }, 0)?;
    Ok(Some(if includes_batch { outputs[2..].to_vec() } else { outputs }))
}

/// Axis of a transposed convolution, whose output length is not known yet.
struct TransposedAxis {
    axis: Axis,
    /// Entry of `output_padding`.
    extra: usize,
    /// Entry of `output_shape`.
    given: Option<usize>,
}

impl TransposedAxis {
    /// Pads the axis: by `pads`, or to the given output length, or to the input length times the stride.
    fn laid_out(self, auto_pad: AutoPad, rules: Rules) -> Result<Axis> {
        let TransposedAxis { axis, extra, given } = self;
        let full = axis.stride as i128 * (axis.input as i128 - 1) + extra as i128 + axis.extent();
        let same = matches!(auto_pad, AutoPad::SameUpper | AutoPad::SameLower);
        let target = given.or_else(|| same.then(|| axis.input.saturating_mul(axis.stride)));
        if let Some(output) = target {
            let total = usize::try_from((full - output as i128).max(0)).unwrap_or(usize::MAX);
            let upper = auto_pad == AutoPad::SameUpper;
            let odd_first = if given.is_some() && rules == Rules::Of1 { upper } else { !upper };
            let before = if odd_first { total - total / 2 } else { total / 2 };
            return Ok(Axis { output, before, after: total - before, ..axis });
        }
        let (before, after) = if auto_pad == AutoPad::Valid { (0, 0) } else { (axis.before, axis.after) };
        let output = full - before as i128 - after as i128;
        let output = usize::try_from(output)
            .map_err(|_| invalid(format!("padding by {before} and {after} leaves {output} of {full} elements")))?;
        Ok(Axis { output, before, after, ..axis })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{floats, node};

    #[test]
    fn an_output_shape_crops_or_extends() {
        // Kernel [1, 10, 100] on [1, 2] with stride 3 gives 1 10 100 2 20 200. For 5 elements, version 1 drops the
        // last.
        let shaped = |opset: i64, auto_pad: &str, shape: &[i64]| {
            let node = node("ConvTranspose", opset)
                .input(floats(&[1, 1, 2], &[1.0, 2.0]))
                .input(floats(&[1, 1, 3], &[1.0, 10.0, 100.0]));
            let node = node.set("strides", &[3][..]).set("auto_pad", auto_pad);
            node.set("output_shape", shape).tensor().floats()
        };
        assert_eq!(shaped(1, "SAME_LOWER", &[5]), [1.0, 10.0, 100.0, 2.0, 20.0]);
        assert_eq!(shaped(1, "NOTSET", &[1, 1, 4]), [10.0, 100.0, 2.0, 20.0]);
        assert_eq!(shaped(11, "NOTSET", &[7]), [1.0, 10.0, 100.0, 2.0, 20.0, 200.0, 0.0]);
    }
}
