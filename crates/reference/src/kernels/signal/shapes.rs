//! Shapes of Fourier transforms and windows.

use crate::infer::{NodeView, Shape, axis_of, rules};
use crate::model::graph::Dim;
use crate::types::ValueType;

/// An input of one integer as a dimension; `default` if it is omitted.
fn length(view: &NodeView<'_, '_>, position: usize, default: Dim) -> Dim {
    if !view.is_given(position) {
        return default;
    }
    match view.elements(position).as_deref() {
        Some([Some(size)]) => size.clone().dim(),
        _ => Dim::Unknown,
    }
}

/// The bins of a transform of this length: all, or `length / 2 + 1` if they are one-sided.
fn bins(length: &Dim, is_one_sided: Option<bool>) -> Dim {
    match is_one_sided {
        Some(true) => length.over(&Dim::Size(2)).plus_int(1),
        Some(false) => length.clone(),
        None => Dim::Unknown,
    }
}

/// `DFT`: the bins along the axis, and the real and imaginary part. A one-sided inverse is real.
pub(super) fn transformed(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let axis = match view.spec.attributes.contains_key("axis") {
        true => view.int("axis"),
        false if view.is_given(2) => view.scalar(2),
        false => Some(-2),
    };
    let Some(axis) = axis else { return rules::unknown(shape.len()) };
    let axis = axis_of(axis, Some(shape.len()))?;
    let size = shape.get(axis)?.clone();
    let (one_sided, inverse) = (view.flag("onesided"), view.flag("inverse"));
    let is_real = one_sided.zip(inverse).map(|(one_sided, inverse)| one_sided && inverse);
    let default = match is_real {
        Some(true) => size.size().map_or(Dim::Unknown, |size| Dim::Size(size.saturating_sub(1).saturating_mul(2))),
        Some(false) => size,
        None => Dim::Unknown,
    };
    let length = length(view, 1, default);
    let is_half = one_sided.zip(inverse).map(|(one_sided, inverse)| one_sided && !inverse);
    *shape.get_mut(axis)? = bins(&length, is_half);
    *shape.last_mut()? = match is_real {
        Some(is_real) => Dim::Size(if is_real { 1 } else { 2 }),
        None => Dim::Unknown,
    };
    Some(shape)
}

/// `STFT`: `[batch, frames, bins, 2]`.
pub(super) fn frames(view: &NodeView<'_, '_>) -> Option<Shape> {
    let samples = view.dim(0, 1)?;
    // A window is as long as the frames, so its length gives theirs if that is unknown.
    let window = if view.is_given(2) { view.dim(2, 0)? } else { samples.clone() };
    let length = match length(view, 3, window.clone()) {
        Dim::Unknown if view.is_given(2) => window,
        length => length,
    };
    let step = view.scalar(1).and_then(|step| usize::try_from(step).ok()).filter(|step| *step > 0);
    let frames = match (samples.size(), length.size(), step) {
        (Some(samples), Some(length), Some(step)) => {
            let rest = samples.checked_sub(length).and_then(|rest| rest.checked_div(step));
            Dim::Size(rest.map_or(0, |rest| rest.saturating_add(1)))
        }
        _ => Dim::Unknown,
    };
    Some(vec![view.dim(0, 0)?, frames, bins(&length, view.flag("onesided")), Dim::Size(2)])
}

/// A window of the length that the first input gives.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
pub(super) fn window(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![length(view, 0, Dim::Unknown)])
}

/// `MelWeightMatrix`: `[dft_length / 2 + 1, num_mel_bins]`.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
pub(super) fn mel_weights(view: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![bins(&length(view, 1, Dim::Unknown), Some(true)), length(view, 0, Dim::Unknown)])
}

/// The type that `output_datatype` names.
pub(super) fn window_type(view: &NodeView<'_, '_>, _: usize) -> Option<ValueType> {
    rules::attribute_type(view, "output_datatype")
}
