//! Functions of one number: roots, exponentials, trigonometry, rounding.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
