//! Pad, CenterCropPad.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
