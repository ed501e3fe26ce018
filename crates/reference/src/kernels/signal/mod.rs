//! Signals: Fourier transforms, the windows before them, the mel scale after them.

pub(crate) mod dft;
pub(crate) mod mel_weight_matrix;
pub(crate) mod window;

use crate::kernels::framework::registry::Kernel;

/// The rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[dft::KERNELS, mel_weight_matrix::KERNELS, window::KERNELS];
