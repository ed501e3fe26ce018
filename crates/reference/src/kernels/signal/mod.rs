//! Signal operators: Fourier transforms, windows, and the mel scale.

pub(crate) mod dft;
pub(crate) mod mel_weight_matrix;
mod shapes;
pub(crate) mod window;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[dft::KERNELS, mel_weight_matrix::KERNELS, window::KERNELS];
