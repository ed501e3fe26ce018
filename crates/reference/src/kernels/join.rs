//! Joining and cutting along an axis: Concat and Split.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
