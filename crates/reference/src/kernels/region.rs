//! Regions of interest: RoiAlign, MaxRoiPool, NonMaxSuppression.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
