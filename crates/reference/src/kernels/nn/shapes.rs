//! Shapes of convolutions, pools and the operators around them.

use crate::infer::{List, NodeView, Shape, rules};
use crate::kernels::nn::window::Rounding;
use crate::model::graph::Dim;
use crate::types::ValueType;

/// Window along one spatial axis, with symbolic sizes.
struct Window {
    kernel: Dim,
    stride: i64,
    dilation: i64,
    /// Padding before and after.
    pads: (i64, i64),
}

/// Padding by the attribute `auto_pad`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    /// Padding by the attribute `pads`.
    Given,
    /// Padding that gives the output the size of the input, divided by the stride.
    Same,
    None,
}

fn padding(view: &NodeView<'_, '_>) -> Option<Padding> {
    if view.attributes.is_open("auto_pad") {
        return None;
    }
    match view.text("auto_pad").unwrap_or("NOTSET") {
        "NOTSET" => Some(Padding::Given),
        "SAME_UPPER" | "SAME_LOWER" => Some(Padding::Same),
        "VALID" => Some(Padding::None),
        _ => None,
    }
}

/// An entry of a list attribute, or its default.
fn entry(view: &NodeView<'_, '_>, name: &str, index: usize, default: i64) -> Option<i64> {
    match view.ints(name) {
        List::Given(values) => values.get(index).copied(),
        List::Absent => Some(default),
        List::Unknown => None,
    }
}

/// The window along an axis of `count`.
fn window(view: &NodeView<'_, '_>, kernel: Dim, axis: usize, count: usize) -> Option<Window> {
    let stride = entry(view, "strides", axis, 1).filter(|stride| *stride > 0)?;
    let pads = (entry(view, "pads", axis, 0)?, entry(view, "pads", axis.checked_add(count)?, 0)?);
    Some(Window { kernel, stride, dilation: entry(view, "dilations", axis, 1)?, pads })
}

impl Window {
    /// The length from the first tap through the last: `(kernel - 1) * dilation + 1`.
    fn extent(&self) -> Dim {
        self.kernel.plus_int(-1).times(&Dim::from_int(self.dilation)).plus_int(1)
    }

    /// The number of windows over `input`: `(input + pads - extent) / stride + 1`.
    fn count_over(&self, input: &Dim, padding: Padding, rounding: Rounding) -> Dim {
        let stride = Dim::from_int(self.stride);
        let (pads, rounding) = match padding {
            Padding::Same => return input.over_rounded_up(&stride),
            Padding::Given => (self.pads, rounding),
            Padding::None => ((0, 0), Rounding::Floor),
        };
        let padded = input.plus_int(pads.0).plus_int(pads.1);
        let room = padded.minus(&self.extent());
        if room == Dim::Unknown {
            return Dim::Unknown;
        }
        match rounding {
            Rounding::Floor => room.over(&stride).plus_int(1),
            Rounding::Ceil => room.over_rounded_up(&stride).plus_int(1),
            Rounding::CeilInside => {
                let output = room.over_rounded_up(&stride).plus_int(1);
                // A window that starts in the end padding is omitted.
                let last = output.plus_int(-1).times(&stride);
                match (last.size(), input.plus_int(pads.0).size(), self.stride) {
                    (_, _, 1) => output,
                    (Some(last), Some(inside), _) if last >= inside => output.plus_int(-1),
                    (Some(_), Some(_), _) => output,
                    _ => Dim::Unknown,
                }
            }
        }
    }
}

/// `[N, C, ...]`: batch and channels, then the number of windows along each spatial axis.
fn over_windows(
    view: &NodeView<'_, '_>,
    channels: Dim,
    kernel: &dyn Fn(usize) -> Dim,
    rounding: Rounding,
) -> Option<Shape> {
    let input = view.shape(0)?;
    let spatial = input.get(2..)?;
    let padding = padding(view);
    let size = |(axis, input): (usize, &Dim)| {
        let window = window(view, kernel(axis), axis, spatial.len());
        window.zip(padding).map_or(Dim::Unknown, |(window, padding)| window.count_over(input, padding, rounding))
    };
    let sizes = spatial.iter().enumerate().map(size);
    Some([input.first()?.clone(), channels].into_iter().chain(sizes).collect())
}

/// The shape of a convolution whose weight, `[M, C / group, ...]`, is the input `weight`.
fn convolved_by(view: &NodeView<'_, '_>, weight: usize) -> Option<Shape> {
    let kernel = |axis: usize| {
        let size = view.dim(weight, axis.saturating_add(2)).unwrap_or(Dim::Unknown);
        let listed = entry(view, "kernel_shape", axis, -1).map_or(Dim::Unknown, Dim::from_int);
        size.or(&listed)
    };
    over_windows(view, view.dim(weight, 0)?, &kernel, Rounding::Floor)
}

pub(super) fn convolved(view: &NodeView<'_, '_>) -> Option<Shape> {
    convolved_by(view, 1)
}

pub(super) fn convolved_by_the_fourth(view: &NodeView<'_, '_>) -> Option<Shape> {
    convolved_by(view, 3)
}

/// `CausalConvWithState`: the shape of the input, and the last `kernel - 1` elements of each channel.
pub(super) fn causal(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let state = || Some(vec![view.dim(0, 0)?, view.dim(0, 1)?, view.dim(1, 2)?.plus_int(-1)]);
    vec![view.shape(0), state()]
}

/// The shape of a pool.
fn pooled(view: &NodeView<'_, '_>, ceil: Rounding) -> Option<Shape> {
    let has_choice = view.spec.attributes.contains_key("ceil_mode");
    let rounding = if has_choice && view.flag("ceil_mode")? { ceil } else { Rounding::Floor };
    let kernel = |axis: usize| entry(view, "kernel_shape", axis, -1).map_or(Dim::Unknown, Dim::from_int);
    over_windows(view, view.dim(0, 1)?, &kernel, rounding)
}

pub(super) fn pooled_with_ceil(view: &NodeView<'_, '_>) -> Option<Shape> {
    pooled(view, Rounding::Ceil)
}

pub(super) fn pooled_inside(view: &NodeView<'_, '_>) -> Option<Shape> {
    pooled(view, Rounding::CeilInside)
}

/// `MaxPool`: values and indices.
pub(super) fn all_pooled_with_ceil(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    rules::repeat(pooled(view, Rounding::Ceil), view.output_count())
}

pub(super) fn all_pooled_inside(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    rules::repeat(pooled(view, Rounding::CeilInside), view.output_count())
}

/// A global pool: 1 along each spatial axis.
pub(super) fn pooled_globally(view: &NodeView<'_, '_>) -> Option<Shape> {
    let input = view.shape(0)?;
    Some(input.into_iter().enumerate().map(|(axis, dim)| if axis < 2 { dim } else { Dim::Size(1) }).collect())
}

/// `ConvTranspose`: `stride * (input - 1) + output_padding + extent - pads` along each axis, or `output_shape`.
pub(super) fn transposed(view: &NodeView<'_, '_>) -> Option<Shape> {
    let input = view.shape(0)?;
    let spatial = input.get(2..)?;
    let (count, padding) = (spatial.len(), padding(view));
    let given = match view.ints("output_shape") {
        List::Given(sizes) => Some(Some(sizes.split_at_checked(sizes.len().checked_sub(count)?)?.1.to_vec())),
        List::Absent => Some(None),
        List::Unknown => None,
    };
    let size = |(axis, input): (usize, &Dim)| {
        if let Some(sizes) = given.as_ref()? {
            return sizes.get(axis).map(|size| Dim::from_int(*size));
        }
        let kernel = view.dim(1, axis.checked_add(2)?)?;
        let kernel = kernel.or(&entry(view, "kernel_shape", axis, -1).map_or(Dim::Unknown, Dim::from_int));
        let window = window(view, kernel, axis, count)?;
        let stride = Dim::from_int(window.stride);
        let pads = match padding? {
            Padding::Same => return Some(input.times(&stride)),
            Padding::Given => window.pads,
            Padding::None => (0, 0),
        };
        let full = input.plus_int(-1).times(&stride).plus_int(entry(view, "output_padding", axis, 0)?);
        Some(full.plus(&window.extent()).plus_int(pads.0.checked_neg()?).plus_int(pads.1.checked_neg()?))
    };
    let sizes = spatial.iter().enumerate().map(|axis| size(axis).unwrap_or(Dim::Unknown));
    let groups = view.int("group").map_or(Dim::Unknown, Dim::from_int);
    let channels = view.dim(1, 1)?.times(&groups);
    Some([input.first()?.clone(), channels].into_iter().chain(sizes).collect())
}

/// `MaxUnpool`: `output_shape`, or `(input - 1) * stride + kernel - pads` along each axis.
pub(super) fn unpooled(view: &NodeView<'_, '_>) -> Option<Shape> {
    let input = view.shape(0)?;
    if view.is_given(2) {
        let shape = view.shape_from_elements(2).filter(|shape| shape.len() == input.len());
        return shape.or_else(|| rules::unknown(input.len()));
    }
    let spatial = input.get(2..)?;
    let size = |(axis, input): (usize, &Dim)| {
        let kernel = entry(view, "kernel_shape", axis, -1).map(Dim::from_int)?;
        let window = window(view, kernel, axis, spatial.len())?;
        let full = input.plus_int(-1).times(&Dim::from_int(window.stride)).plus(&window.kernel);
        Some(full.plus_int(window.pads.0.checked_neg()?).plus_int(window.pads.1.checked_neg()?))
    };
    let sizes = spatial.iter().enumerate().map(|axis| size(axis).unwrap_or(Dim::Unknown));
    Some(input.iter().take(2).cloned().chain(sizes).collect())
}

/// `Col2Im`: batch, channels divided by the elements of a block, and the image.
pub(super) fn folded(view: &NodeView<'_, '_>) -> Option<Shape> {
    let image = view.shape_from_elements(1)?;
    let block = view.shape_from_elements(2).map_or(Dim::Unknown, |block| Dim::product(&block));
    let channels = if block == Dim::Size(0) { Dim::Unknown } else { view.dim(0, 1)?.over(&block) };
    Some([view.dim(0, 0)?, channels].into_iter().chain(image).collect())
}

/// `BatchNormalization`: the outputs after the first are statistics of the channels.
pub(super) fn batch(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let statistics = rules::repeat(view.shape(3), view.output_count().saturating_sub(1));
    std::iter::once(view.shape(0)).chain(statistics).collect()
}

/// `LayerNormalization`: mean and inverse deviation have 1 from `axis` on.
pub(super) fn layer(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let reduced = || {
        let shape = view.shape(0)?;
        let axis = view.axis("axis", shape.len())?;
        Some(shape.into_iter().enumerate().map(|(at, dim)| if at < axis { dim } else { Dim::Size(1) }).collect())
    };
    let statistics: Option<Shape> = reduced();
    vec![view.shape(0), statistics.clone(), statistics]
}

/// `LayerNormalization`: mean and inverse deviation have the type of the first stage.
pub(super) fn statistics_type(view: &NodeView<'_, '_>, position: usize) -> Option<ValueType> {
    if position == 0 { None } else { rules::attribute_type(view, "stash_type") }
}
