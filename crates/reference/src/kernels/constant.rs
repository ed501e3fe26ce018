//! Tensors from attributes or from a shape: Constant, ConstantOfShape, EyeLike, Range.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
