//! Linear algebra: products of matrices and tensors, determinants, triangles.

pub(crate) mod det_trilu;
pub(crate) mod einsum;
pub(crate) mod matmul;
#[cfg(test)]
mod shape_tests;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[
    det_trilu::KERNELS,
    einsum::KERNELS,
    #[cfg(feature = "next")]
    matmul::grouped::KERNELS,
    matmul::KERNELS,
];
