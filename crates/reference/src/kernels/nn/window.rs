//! Windows over the spatial axes of a tensor, for convolutions and pools.

#![expect(
    clippy::indexing_slicing,
    reason = "attribute lists have one entry per axis, and a window counts below its size"
)]

use crate::kernels::framework::budget::Budget;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{KernelError, Ruled, broken_for_all_sizes, invalid};
use crate::parallel::try_for_each_block;
use crate::tensor::shape::{element_count, strides};

/// Layout of the windows along one spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Length of the input.
    pub(super) input: usize,
    /// Number of windows.
    pub(super) output: usize,
    /// Taps per window.
    pub(super) kernel: usize,
    /// Distance from one window to the next.
    pub(super) stride: usize,
    /// Distance from one tap to the next.
    pub(super) dilation: usize,
    /// Padding before the input.
    pub(super) before: usize,
    /// Padding after the input.
    pub(super) after: usize,
}

/// Rounding of the number of windows if the stride does not divide the padded length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Drops the remainder.
    Floor,
    /// Adds a window for the remainder, wherever it starts.
    Ceil,
    /// Adds a window for the remainder, unless it would start in the end padding.
    CeilInside,
}

/// Source of the padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AutoPad {
    /// The attribute `pads`.
    NotSet,
    /// Enough for one window per stride, with the odd element at the end.
    SameUpper,
    /// The same, with the odd element at the beginning.
    SameLower,
    /// No padding.
    Valid,
}

/// Ids of the rules about windows and weights in the op.yaml of an operator. Empty if it has no such attribute or
/// input.
pub(super) struct Rules {
    /// Channels of the input and the weight.
    pub(super) weight: &'static str,
    pub(super) bias: &'static str,
    pub(super) kernel_shape: &'static str,
    /// strides, dilations and other lists have an entry per axis.
    lists: &'static str,
    /// No entry of pads is negative.
    pads: &'static str,
    auto_pad: &'static str,
    /// Only one of pads and `auto_pad` is set.
    pads_or_auto_pad: &'static str,
}

impl Rules {
    pub(super) fn for_operator(call: &Call<'_>) -> Rules {
        let [weight, bias, kernel_shape, lists, pads, auto_pad, pads_or_auto_pad] =
            match call.spec.version.name.as_str() {
                "AveragePool" => ["", "", "C6", "C6", "C4", "C7", "C8"],
                "CausalConvWithState" => ["C5", "C5", "", "", "", "", ""],
                "Conv" => ["C2", "C6", "C5", "C8", "C3", "C7", "C9"],
                "ConvInteger" => ["C4", "", "C4", "C7", "C7", "C5", "C6"],
                "ConvTranspose" => ["C2", "C7", "C2", "C11", "C3", "C8", "C10"],
                "DeformConv" => ["C5", "C6", "C6", "C6", "C6", "", ""],
                "LpPool" => ["", "", "C6", "C6", "C3", "C7", "C8"],
                "MaxPool" => ["", "", "C8", "C8", "C4", "C9", "C10"],
                "MaxUnpool" => ["", "", "C2", "C2", "C2", "", ""],
                "QLinearConv" => ["C5", "C3", "C5", "C9", "C9", "C6", "C8"],
                _ => [""; 7],
            };
        Rules { weight, bias, kernel_shape, lists, pads, auto_pad, pads_or_auto_pad }
    }
}

impl AutoPad {
    /// Reads `auto_pad` and, for `count` axes, `pads`. Only one of them may pad.
    pub(super) fn with_pads(call: &Call<'_>, count: usize) -> Result<(AutoPad, Vec<usize>)> {
        let auto_pad = AutoPad::from_call(call)?;
        let pads = per_axis(call, "pads", 2 * count, 0)?;
        if auto_pad != AutoPad::NotSet && pads.iter().any(|&pad| pad > 0) {
            return Err(broken_for_all_sizes(
                Rules::for_operator(call).pads_or_auto_pad,
                format!("pads is {pads:?}, but auto_pad is set, too; omit one of them"),
            ));
        }
        Ok((auto_pad, pads))
    }

    fn from_call(call: &Call<'_>) -> Result<AutoPad> {
        let names = [
            ("NOTSET", AutoPad::NotSet),
            ("SAME_UPPER", AutoPad::SameUpper),
            ("SAME_LOWER", AutoPad::SameLower),
            ("VALID", AutoPad::Valid),
        ];
        let named = call.optional_one_of("auto_pad", &names).rule(Rules::for_operator(call).auto_pad)?;
        Ok(named.unwrap_or(AutoPad::NotSet))
    }

    /// Splits padding into beginning and end.
    pub(super) fn split(self, total: usize) -> (usize, usize) {
        let half = total / 2;
        if self == AutoPad::SameLower { (total - half, half) } else { (half, total - half) }
    }
}

/// Reads a list attribute with one entry per axis, `count` in all and each at least `min`, which is also the default.
pub(super) fn per_axis(call: &Call<'_>, name: &str, count: usize, min: usize) -> Result<Vec<usize>> {
    let Some(values) = call.optional_ints(name) else { return Ok([min].repeat(count)) };
    let max = usize::try_from(i32::MAX).unwrap_or(usize::MAX);
    let fits = |&value: &i64| usize::try_from(value).ok().filter(|value| (min..=max).contains(value));
    let found: Option<Vec<usize>> = values.iter().map(fits).collect();
    found.filter(|found| found.len() == count).ok_or_else(|| {
        let rules = Rules::for_operator(call);
        let rule = match name {
            "kernel_shape" => rules.kernel_shape,
            "pads" if values.len() == count => rules.pads,
            _ => rules.lists,
        };
        broken_for_all_sizes(rule, format!("{name} is {values:?}; it must have {count} numbers from {min} to {max}"))
    })
}

/// Returns the spatial dimensions of a tensor of at least two axes: all but batch and channels.
pub(super) fn spatial<'a>(what: &str, shape: &'a [usize]) -> Result<&'a [usize]> {
    shape.get(2..).ok_or_else(|| {
        invalid(format!(
            "{what} has shape {shape:?}; it must have a batch axis, a channel axis, and any number of spatial axes"
        ))
    })
}

/// Lays out windows of `kernel` over the spatial dimensions `input`, by the attributes `auto_pad`, `pads`, `strides`
/// and `dilations`.
pub(super) fn axes(call: &Call<'_>, input: &[usize], kernel: &[usize], rounding: Rounding) -> Result<Vec<Axis>> {
    let count = input.len();
    if kernel.len() != count || kernel.contains(&0) {
        return Err(invalid(format!("a kernel of shape {kernel:?} does not fit spatial dimensions {input:?}")));
    }
    let (auto_pad, pads) = AutoPad::with_pads(call, count)?;
    let strides = per_axis(call, "strides", count, 1)?;
    let dilations = per_axis(call, "dilations", count, 1)?;
    (0..count)
        .map(|index| {
            let axis = Axis {
                input: input[index],
                output: 0,
                kernel: kernel[index],
                stride: strides[index],
                dilation: dilations[index],
                before: pads[index],
                after: pads[count + index],
            };
            axis.laid_out(auto_pad, rounding)
        })
        .collect()
}

impl Axis {
    /// Returns one window over the whole input.
    pub(super) fn whole(input: usize) -> Axis {
        Axis { input, output: 1, kernel: input, stride: 1, dilation: 1, before: 0, after: 0 }
    }

    /// Returns the length from the first tap of a window through the last.
    pub(super) fn extent(&self) -> i128 {
        (self.kernel as i128 - 1) * self.dilation as i128 + 1
    }

    /// Computes the padding and the number of windows.
    fn laid_out(self, auto_pad: AutoPad, rounding: Rounding) -> Result<Axis> {
        let (input, stride, extent) = (self.input as i128, self.stride as i128, self.extent());
        if auto_pad == AutoPad::SameUpper || auto_pad == AutoPad::SameLower {
            let output = self.input.div_ceil(self.stride);
            let total = ((output as i128 - 1) * stride + extent - input).max(0);
            let (before, after) = auto_pad.split(usize::try_from(total).map_err(|_| self.too_large())?);
            return Ok(Axis { output, before, after, ..self });
        }
        let (before, after, rounding) = match auto_pad {
            AutoPad::Valid => (0, 0, Rounding::Floor),
            _ => (self.before, self.after, rounding),
        };
        let room = input + before as i128 + after as i128 - extent;
        let mut output = 1 + match rounding {
            Rounding::Floor => room.div_euclid(stride),
            Rounding::Ceil | Rounding::CeilInside => -(-room).div_euclid(stride),
        };
        if rounding == Rounding::CeilInside && (output - 1) * stride >= input + before as i128 {
            output -= 1;
        }
        let output = usize::try_from(output).map_err(|_| self.too_large())?;
        Ok(Axis { output, before, after, ..self })
    }

    fn too_large(&self) -> KernelError {
        let Axis { input, kernel, dilation, before, after, .. } = self;
        invalid(format!(
            "a window of {kernel} taps, dilation {dilation}, does not fit an axis of {input} padded by {before} \
             and {after}"
        ))
    }

    /// Returns the taps of a window inside the input: the first tap, the number of taps, and the position of the first.
    fn taps(&self, window: usize) -> (usize, usize, usize) {
        let start = window * self.stride;
        let first = self.before.saturating_sub(start).div_ceil(self.dilation);
        let end = (self.before + self.input).saturating_sub(start).div_ceil(self.dilation).min(self.kernel);
        let position = (start + first * self.dilation).saturating_sub(self.before);
        (first, end.saturating_sub(first), position)
    }

    /// Counts the taps of a window on the input or its padding.
    fn padded_taps(&self, window: usize) -> usize {
        let left = (self.before + self.input + self.after).saturating_sub(window * self.stride);
        left.div_ceil(self.dilation).min(self.kernel)
    }
}

/// Taps between two checks of the clock.
const TAPS: usize = 1 << 12;

/// Window over one plane: the spatial axes of one channel of one batch entry.
pub(super) struct Window<'a> {
    axes: &'a [Axis],
    /// Strides of a plane.
    steps: &'a [usize],
    /// Index of the window along each axis.
    index: &'a [usize],
    /// Start of the plane in the tensor.
    start: usize,
    budget: &'a Budget,
}

impl Window<'_> {
    /// Visits the positions in the tensor under the window, in row-major order and without padding. It ends early after
    /// the deadline, which the executor checks after every kernel.
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize)) {
        self.visit(0, self.start, &mut visit);
    }

    /// Visits the axes from `first` on, from a position on. Returns false once the deadline has passed.
    fn visit(&self, first: usize, start: usize, visit: &mut impl FnMut(usize)) -> bool {
        let Some(axis) = self.axes.get(first) else {
            visit(start);
            return true;
        };
        let (step, window) = (self.steps[first], self.index[first]);
        let (_, count, position) = axis.taps(window);
        let start_of = |tap: usize| start + (position + tap * axis.dilation) * step;
        if first + 1 < self.axes.len() {
            return (0..count).all(|tap| self.visit(first + 1, start_of(tap), visit));
        }
        (0..count).step_by(TAPS).all(|from| {
            let taps = from..count.min(from + TAPS);
            let has_time = self.budget.count_work(taps.len()).is_ok();
            taps.for_each(|tap| visit(start_of(tap)));
            has_time
        })
    }

    /// Counts the taps on the input or its padding.
    pub(super) fn padded_taps(&self) -> usize {
        self.axes.iter().zip(self.index).map(|(axis, &window)| axis.padded_taps(window)).product()
    }
}

/// Returns the number of windows over one plane.
pub(super) fn windows(axes: &[Axis]) -> Result<usize> {
    Ok(element_count(&axes.iter().map(|axis| axis.output).collect::<Vec<_>>())?)
}

/// Computes one result for every window of every plane of a tensor, planes and windows in row-major order.
pub(super) fn each_window<T: Clone + Default + Send>(
    call: &Call<'_>,
    planes: usize,
    axes: &[Axis],
    reduce: impl Fn(&Window<'_>) -> T + Sync,
) -> Result<Vec<T>> {
    let inputs: Vec<usize> = axes.iter().map(|axis| axis.input).collect();
    let (steps, plane_size) = (strides(&inputs), element_count(&inputs)?);
    let count = windows(axes)?;
    let total = element_count(&[planes, count])?;
    let mut results: Vec<T> = call.budget.scratch(total)?;
    if total == 0 {
        return Ok(results);
    }
    try_for_each_block(&mut results, count, |plane, results| {
        let mut index: Vec<usize> = axes.iter().map(|_| 0).collect();
        let start = plane * plane_size;
        for result in results {
            call.budget.count_work(1)?;
            *result = reduce(&Window { axes, steps: &steps, index: &index, start, budget: call.budget });
            for (dimension, axis) in axes.iter().enumerate().rev() {
                index[dimension] += 1;
                if index[dimension] < axis.output {
                    break;
                }
                index[dimension] = 0;
            }
        }
        Ok::<_, KernelError>(())
    })?;
    Ok(results)
}
