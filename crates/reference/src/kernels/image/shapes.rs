//! Shapes of resizing, sampling and regions.

use crate::dtype::ElementType;
use crate::infer::{List, NodeView, Shape, rules};
use crate::model::graph::Dim;
use crate::tensor::Tensor;

/// The floats of a constant input.
fn floats(view: &NodeView<'_, '_>, position: usize) -> Option<Vec<f64>> {
    // bounded: by the size of a constant.
    view.input(position)?.constant.as_ref()?.as_tensor().map(Tensor::floats)
}

/// The length of an axis after scaling in float, as the kernel computes it; `None` if it has none.
fn scaled_length(size: usize, scale: f64) -> Option<usize> {
    let scaled = ElementType::Float.round(size as f64 * scale);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length between 0 and 1e15")]
    (scale > 0.0 && scaled < 1e15).then(|| scaled.floor() as usize)
}

/// A size times a scale, rounded down: exact in float for numbers; for names only for whole scales.
fn scaled(dim: &Dim, scale: f64) -> Dim {
    if let Dim::Size(size) = dim {
        return scaled_length(*size, scale).map_or(Dim::Unknown, Dim::Size);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 65536")]
    let whole = (scale.fract() == 0.0 && (1.0..65536.0).contains(&scale)).then_some(scale as i64);
    whole.map_or(Dim::Unknown, |scale| dim.times(&Dim::from_int(scale)))
}

fn by_scales(view: &NodeView<'_, '_>, scales: Option<Vec<f64>>) -> Option<Shape> {
    let input = view.shape(0)?;
    match scales.filter(|scales| scales.len() == input.len()) {
        Some(scales) => Some(input.iter().zip(scales).map(|(dim, scale)| scaled(dim, scale)).collect()),
        None => rules::unknown(input.len()),
    }
}

/// `Upsample` and `Resize` before version 11: each size times its scale.
pub(super) fn scaled_by_input(view: &NodeView<'_, '_>) -> Option<Shape> {
    by_scales(view, floats(view, 1))
}

/// `Upsample-1`: scales of height and width.
pub(super) fn scaled_plane(view: &NodeView<'_, '_>) -> Option<Shape> {
    let scale = |name: &str| Some(f64::from(view.attributes.get(name)?.f?));
    let scales = || Some(vec![1.0, 1.0, scale("height_scale")?, scale("width_scale")?]);
    by_scales(view, scales())
}

/// `Upsample-7`: the attribute `scales`.
pub(super) fn scaled_by_attribute(view: &NodeView<'_, '_>) -> Option<Shape> {
    by_scales(view, view.attributes.get("scales").map(|scales| scales.floats.iter().map(|&it| it.into()).collect()))
}

/// `Resize` from version 11 on: `scales` or `sizes` along `axes`.
pub(super) fn resized(view: &NodeView<'_, '_>) -> Option<Shape> {
    let input = view.shape(0)?;
    let axes = match view.spec.attributes.contains_key("axes").then(|| view.ints("axes")) {
        None | Some(List::Absent) => (0..input.len()).collect(),
        Some(List::Given(axes)) => rules::front_axes(&axes, input.len())?,
        Some(List::Unknown) => return rules::unknown(input.len()),
    };
    let resized = || {
        let mut shape = input.clone();
        // An empty list counts as absent.
        let sizes = view.shape_from_elements(3).filter(|sizes| !sizes.is_empty());
        let are_absolute = !view.spec.attributes.contains_key("keep_aspect_ratio_policy")
            || view.text("keep_aspect_ratio_policy")? == "stretch";
        if let Some(sizes) = sizes {
            for (axis, size) in axes.iter().zip(sizes) {
                *shape.get_mut(*axis)? = if are_absolute { size } else { Dim::Unknown };
            }
            return Some(shape);
        }
        let scales = floats(view, 2).filter(|scales| scales.len() == axes.len())?;
        let is_cropped = view.text("coordinate_transformation_mode")? == "tf_crop_and_resize";
        for (axis, scale) in axes.iter().zip(scales) {
            let dim = shape.get_mut(*axis)?;
            *dim = if is_cropped { Dim::Unknown } else { scaled(dim, scale) };
        }
        Some(shape)
    };
    resized().or_else(|| rules::unknown(input.len()))
}

/// `AffineGrid`: the batch and the spatial sizes of `size`, and a coordinate per spatial axis.
pub(super) fn affine_grid(view: &NodeView<'_, '_>) -> Option<Shape> {
    let size = view.shape_from_elements(1)?;
    let [batch, _, spatial @ ..] = size.as_slice() else { return None };
    let batch = batch.clone().or(&view.dim(0, 0)?);
    Some(std::iter::once(batch).chain(spatial.iter().cloned()).chain([Dim::Size(spatial.len())]).collect())
}

/// `GridSample`: batch and channels of the input, and the places of the grid.
pub(super) fn grid_sample(view: &NodeView<'_, '_>) -> Option<Shape> {
    let grid = view.shape(1)?;
    let [batch, places @ .., _] = grid.as_slice() else { return None };
    let batch = view.dim(0, 0)?.or(batch);
    Some([batch, view.dim(0, 1)?].into_iter().chain(places.iter().cloned()).collect())
}

/// `ImageDecoder`: height, width and channels.
#[cfg(feature = "images")]
pub(super) fn decoded_image(view: &NodeView<'_, '_>) -> Option<Shape> {
    let channels = match view.text("pixel_format")? {
        "Grayscale" => 1,
        _ => 3,
    };
    Some(vec![Dim::Unknown, Dim::Unknown, Dim::Size(channels)])
}

/// `NonMaxSuppression`: batch, class and box of each selected box.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
pub(super) fn selected_boxes(_: &NodeView<'_, '_>) -> Option<Shape> {
    Some(vec![Dim::Unknown, Dim::Size(3)])
}

/// `RoiAlign`: the regions, the channels, and the bins.
pub(super) fn aligned_regions(view: &NodeView<'_, '_>) -> Option<Shape> {
    let regions = view.dim(1, 0)?.or(&view.dim(2, 0)?);
    let bins = ["output_height", "output_width"].map(|name| view.int(name).map_or(Dim::Unknown, Dim::from_int));
    Some([regions, view.dim(0, 1)?].into_iter().chain(bins).collect())
}

/// `MaxRoiPool`: the regions, the channels, and `pooled_shape`.
pub(super) fn pooled_regions(view: &NodeView<'_, '_>) -> Option<Shape> {
    let bins = match view.ints("pooled_shape") {
        List::Given(bins) => bins.into_iter().map(Dim::from_int).collect(),
        _ => rules::unknown(2)?,
    };
    Some([view.dim(1, 0)?, view.dim(0, 1)?].into_iter().chain(bins).collect())
}
