//! QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
