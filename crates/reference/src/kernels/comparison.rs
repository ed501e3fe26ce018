//! Comparisons and logic: two values to one truth value.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
