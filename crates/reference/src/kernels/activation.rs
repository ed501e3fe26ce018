//! Relu and the other functions that follow a layer, element by element.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
