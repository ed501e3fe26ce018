//! Image operators: decoding, resizing, sampling, regions.

pub(crate) mod grid_sample;
#[cfg(feature = "images")]
pub(crate) mod image_decoder;
pub(crate) mod non_max_suppression;
pub(crate) mod resize;
pub(crate) mod roi;
mod shapes;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[
    grid_sample::KERNELS,
    #[cfg(feature = "images")]
    image_decoder::KERNELS,
    non_max_suppression::KERNELS,
    resize::KERNELS,
    roi::KERNELS,
];
