//! Parts of a tensor: Slice.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
