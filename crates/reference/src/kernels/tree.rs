//! Tree ensembles of ai.onnx.ml.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
