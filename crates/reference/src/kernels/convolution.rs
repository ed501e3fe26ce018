//! Conv, ConvTranspose and their integer and deformable forms.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
