//! Operators along axes: reductions, running totals, softmax, sorting.

pub(crate) mod cumulative;
pub(crate) mod reduce;
#[cfg(test)]
mod shape_tests;
pub(crate) mod softmax;
pub(crate) mod top_k;
pub(crate) mod unique;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] =
    &[cumulative::KERNELS, reduce::KERNELS, softmax::KERNELS, top_k::KERNELS, unique::KERNELS];
