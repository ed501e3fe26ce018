//! If, Loop and Scan: nodes that run subgraphs.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
