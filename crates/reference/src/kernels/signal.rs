//! DFT, STFT, windows and mel filters.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
