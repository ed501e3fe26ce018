//! Windows of a tensor reduced to one value: the pools and MaxUnpool.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
