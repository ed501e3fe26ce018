//! Positions of values: ArgMax, ArgMin, TopK, NonZero, Unique, OneHot, Compress.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
