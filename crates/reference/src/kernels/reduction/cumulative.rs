//! `CumSum`, `CumProd`: running sums and products along an axis.

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::lanes::Lanes;
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;
use crate::tensor::sum::{CompensatedProduct, CompensatedSum};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::with_magnitude("CumSum", 11, |call| running(call, &SUM), magnitude).shape(rules::same),
    Kernel::new("CumProd", 26, |call| running(call, &PRODUCT)).shape(rules::same),
];

/// Replaces the elements of a lane with their running accumulation.
struct Accumulation {
    float: fn(&mut [f64], Extent),
    integer: fn(&mut [i128], Extent),
}

const SUM: Accumulation = Accumulation {
    float: |lane, extent| {
        let mut sum = CompensatedSum::default();
        scan(lane, extent, 0.0, |value| {
            sum.add(value);
            sum.value()
        });
    },
    integer: |lane, extent| {
        let mut sum = 0i128;
        scan(lane, extent, 0, |value| {
            sum = sum.wrapping_add(value);
            sum
        });
    },
};

const PRODUCT: Accumulation = Accumulation {
    float: |lane, extent| {
        let mut product = CompensatedProduct::default();
        scan(lane, extent, 1.0, |value| {
            product.multiply(value);
            product.value()
        });
    },
    integer: |lane, extent| {
        let mut product = 1i128;
        scan(lane, extent, 1, |value| {
            product = product.wrapping_mul(value);
            product
        });
    },
};

/// Elements that each result includes.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Excludes the element itself.
    exclusive: bool,
    /// Starts at the end of the axis.
    reverse: bool,
}

impl Extent {
    fn from_call(call: &Call<'_>) -> Result<Extent> {
        Ok(Extent { exclusive: call.flag("exclusive")?, reverse: call.flag("reverse")? })
    }
}

fn scan<T: Copy>(lane: &mut [T], extent: Extent, nothing: T, mut next: impl FnMut(T) -> T) {
    if extent.reverse {
        lane.reverse();
    }
    let mut before = nothing;
    for slot in &mut *lane {
        let after = next(*slot);
        *slot = if extent.exclusive { before } else { after };
        before = after;
    }
    if extent.reverse {
        lane.reverse();
    }
}

fn running(call: &Call<'_>, accumulation: &Accumulation) -> Result {
    let (lanes, extent) = (lanes(call)?, Extent::from_call(call)?);
    let data = call.tensor(0)?;
    let element = data.element_type();
    if element.is_float() {
        let mut values = call.budget.read_floats(data)?;
        lanes.change(call, &mut values, |_, lane| (accumulation.float)(lane, extent))?;
        return Ok(call.floats(element, data.shape(), values)?.into());
    }
    let mut values = call.budget.read_integers(data)?;
    lanes.change(call, &mut values, |_, lane| (accumulation.integer)(lane, extent))?;
    Ok(call.integers(element, data.shape(), values)?.into())
}

/// Computes the running sums of the absolute values, in `double`.
fn magnitude(call: &Call<'_>) -> Result {
    let (lanes, extent) = (lanes(call)?, Extent::from_call(call)?);
    let data = call.tensor(0)?;
    let mut values: Vec<f64> = call.budget.collect(data.stream(Tensor::floats).map(f64::abs))?;
    lanes.change(call, &mut values, |_, lane| (SUM.float)(lane, extent))?;
    Ok(call.floats(ElementType::Double, data.shape(), values)?.into())
}

/// Returns the lanes along the axis given by the second input.
fn lanes(call: &Call<'_>) -> Result<Lanes> {
    let (data, axis) = (call.tensor(0)?, call.tensor(1)?);
    let [named] = call.budget.read_indices(axis)?[..] else {
        return Err(broken("C5", format!("axis has shape {:?}; it must be a scalar", axis.shape())));
    };
    Lanes::along(call, data.shape(), normalize_axis(named, data.rank()).rule("C4")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ints, node, typed};

    #[test]
    fn integers_wrap_and_halves_round_once() {
        let near = typed(ElementType::Int32, &[2], &[2_147_483_647.0, 1.0]);
        let wrapped = node("CumSum", 14).input(near).input(ints(&[], &[0])).tensor();
        assert_eq!(wrapped.floats(), [2_147_483_647.0, -2_147_483_648.0]);
        // 2048 + 1 + 1 is representable in half precision, but 2048 + 1 is not.
        let halves = typed(ElementType::Float16, &[3], &[2048.0, 1.0, 1.0]);
        let sums = node("CumSum", 14).input(halves).input(ints(&[], &[0])).tensor();
        assert_eq!(sums.floats(), [2048.0, 2048.0, 2050.0]);
    }
}
