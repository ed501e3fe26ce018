//! Recurrent networks: RNN, GRU, LSTM.

pub(crate) mod activation;
pub(crate) mod cells;
pub(crate) mod sequence;
mod shapes;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[cells::KERNELS];
