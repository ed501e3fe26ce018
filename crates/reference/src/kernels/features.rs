//! Feature engineering of ai.onnx.ml: scaling, encoding, imputing, extracting.

use crate::kernels::registry::Kernel;

pub(super) const KERNELS: &[Kernel] = &[];
