//! Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
