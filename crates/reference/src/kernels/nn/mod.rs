//! Neural network layers: convolution, pooling, normalization.

pub(crate) mod batch_normalization;
pub(crate) mod col2im;
pub(crate) mod conv;
pub(crate) mod conv_transpose;
pub(crate) mod deform_conv;
pub(crate) mod im2col;
pub(crate) mod normalization;
pub(crate) mod pool;
mod shapes;
pub(crate) mod window;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[
    batch_normalization::KERNELS,
    col2im::KERNELS,
    conv::KERNELS,
    conv_transpose::KERNELS,
    deform_conv::KERNELS,
    normalization::KERNELS,
    pool::KERNELS,
];
