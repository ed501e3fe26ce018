//! Operators of ai.onnx.ml.

pub(crate) mod encoders;
pub(crate) mod linear;
pub(crate) mod post_transform;
pub(crate) mod preprocessing;
mod shapes;
pub(crate) mod svm;
pub(crate) mod tree_ensemble;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] =
    &[encoders::KERNELS, linear::KERNELS, preprocessing::KERNELS, svm::KERNELS, tree_ensemble::KERNELS];
