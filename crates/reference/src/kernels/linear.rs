//! MatMul, Gemm and their integer forms.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
