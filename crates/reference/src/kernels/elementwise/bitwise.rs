//! Bitwise operators on integers.

use crate::infer::rules;
use crate::kernels::elementwise::map::Pair;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::Ruled;
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("BitShift", 11, shift).shape(rules::elementwise),
    Kernel::new("BitwiseAnd", 18, |call| Pair::broadcast(call).rule("C1")?.integers(|a, b| a & b))
        .shape(rules::elementwise),
    Kernel::new("BitwiseNot", 18, not).shape(rules::same),
    Kernel::new("BitwiseOr", 18, |call| Pair::broadcast(call).rule("C1")?.integers(|a, b| a | b))
        .shape(rules::elementwise),
    Kernel::new("BitwiseXor", 18, |call| Pair::broadcast(call).rule("C1")?.integers(|a, b| a ^ b))
        .shape(rules::elementwise),
];

/// Shifts the bits of X by Y places. Signed integers, new in version 28, shift right arithmetically.
///
/// A negative distance, or one of at least the width, gives 0, or copies of the sign bit for a right shift. Version 28
/// defines this; version 11 leaves it open.
fn shift(call: &Call<'_>) -> Result {
    let pair = Pair::broadcast(call).rule("C2")?;
    let width = pair.element().bits();
    let distance = |places: i128| u32::try_from(places).ok().filter(|&places| places < width);
    if call.one_of("direction", &[("LEFT", true), ("RIGHT", false)]).rule("C1")? {
        pair.integers(|value, places| distance(places).map_or(0, |places| value << places))
    } else {
        pair.integers(|value, places| value >> distance(places).unwrap_or(width))
    }
}

fn not(call: &Call<'_>) -> Result {
    let tensor = call.tensor(0)?;
    let values = tensor.stream(Tensor::integers).map(|value| !value);
    Ok(call.integers(tensor.element_type(), tensor.shape(), values)?.into())
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType as E;
    use crate::testing::{node, typed};

    #[test]
    fn an_unknown_direction_is_refused() {
        let x = typed(E::Uint8, &[1], &[1.0]);
        let shift = node("BitShift", 11).input(x.clone()).input(x).set("direction", "left");
        assert!(shift.error().contains("takes LEFT, RIGHT"));
    }
}
