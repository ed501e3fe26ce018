//! Operators on the binary digits of integers.

use crate::kernels::elementwise::map::Pair;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::Ruled;
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("BitShift", 11, shift),
    Kernel::new("BitwiseAnd", 18, |call| Pair::broadcast(call).rule("C1")?.integers(|a, b| a & b)),
    Kernel::new("BitwiseNot", 18, not),
    Kernel::new("BitwiseOr", 18, |call| Pair::broadcast(call).rule("C1")?.integers(|a, b| a | b)),
    Kernel::new("BitwiseXor", 18, |call| Pair::broadcast(call).rule("C1")?.integers(|a, b| a ^ b)),
];

/// Moves the digits of X by Y places; signed numbers, which version 28 adds, keep their sign to the right.
///
/// A distance below zero or past the width leaves the sign alone: version 28 says so, and 11 nothing else.
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
    fn shifts_discard_what_leaves_and_extend_the_sign() {
        type Row = (E, i64, &'static str, [f64; 5], [f64; 5], [f64; 5]);
        let rows: [Row; 4] = [
            (E::Uint8, 11, "LEFT", [1., 2., 255., 129., 1.], [1., 2., 4., 1., 8.], [2., 8., 240., 2., 0.]),
            (E::Uint8, 11, "RIGHT", [1., 4., 255., 129., 255.], [1., 1., 4., 7., 9.], [0., 2., 15., 1., 0.]),
            (E::Int8, 28, "RIGHT", [-1., -128., 127., -5., -5.], [1., 7., 8., 8., -1.], [-1., -1., 0., -1., -1.]),
            (E::Int8, 28, "LEFT", [64., -128., -1., -5., 5.], [1., 1., 7., 8., -1.], [-128., 0., -128., 0., 0.]),
        ];
        for (element, opset, direction, x, y, expected) in rows {
            let result = node("BitShift", opset)
                .input(typed(element, &[5], &x))
                .input(typed(element, &[5], &y))
                .set("direction", direction)
                .tensor();
            assert_eq!(result.floats(), expected, "{element} {direction}");
        }
    }

    #[test]
    fn an_unknown_direction_is_refused() {
        let x = typed(E::Uint8, &[1], &[1.0]);
        let shift = node("BitShift", 11).input(x.clone()).input(x).set("direction", "left");
        assert!(shift.error().contains("takes LEFT, RIGHT"));
    }
}
