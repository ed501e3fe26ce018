//! Bits of integers: shifts, and, or, xor, not.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
