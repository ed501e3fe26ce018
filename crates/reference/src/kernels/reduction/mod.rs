//! Along axes: reductions, running totals, softmax, order.

pub(crate) mod cumulative;
pub(crate) mod reduce;
pub(crate) mod softmax;
pub(crate) mod top_k;
pub(crate) mod unique;

use crate::kernels::framework::registry::Kernel;

/// The rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] =
    &[cumulative::KERNELS, reduce::KERNELS, softmax::KERNELS, top_k::KERNELS, unique::KERNELS];
