//! Training: Adagrad, Adam, Momentum, Gradient.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
