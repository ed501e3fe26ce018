//! Elements picked by index: Gather and its kin.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
