//! RNN, GRU and LSTM.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
