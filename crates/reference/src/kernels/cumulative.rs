//! Running sums and products along an axis.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
