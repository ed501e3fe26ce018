//! Output shapes of convolutions and pooling: `(size + pads - (dilation * (kernel - 1) + 1)) / stride + 1` per axis.

use onnx_conformance_reference::model::graph::Dim;

use crate::infer::view::NodeView;

/// The output shape of a convolution.
pub(super) fn convolved(view: &NodeView<'_, '_>) -> Option<Vec<Dim>> {
    let weights = if view.spec.version.name == "QLinearConv" { 3 } else { 1 };
    let dims = view.shape(0)?;
    let kernel = view.shape(weights);
    let features = kernel.as_ref().and_then(|kernel| kernel.first().cloned()).unwrap_or(Dim::Unknown);
    let size = |axis: usize| match kernel.as_ref().and_then(|kernel| kernel.get(axis + 2)) {
        Some(Dim::Size(size)) => Some(*size),
        _ => None,
    };
    windowed(view, &dims, features, &size)
}

/// The output shape of a pooling operator.
pub(super) fn pooled(view: &NodeView<'_, '_>) -> Option<Vec<Dim>> {
    let dims = view.shape(0)?;
    let channels = dims.get(1)?.clone();
    let kernel = view.attributes.ints("kernel_shape").unwrap_or_default();
    let size = |axis: usize| kernel.get(axis).and_then(|size| usize::try_from(*size).ok());
    windowed(view, &dims, channels, &size)
}

/// The output shape of a global pooling operator.
pub(super) fn global(view: &NodeView<'_, '_>) -> Option<Vec<Dim>> {
    let dims = view.shape(0)?;
    Some(dims.into_iter().enumerate().map(|(axis, dim)| if axis < 2 { dim } else { Dim::Size(1) }).collect())
}

fn windowed(
    view: &NodeView<'_, '_>,
    dims: &[Dim],
    channels: Dim,
    kernel: &dyn Fn(usize) -> Option<usize>,
) -> Option<Vec<Dim>> {
    let (batch, spatial) = (dims.first()?, dims.get(2..)?);
    let rank = spatial.len();
    let is_plain = !view.attributes.any_open()
        && matches!(view.attributes.text("auto_pad"), None | Some("NOTSET"))
        && view.attributes.int("ceil_mode").unwrap_or(0) == 0;
    let listed = |name: &str, index: usize, default: i64| match view.attributes.ints(name) {
        Some(values) => values.get(index).copied(),
        None => Some(default),
    };
    let size = |(axis, dim): (usize, &Dim)| {
        let Dim::Size(size) = dim else { return None };
        let kernel = i64::try_from(kernel(axis)?).ok()?;
        let pads = listed("pads", axis, 0)?.checked_add(listed("pads", axis + rank, 0)?)?;
        let reach = listed("dilations", axis, 1)?.checked_mul(kernel - 1)?.checked_add(1)?;
        let free = i64::try_from(*size).ok()?.checked_add(pads)?.checked_sub(reach)?;
        let steps = free.checked_div(listed("strides", axis, 1)?).filter(|_| free >= 0)?;
        usize::try_from(steps.checked_add(1)?).ok()
    };
    let sizes = spatial.iter().enumerate().map(|dim| if is_plain { size(dim) } else { None });
    let sizes = sizes.map(|size| size.map_or(Dim::Unknown, Dim::Size));
    Some([batch.clone(), channels].into_iter().chain(sizes).collect())
}
