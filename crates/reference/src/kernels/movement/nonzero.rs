//! `NonZero`.

use crate::dtype::ElementType;
use crate::infer::{NodeView, Shape};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::movement::compress::true_indices;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::strides;

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("NonZero", 9, non_zero).shape(coordinates)];

/// `NonZero`: `out[axis][n]` is the index along `axis` of the n-th nonzero element. An empty string counts as zero.
fn non_zero(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let found = match data.element_type() {
        ElementType::String => true_indices(call, data.strings().iter().map(|text| !text.is_empty()))?,
        _ => true_indices(call, data.stream(Tensor::bools))?,
    };
    let shape = data.shape();
    let indices = strides(shape)
        .into_iter()
        .zip(shape)
        .flat_map(|(stride, &size)| found.iter().map(move |&index| (index / stride % size) as i128));
    Ok(call.integers(ElementType::Int64, &[shape.len(), found.len()], indices)?.into())
}

/// One row per axis, and one column per nonzero element.
#[expect(clippy::unnecessary_wraps, reason = "a rule of the kernel table")]
fn coordinates(view: &NodeView<'_, '_>) -> Option<Shape> {
    let constant = view.input(0).and_then(|fact| fact.constant.as_ref()?.as_tensor());
    let numbers = constant.filter(|tensor| tensor.element_type() != ElementType::String);
    // bounded: by the size of a constant.
    let found = numbers.map(|tensor| Dim::Size(tensor.bools().into_iter().filter(|set| *set).count()));
    Some(vec![view.rank(0).map_or(Dim::Unknown, Dim::Size), found.unwrap_or(Dim::Unknown)])
}
