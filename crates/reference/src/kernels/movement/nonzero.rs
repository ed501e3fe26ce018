//! `NonZero`.

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::movement::compress::places_of;
use crate::tensor::Tensor;
use crate::tensor::shape::strides;

pub(super) const KERNELS: &[Kernel] = &[Kernel::new("NonZero", 9, non_zero)];

/// `NonZero`: `out[axis][n]` is the index along `axis` of the n-th element that is not zero; a string is zero when it is empty.
fn non_zero(call: &Call<'_>) -> Result {
    let data = call.tensor(0)?;
    let found = match data.element_type() {
        ElementType::String => places_of(call, data.strings().iter().map(|text| !text.is_empty()))?,
        _ => places_of(call, data.stream(Tensor::bools))?,
    };
    let shape = data.shape();
    let indices = strides(shape)
        .into_iter()
        .zip(shape)
        .flat_map(|(stride, &size)| found.iter().map(move |&index| (index / stride % size) as i128));
    Ok(call.integers(ElementType::Int64, &[shape.len(), found.len()], indices)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node, strings, typed};

    #[test]
    fn a_scalar_has_no_axis_to_index() {
        for (value, count) in [(7.0, 1), (0.0, 0)] {
            assert_eq!(node("NonZero", 9).input(floats(&[], &[value])).tensor().shape(), [0, count]);
        }
    }

    #[test]
    fn nonzero_knows_every_kind() {
        let found = |data: Tensor| node("NonZero", 13).input(data).tensor();
        assert_eq!(found(floats(&[2, 2], &[f64::NAN, -0.0, 0.0, 1e-45])), ints(&[2, 2], &[0, 1, 0, 1]));
        assert_eq!(found(strings(&[3], &["", "0", ""])), ints(&[1, 1], &[1]));
        assert_eq!(found(typed(ElementType::Bool, &[2], &[0.0, 1.0])), ints(&[1, 1], &[1]));
        assert_eq!(found(floats(&[2, 0], &[])), ints(&[2, 0], &[]));
    }
}
