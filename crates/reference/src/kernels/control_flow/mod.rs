//! Control flow: subgraphs that run conditionally, repeatedly, or per item.

pub(crate) mod if_loop;
pub(crate) mod scan;
pub(crate) mod scan_outputs;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[if_loop::KERNELS, scan::KERNELS];
