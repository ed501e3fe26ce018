//! Add, Sub, Mul, Div, Mod, Pow: two numbers to one, with the broadcasting of each version.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
