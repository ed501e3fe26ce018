//! Element-wise operators: arithmetic, logic, activations, conversions, quantization.

pub(crate) mod activation;
pub(crate) mod arithmetic;
pub(crate) mod bitwise;
pub(crate) mod cast;
pub(crate) mod clip;
pub(crate) mod comparison;
pub(crate) mod map;
pub(crate) mod number_format;
pub(crate) mod quantize;
#[cfg(test)]
mod shape_tests;
pub(crate) mod unary;
pub(crate) mod variadic;

use crate::kernels::framework::registry::Kernel;

/// Kernel rows of each file.
pub(super) const FAMILIES: &[&[Kernel]] = &[
    activation::KERNELS,
    arithmetic::KERNELS,
    bitwise::KERNELS,
    cast::KERNELS,
    clip::KERNELS,
    comparison::KERNELS,
    quantize::KERNELS,
    unary::KERNELS,
    variadic::KERNELS,
];
