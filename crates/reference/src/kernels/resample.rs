//! Resize, Upsample, GridSample, AffineGrid.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
