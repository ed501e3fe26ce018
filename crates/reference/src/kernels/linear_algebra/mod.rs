//! Products of matrices and tensors.

pub(crate) mod det_trilu;
pub(crate) mod einsum;
pub(crate) mod matmul;

use crate::kernels::framework::registry::Kernel;

/// The rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[det_trilu::KERNELS, einsum::KERNELS, matmul::KERNELS];
