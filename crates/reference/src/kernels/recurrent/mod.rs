//! Networks that carry a state along a sequence: RNN, GRU, LSTM.

mod activation;
mod cells;
mod sequence;

use crate::kernels::registry::Kernel;
use sequence::Layout;

/// The equations of version 1 multiply the state by the untransposed recurrence weights, a slip that version 7
/// corrects: the stacked shape of R, exporters and tests of the time all say transposed. One kernel serves both.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("GRU", 1, |call| cells::gru(call, Layout::TimeFirst)),
    Kernel::new("GRU", 14, |call| cells::gru(call, Layout::from_attribute(call)?)),
    Kernel::new("LSTM", 1, |call| cells::lstm(call, Layout::TimeFirst)),
    Kernel::new("LSTM", 14, |call| cells::lstm(call, Layout::from_attribute(call)?)),
    Kernel::new("RNN", 1, |call| cells::rnn(call, Layout::TimeFirst)),
    Kernel::new("RNN", 14, |call| cells::rnn(call, Layout::from_attribute(call)?)),
];
