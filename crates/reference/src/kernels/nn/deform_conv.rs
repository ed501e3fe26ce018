//! `DeformConv`: convolution whose taps have offsets, and interpolate between elements.

#![expect(
    clippy::indexing_slicing,
    reason = "the shapes of offset and mask are checked, and neighbours outside the input are left out"
)]

use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Missing, broken, unsupported};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::nn::conv::Shapes;
use crate::kernels::nn::im2col::Im2Col;
use crate::kernels::nn::shapes;
use crate::kernels::nn::window::Axis;
use crate::tensor::Tensor;
use crate::tensor::shape::{element_count, strides};
use crate::tensor::sum::sum;

pub(super) const KERNELS: &[Kernel] = &[Kernel::accumulating("DeformConv", 19, deform_conv).shape(shapes::convolved)];

/// Maximum number of spatial axes. A place between elements has two neighbours per axis, so their number doubles with
/// each.
const MAX_AXES: usize = 16;

/// Deformable convolution: `Y[n][m][o] = B[m] + sum over c, k of X[n][c](o * stride + k * dilation - pad +
/// offset[n][k][o]) * mask[n][k][o] * W[m][c][k]`, with linear interpolation between the elements of X.
fn deform_conv(call: &Call<'_>, accumulate: Accumulate) -> Result {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    let bias = call.optional_tensor(3)?.map(|bias| accumulate.read(call.budget, bias)).transpose()?;
    let shapes = Shapes::forward(call, x, w)?;
    let axes = shapes.axes(call)?;
    let depth = shapes.weights_of_feature()?;
    if axes.len() > MAX_AXES {
        let message =
            format!("DeformConv over {} spatial axes is not supported; the maximum is {MAX_AXES}", axes.len());
        return Err(unsupported(Missing::Attribute, message));
    }
    let places = Places::read(call, &shapes, &axes, accumulate)?;
    let sums = shapes.product(call, &axes, bias, x.element_type())?.compute(
        |budget, group, rows| {
            let (from, to) = (group * shapes.features + rows.start, group * shapes.features + rows.end);
            accumulate.read(budget, &w.part(from * depth..to * depth))
        },
        |budget, image, group| {
            let values = accumulate.read(budget, &x.part(shapes.part(image, group)?))?;
            Ok(Deformed { places: &places, image, channel: group * shapes.channels, values })
        },
    )?;
    Ok(call.floats(accumulate.output(x.element_type()), &shapes.output(&axes)?, sums)?.into())
}

/// Offsets and masks of the taps.
struct Places {
    axes: Vec<Axis>,
    steps: Vec<usize>,
    plane: usize,
    taps: usize,
    windows: usize,
    /// Groups of channels that share their offsets, and the channels per group.
    groups: usize,
    channels: usize,
    offsets: Vec<f64>,
    mask: Option<Vec<f64>>,
}

impl Places {
    fn read(call: &Call<'_>, shapes: &Shapes, axes: &[Axis], accumulate: Accumulate) -> Result<Places> {
        let outputs: Vec<usize> = axes.iter().map(|axis| axis.output).collect();
        let taps = element_count(&shapes.kernel)?;
        let channels = shapes.channels * shapes.groups;
        let groups = per_offset_group(call, channels)?;
        let expected = |per_tap: usize| -> Result<Vec<usize>> {
            let lead = element_count(&[groups, taps, per_tap])?;
            Ok([shapes.images, lead].into_iter().chain(outputs.iter().copied()).collect())
        };
        let checked = |what: &str, tensor: &Tensor, shape: Vec<usize>| match tensor.shape() {
            found if found == shape => call.budget.read_floats(tensor),
            found => Err(broken("C6", format!("{what} has shape {found:?}; the other inputs require {shape:?}"))),
        };
        let offsets = checked("offset", call.tensor(2)?, expected(axes.len())?)?;
        let mask = call.optional_tensor(4)?.map(|mask| checked("mask", mask, expected(1)?)).transpose()?;
        let mask = mask.map(|mask| accumulate.apply(mask));
        Ok(Places {
            axes: axes.to_vec(),
            steps: strides(&shapes.input),
            plane: element_count(&shapes.input)?,
            taps,
            windows: element_count(&outputs)?,
            groups,
            channels: (channels / groups).max(1),
            offsets,
            mask,
        })
    }

    /// Interpolates a plane linearly at a place. Elements outside the plane are zero.
    fn sample(&self, plane: &[f64], place: &[f64]) -> f64 {
        if plane.is_empty() {
            return 0.0;
        }
        let corners = 1usize << place.len();
        sum((0..corners).map(|corner| self.corner(plane, place, corner)))
    }

    /// Returns the contribution of one neighbour of a place. Each bit of `corner` selects its side along one axis.
    fn corner(&self, plane: &[f64], place: &[f64], corner: usize) -> f64 {
        let (mut index, mut weight) = (0, 1.0);
        for (bit, (&place, (axis, step))) in place.iter().zip(self.axes.iter().zip(&self.steps)).enumerate() {
            let low = place.floor();
            let upper = corner >> bit & 1 == 1;
            weight *= if upper { place - low } else { 1.0 - (place - low) };
            let position = if upper { low + 1.0 } else { low };
            if weight == 0.0 || !(position >= 0.0 && position < axis.input as f64) {
                return if place.is_nan() { f64::NAN } else { 0.0 };
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index within the axis")]
            let position = position as usize;
            index += position * step;
        }
        weight * plane[index]
    }
}

fn per_offset_group(call: &Call<'_>, channels: usize) -> Result<usize> {
    let given = call.int("offset_group")?;
    usize::try_from(given)
        .ok()
        .filter(|&groups| groups > 0 && channels.is_multiple_of(groups))
        .ok_or_else(|| broken("C5", format!("offset_group is {given}, which does not divide {channels} channels")))
}

/// One image and group of a deformable convolution.
struct Deformed<'a> {
    places: &'a Places,
    image: usize,
    /// First channel of the group.
    channel: usize,
    values: Vec<f64>,
}

impl Im2Col for Deformed<'_> {
    fn fill(&self, row: usize, from: usize, out: &mut [f64]) {
        let Places { axes, plane, taps, windows, groups, channels, offsets, mask, .. } = self.places;
        let (channel, tap) = (row / taps, row % taps);
        let values = &self.values[channel * plane..(channel + 1) * plane];
        let per_tap = (self.image * groups + (self.channel + channel) / channels) * taps + tap;
        let mut place: Vec<f64> = axes.iter().map(|_| 0.0).collect();
        for (window, out) in (from..).zip(out) {
            let (mut tap, mut left) = (tap, window);
            for (index, axis) in axes.iter().enumerate().rev() {
                let fixed = (left % axis.output * axis.stride + tap % axis.kernel * axis.dilation) as f64;
                let offset = offsets[(per_tap * axes.len() + index) * windows + window];
                place[index] = fixed - axis.before as f64 + offset;
                tap /= axis.kernel;
                left /= axis.output;
            }
            let weight = mask.as_ref().map_or(1.0, |mask| mask[per_tap * windows + window]);
            *out = weight * self.places.sample(values, &place);
        }
    }
}
