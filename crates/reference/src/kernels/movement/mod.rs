//! Data movement: creating, indexing, joining, padding and reordering tensors.

pub(crate) mod compress;
pub(crate) mod concat_split;
pub(crate) mod constants;
pub(crate) mod gather;
pub(crate) mod nonzero;
pub(crate) mod one_hot;
pub(crate) mod pad;
pub(crate) mod reshape;
pub(crate) mod scatter;
pub(crate) mod shape_size;
#[cfg(test)]
mod shape_tests;
pub(crate) mod slice;
pub(crate) mod transpose;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[
    compress::KERNELS,
    concat_split::KERNELS,
    constants::KERNELS,
    gather::KERNELS,
    nonzero::KERNELS,
    one_hot::KERNELS,
    pad::KERNELS,
    reshape::KERNELS,
    scatter::KERNELS,
    shape_size::KERNELS,
    slice::KERNELS,
    transpose::KERNELS,
];
