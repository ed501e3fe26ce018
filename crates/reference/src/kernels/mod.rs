//! The operators: one file a family, one function an operator, one row a change of its meaning.

pub mod budget;
pub mod call;
pub mod error;
pub mod registry;

mod activation;
mod arithmetic;
mod attention;
mod bitwise;
mod cast;
mod columns;
mod comparison;
mod constant;
mod control;
mod convolution;
mod cumulative;
mod deform;
mod describe;
mod einsum;
mod features;
mod gather;
mod grid;
mod image;
mod interpolate;
mod join;
mod linear;
mod loss;
mod matrix;
mod models;
mod normalization;
mod optimizer;
mod optional;
mod pad;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod region;
mod resample;
mod reshape;
mod scatter;
mod search;
mod sequence;
mod signal;
mod slice;
mod softmax;
mod suppression;
mod text;
mod transpose;
mod tree;
mod unary;
mod variadic;
mod window;

/// Every family's rows.
pub(crate) const FAMILIES: &[&[registry::Kernel]] = &[
    activation::KERNELS,
    arithmetic::KERNELS,
    attention::KERNELS,
    bitwise::KERNELS,
    cast::KERNELS,
    comparison::KERNELS,
    constant::KERNELS,
    control::KERNELS,
    convolution::KERNELS,
    cumulative::KERNELS,
    describe::KERNELS,
    einsum::KERNELS,
    features::KERNELS,
    gather::KERNELS,
    grid::KERNELS,
    image::KERNELS,
    join::KERNELS,
    linear::KERNELS,
    loss::KERNELS,
    matrix::KERNELS,
    models::KERNELS,
    normalization::KERNELS,
    optimizer::KERNELS,
    optional::KERNELS,
    pad::KERNELS,
    pool::KERNELS,
    quantize::KERNELS,
    random::KERNELS,
    recurrent::KERNELS,
    reduce::KERNELS,
    region::KERNELS,
    resample::KERNELS,
    reshape::KERNELS,
    scatter::KERNELS,
    search::KERNELS,
    sequence::KERNELS,
    signal::KERNELS,
    slice::KERNELS,
    softmax::KERNELS,
    text::KERNELS,
    transpose::KERNELS,
    tree::KERNELS,
    unary::KERNELS,
    variadic::KERNELS,
];
