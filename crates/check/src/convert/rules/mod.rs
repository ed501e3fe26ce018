//! Conversion rules by family, for pairs of adjacent versions that the version files alone cannot convert.

#![expect(clippy::unnecessary_wraps, reason = "a rule has the signature of all rules")]

mod attention;
mod axes;
mod body;
mod broadcast;
mod cast;
mod causal;
mod constants;
mod embedding;
mod forest;
mod functions;
mod gather;
mod image;
mod inputs;
mod losses;
mod normalization;
mod quantize;
mod random;
mod recurrent;
mod registry;
mod rule;
mod sampling;
mod shapes;
mod signal;
mod softmax;
mod trees;
mod windows;

pub(crate) use registry::{find, modernize, replace};
