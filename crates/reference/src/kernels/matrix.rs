//! Det and Trilu: one matrix at a time.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
