//! Elements put by index: Scatter and its kin.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
