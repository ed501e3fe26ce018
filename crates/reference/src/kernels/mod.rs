//! The operators: one file a family, one function an operator, one row a change of its meaning.

pub mod budget;
pub mod call;
pub mod error;
pub mod registry;
pub(crate) mod sparse;

mod activation;
mod arguments;
mod arithmetic;
mod attention;
mod batch_normalization;
mod bitwise;
mod cast;
mod clip;
mod columns;
mod comparison;
mod constant;
mod control;
mod convolution;
mod cumulative;
mod deform;
mod describe;
mod einsum;
mod elementwise;
mod factors;
mod features;
mod fold;
mod gather;
mod gradient;
mod grid;
mod image;
mod interpolate;
mod join;
mod labels;
mod lanes;
mod linear;
mod loss;
mod matrix;
mod models;
mod normalization;
mod numeral;
mod optimizer;
mod optional;
mod pad;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod regex_syntax;
mod region;
mod resample;
mod reshape;
mod scan;
mod scatter;
mod scores;
mod search;
mod search_top;
mod sequence;
mod signal;
mod slice;
mod softmax;
mod stack;
mod suppression;
mod svm;
mod text;
mod tfidf;
mod transpose;
mod transposed_convolution;
mod tree;
mod tree_build;
mod unary;
mod unique;
mod variadic;
mod window;

/// Every family's rows.
pub(crate) const FAMILIES: &[&[registry::Kernel]] = &[
    activation::KERNELS,
    arithmetic::KERNELS,
    attention::KERNELS,
    batch_normalization::KERNELS,
    bitwise::KERNELS,
    cast::KERNELS,
    clip::KERNELS,
    comparison::KERNELS,
    constant::KERNELS,
    control::KERNELS,
    convolution::KERNELS,
    cumulative::KERNELS,
    describe::KERNELS,
    einsum::KERNELS,
    features::KERNELS,
    fold::KERNELS,
    gather::KERNELS,
    gradient::KERNELS,
    grid::KERNELS,
    image::KERNELS,
    join::KERNELS,
    labels::KERNELS,
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
    scan::KERNELS,
    scatter::KERNELS,
    search::KERNELS,
    search_top::KERNELS,
    sequence::KERNELS,
    signal::KERNELS,
    slice::KERNELS,
    softmax::KERNELS,
    svm::KERNELS,
    text::KERNELS,
    tfidf::KERNELS,
    transpose::KERNELS,
    tree::KERNELS,
    unary::KERNELS,
    unique::KERNELS,
    variadic::KERNELS,
];
