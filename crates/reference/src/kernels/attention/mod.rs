//! Attention and its kin: queries, keys and values.

mod bias;
mod dot_product;
mod flex;
mod heads;
mod linear;
mod rotary;
mod scores;

use crate::kernels::registry::Kernel;
use bias::ShortMask;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Attention", 23, |call| dot_product::attention(call, ShortMask::Broadcast)),
    Kernel::new("Attention", 24, |call| dot_product::attention(call, ShortMask::Masked)),
    Kernel::of("ai.onnx.preview", "FlexAttention", 1, flex::flex_attention),
    Kernel::new("LinearAttention", 27, linear::linear_attention),
    Kernel::new("RotaryEmbedding", 23, rotary::rotary_embedding),
];
