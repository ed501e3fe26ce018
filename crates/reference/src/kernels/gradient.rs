//! Derivatives of a graph: Gradient.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
