//! Strings: concatenation, splitting, normalizing, matching, counting n-grams.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
