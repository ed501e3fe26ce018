//! Attention operators: queries, keys and values.

pub(crate) mod bias;
pub(crate) mod dot_product;
pub(crate) mod flex;
pub(crate) mod heads;
pub(crate) mod linear;
pub(crate) mod rotary;
pub(crate) mod scores;
mod shapes;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[dot_product::KERNELS, flex::KERNELS, linear::KERNELS, rotary::KERNELS];
