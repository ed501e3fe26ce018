//! Training operators: random numbers, losses, optimizers, gradients.

pub(crate) mod gradient;
pub(crate) mod loss;
pub(crate) mod optimizer;
pub(crate) mod random;
mod second_order;
mod shapes;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[gradient::KERNELS, loss::KERNELS, optimizer::KERNELS, random::KERNELS];
