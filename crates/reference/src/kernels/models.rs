//! Classical models of ai.onnx.ml: linear models and support vector machines.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
