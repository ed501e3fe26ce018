//! Random numbers from a seed, and Dropout.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
