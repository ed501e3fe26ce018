//! From one element type to another: Cast, CastLike, BitCast.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
