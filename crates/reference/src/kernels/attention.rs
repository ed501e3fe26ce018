//! Attention and its kin: queries, keys and values.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
