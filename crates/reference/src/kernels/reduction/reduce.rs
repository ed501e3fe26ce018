//! Reductions over axes, with `ArgMax` and `ArgMin`.

#![expect(clippy::indexing_slicing, reason = "axes come from normalize_axis, and lists have one entry per axis")]

use crate::dtype::{ElementType, Kind};
use crate::infer::{elements, rules};
use crate::kernels::framework::accumulate::Accumulate;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::lanes::{Lane, Lanes, extreme};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;
use crate::tensor::sum::{dot, product, sum};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::accumulating("ReduceSum", 1, |call, accumulate| reduce_linear(call, AXES_ATTRIBUTE, &SUM, accumulate))
        .shape(rules::reduced)
        .with_elements(elements::reduced_sum),
    Kernel::accumulating("ReduceSum", 13, |call, accumulate| reduce_linear(call, AXES_INPUT, &SUM, accumulate))
        .shape(rules::reduced)
        .with_elements(elements::reduced_sum),
    Kernel::accumulating("ReduceMean", 1, |call, accumulate| reduce_linear(call, AXES_ATTRIBUTE, &MEAN, accumulate))
        .shape(rules::reduced),
    Kernel::accumulating("ReduceMean", 18, |call, accumulate| reduce_linear(call, AXES_INPUT, &MEAN, accumulate))
        .shape(rules::reduced),
    Kernel::new("ReduceProd", 1, |call| reduce(call, AXES_ATTRIBUTE, &PRODUCT))
        .shape(rules::reduced)
        .with_elements(elements::reduced_product),
    Kernel::new("ReduceProd", 18, |call| reduce(call, AXES_INPUT, &PRODUCT))
        .shape(rules::reduced)
        .with_elements(elements::reduced_product),
    Kernel::new("ReduceMax", 1, |call| reduce(call, AXES_ATTRIBUTE, &MAX))
        .shape(rules::reduced)
        .with_elements(elements::reduced_maximum),
    Kernel::new("ReduceMax", 18, |call| reduce(call, AXES_INPUT, &MAX))
        .shape(rules::reduced)
        .with_elements(elements::reduced_maximum),
    Kernel::new("ReduceMin", 1, |call| reduce(call, AXES_ATTRIBUTE, &MIN))
        .shape(rules::reduced)
        .with_elements(elements::reduced_minimum),
    Kernel::new("ReduceMin", 18, |call| reduce(call, AXES_INPUT, &MIN))
        .shape(rules::reduced)
        .with_elements(elements::reduced_minimum),
    Kernel::accumulating("ReduceL1", 1, |call, accumulate| reduce_linear(call, AXES_ATTRIBUTE, &L1, accumulate))
        .shape(rules::reduced),
    Kernel::accumulating("ReduceL1", 18, |call, accumulate| reduce_linear(call, AXES_INPUT, &L1, accumulate))
        .shape(rules::reduced),
    Kernel::new("ReduceL2", 1, |call| reduce(call, AXES_ATTRIBUTE, &L2)).shape(rules::reduced),
    Kernel::new("ReduceL2", 18, |call| reduce(call, AXES_INPUT, &L2_BY_BODY)).shape(rules::reduced),
    Kernel::new("ReduceSumSquare", 1, |call| reduce(call, AXES_ATTRIBUTE, &SUM_SQUARE)).shape(rules::reduced),
    Kernel::new("ReduceSumSquare", 18, |call| reduce(call, AXES_INPUT, &SUM_SQUARE)).shape(rules::reduced),
    Kernel::new("ReduceLogSum", 1, |call| reduce(call, AXES_ATTRIBUTE, &LOG_SUM)).shape(rules::reduced),
    Kernel::new("ReduceLogSum", 18, |call| reduce(call, AXES_INPUT, &LOG_SUM)).shape(rules::reduced),
    Kernel::new("ReduceLogSumExp", 1, |call| reduce(call, AXES_ATTRIBUTE, &LOG_SUM_EXP)).shape(rules::reduced),
    Kernel::new("ReduceLogSumExp", 18, |call| reduce(call, AXES_INPUT, &LOG_SUM_EXP)).shape(rules::reduced),
    Kernel::new("ArgMax", 1, |call| arg(call, true, Empty::Elsewhere)).shape(rules::reduced_axis),
    Kernel::new("ArgMax", 11, |call| arg(call, true, Empty::Refused)).shape(rules::reduced_axis),
    Kernel::new("ArgMax", 12, |call| arg(call, true, Empty::Elsewhere)).shape(rules::reduced_axis),
    Kernel::new("ArgMin", 1, |call| arg(call, false, Empty::Elsewhere)).shape(rules::reduced_axis),
    Kernel::new("ArgMin", 11, |call| arg(call, false, Empty::Refused)).shape(rules::reduced_axis),
    Kernel::new("ArgMin", 12, |call| arg(call, false, Empty::Elsewhere)).shape(rules::reduced_axis),
];

/// Support of `ArgMax` and `ArgMin` for a dimension of 0.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// Allowed along every axis but the reduced one.
    Elsewhere,
    /// A dimension of 0 is not allowed.
    Refused,
}

/// Source of a version's axes.
type AxesOf = fn(&Call<'_>) -> Result<Axes>;

/// Axes that a node names, and the meaning of an empty list: none, or all.
#[derive(Debug)]
struct Axes {
    named: Vec<i64>,
    none_is_none: bool,
}

/// Axes from an attribute. An empty list means all.
const AXES_ATTRIBUTE: AxesOf =
    |call| Ok(Axes { named: call.optional_ints("axes").unwrap_or(&[]).to_vec(), none_is_none: false });

/// Axes from an input. `noop_with_empty_axes` defines the meaning of an empty list.
const AXES_INPUT: AxesOf = |call| {
    let named =
        call.optional_tensor(1)?.map(|tensor| call.budget.read_indices(tensor)).transpose()?.unwrap_or_default();
    Ok(Axes { named, none_is_none: call.flag("noop_with_empty_axes")? })
};

/// Returns a mask of the reduced axes of a tensor of this rank.
fn mask(axes: &Axes, rank: usize) -> Result<Vec<bool>> {
    let all = axes.named.is_empty() && !axes.none_is_none;
    let mut mask: Vec<bool> = std::iter::repeat_n(all, rank).collect();
    for &axis in &axes.named {
        mask[normalize_axis(axis, rank).rule("C3")?] = true;
    }
    Ok(mask)
}

/// Returns the shape without the reduced axes, or with 1 for each of them.
fn reduced_shape(shape: &[usize], mask: &[bool], keep_dims: bool) -> Vec<usize> {
    let dims = shape.iter().zip(mask);
    dims.filter(|(_, reduced)| keep_dims || !**reduced).map(|(&dim, &reduced)| if reduced { 1 } else { dim }).collect()
}

/// Reduction of a lane, by kind of element.
struct Reduction {
    /// Function for floating-point types, computed in `f64`.
    float: fn(Lane<'_, f64>) -> f64,
    /// Function for integers and `bool`. The result wraps.
    integer: fn(Lane<'_, i128>, ElementType) -> i128,
}

fn reduce(call: &Call<'_>, axes: AxesOf, reduction: &Reduction) -> Result {
    let data = call.tensor(0)?;
    let mask = mask(&axes(call)?, data.rank())?;
    let shape = reduced_shape(data.shape(), &mask, call.flag("keepdims")?);
    let lanes = Lanes::new(call, data.shape(), &mask)?;
    call.budget.count_work(data.len())?;
    let element = data.element_type();
    if element.is_float() {
        let values = lanes.fold(call, &call.budget.read_floats(data)?, reduction.float)?;
        return Ok(call.floats(element, &shape, values)?.into());
    }
    let values = lanes.fold(call, &call.budget.read_integers(data)?, |lane| (reduction.integer)(lane, element))?;
    Ok(call.integers(element, &shape, values)?.into())
}

/// Applies the reduction to the absolute values, in `double`.
fn magnitude(call: &Call<'_>, axes: AxesOf, float: fn(Lane<'_, f64>) -> f64) -> Result {
    let data = call.tensor(0)?;
    let mask = mask(&axes(call)?, data.rank())?;
    let shape = reduced_shape(data.shape(), &mask, call.flag("keepdims")?);
    let absolute = call.budget.collect(data.stream(Tensor::floats).map(f64::abs))?;
    let values = Lanes::new(call, data.shape(), &mask)?.fold(call, &absolute, float)?;
    Ok(call.floats(ElementType::Double, &shape, values)?.into())
}

/// Computes a reduction that is linear in the magnitudes of its terms.
fn reduce_linear(call: &Call<'_>, axes: AxesOf, reduction: &Reduction, accumulate: Accumulate) -> Result {
    match accumulate {
        Accumulate::Value => reduce(call, axes, reduction),
        Accumulate::Magnitude => magnitude(call, axes, reduction.float),
    }
}

const SUM: Reduction = Reduction { float: |lane| sum(lane), integer: |lane, _| lane.sum() };

/// Mean. Over no values it is undefined: NaN, or 0 for types without NaN. An integer mean is truncated toward zero, as
/// in `numpy.mean`.
const MEAN: Reduction = Reduction {
    float: |lane| {
        let count = lane.len() as f64;
        sum(lane) / count
    },
    integer: |lane, _| {
        let count = lane.len() as i128;
        lane.sum::<i128>().checked_div(count).unwrap_or(0)
    },
};

const PRODUCT: Reduction =
    Reduction { float: |lane| product(lane), integer: |lane, _| lane.fold(1, i128::wrapping_mul) };

/// Maximum. Over no values: the lowest value of the type.
const MAX: Reduction = Reduction {
    float: |lane| lane.fold(f64::NEG_INFINITY, |max, value| if value > max || value.is_nan() { value } else { max }),
    integer: |lane, element| lane.max().or(element.min_value()).unwrap_or(0),
};

/// Minimum. Over no values: the highest value of the type.
const MIN: Reduction = Reduction {
    float: |lane| lane.fold(f64::INFINITY, |min, value| if value < min || value.is_nan() { value } else { min }),
    integer: |lane, element| lane.min().or(element.max_value()).unwrap_or(0),
};

const L1: Reduction = Reduction { float: |lane| sum(lane.map(f64::abs)), integer: |lane, _| lane.map(i128::abs).sum() };

const L2: Reduction = Reduction {
    float: |lane| dot(lane.map(|value| (value, value))).sqrt(),
    integer: |lane, _| {
        let squares = lane.map(|value| value.unsigned_abs().saturating_mul(value.unsigned_abs()));
        squares.fold(0, u128::saturating_add).isqrt().cast_signed()
    },
};

/// From version 18 on, the function body defines integers: squares and their sum wrap, and the root is computed in
/// `float`. For floating-point types the norm is still rounded once.
const L2_BY_BODY: Reduction = Reduction {
    float: L2.float,
    integer: |lane, element| {
        let squares = lane.fold(0, |sum: i128, value| sum.wrapping_add(value.wrapping_mul(value)));
        let wrapped = element.decode_i128(element.wrap(squares));
        let float = ElementType::Float;
        let root = float.decode_f64(float.encode_i128(wrapped)).sqrt();
        float.decode_i128(float.encode(root))
    },
};

const SUM_SQUARE: Reduction = Reduction {
    float: |lane| dot(lane.map(|value| (value, value))),
    integer: |lane, _| lane.fold(0, |sum: i128, value| sum.wrapping_add(value.wrapping_mul(value))),
};

const LOG_SUM: Reduction = Reduction {
    float: |lane| libm::log(sum(lane)),
    integer: |lane, element| element.decode_i128(element.truncate(libm::log(lane.sum::<i128>() as f64))),
};

/// Logarithm of the sum of exponentials, relative to the largest value so that no exponential overflows.
const LOG_SUM_EXP: Reduction = Reduction {
    float: |lane| {
        let max = (MAX.float)(lane.clone());
        if max.is_infinite() { max } else { max + libm::log(sum(lane.map(|value| libm::exp(value - max)))) }
    },
    integer: |lane, element| {
        let Some(max) = lane.clone().max() else { return element.min_value().unwrap_or(0) };
        let above = libm::log(sum(lane.map(|value| libm::exp((value - max) as f64))));
        #[expect(clippy::cast_possible_truncation, reason = "an integer result is cut toward zero")]
        if max.unsigned_abs() < 1 << 48 {
            (max as f64 + above) as i128
        } else {
            max + if max < 0 { above.ceil() } else { above.floor() } as i128
        }
    },
};

/// Returns the indices of the largest or smallest elements along an axis.
fn arg(call: &Call<'_>, largest: bool, empty: Empty) -> Result {
    let data = call.tensor(0)?;
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C1")?;
    let last = call.optional_int("select_last_index").is_some_and(|flag| flag != 0);
    if data.shape()[axis] == 0 || (empty == Empty::Refused && data.is_empty()) {
        return Err(broken(
            "C4",
            format!("axis {axis} of shape {:?} is empty, so no element can be selected", data.shape()),
        ));
    }
    let mask: Vec<bool> = (0..data.rank()).map(|index| index == axis).collect();
    let shape = reduced_shape(data.shape(), &mask, call.flag("keepdims")?);
    let lanes = Lanes::new(call, data.shape(), &mask)?;
    call.budget.count_work(data.len())?;
    let places = match data.element_type().kind() {
        Kind::Float => lanes.fold(call, &call.budget.read_floats(data)?, |lane| extreme(lane, largest, last))?,
        _ => lanes.fold(call, &call.budget.read_integers(data)?, |lane| extreme(lane, largest, last))?,
    };
    let places = places.into_iter().map(|place| place.unwrap_or(0) as i128);
    Ok(call.integers(ElementType::Int64, &shape, places)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, ints, node, typed};
    use ElementType as E;

    /// Reduces all elements to one value.
    fn whole(op: &str, opset: i64, data: Tensor) -> f64 {
        let reduced = node(op, opset).input(data).set("keepdims", 0).tensor();
        assert!(reduced.shape().is_empty(), "{op}");
        reduced.floats()[0]
    }

    #[test]
    fn the_mean_of_an_empty_axis_is_nan() {
        assert!(whole("ReduceMean", 20, floats(&[2, 0], &[])).is_nan());
    }

    #[test]
    fn a_scalar_has_no_axis_0() {
        assert!(node("ReduceMin", 18).input(floats(&[], &[7.0])).input(ints(&[1], &[0])).error().contains("axis 0"));
    }

    #[test]
    fn integers_wrap_and_their_means_are_cut() {
        let max = f64::from(i32::MAX);
        assert_eq!(whole("ReduceSum", 13, typed(E::Int32, &[2], &[max, 1.0])), -2_147_483_648.0);
        assert_eq!(whole("ReduceMean", 18, typed(E::Int32, &[2], &[max, max])), max);
        assert_eq!(whole("ReduceMean", 18, typed(E::Int32, &[2], &[-2.0, -3.0])), -2.0);
        assert_eq!(whole("ReduceProd", 18, typed(E::Uint32, &[2], &[65536.0, 65537.0])), 65536.0);
        assert_eq!(whole("ReduceLogSumExp", 18, typed(E::Int64, &[2], &[-5.0, -5.0])), -4.0);
        let large = ints(&[2], &[(1 << 60) + 1, 1]);
        assert_eq!(node("ReduceSum", 13).input(large).tensor().integers(), [(1 << 60) + 2]);
    }

    #[test]
    fn from_18_on_the_norm_of_integers_goes_through_float() {
        // The squares sum to 5793^2 - 1. Its root is below 5793 by less than the precision of float.
        let data = || ints(&[6], &[5792, 107, 11, 3, 2, 1]);
        assert_eq!(whole("ReduceL2", 13, data()), 5792.0);
        assert_eq!(whole("ReduceL2", 18, data()), 5793.0);
    }

    #[test]
    fn nan_is_above_and_below_all() {
        for op in ["ReduceMax", "ReduceMin"] {
            assert!(whole(op, 18, floats(&[3], &[1.0, f64::NAN, 2.0])).is_nan(), "{op}");
        }
    }

    #[test]
    fn exponentials_may_be_larger_than_any_number() {
        assert_eq!(whole("ReduceLogSumExp", 18, floats(&[1], &[1000.0])), 1000.0);
    }

    #[test]
    fn halves_round_once_at_the_end() {
        let tie = typed(E::Float16, &[3], &[2048.0, 1.0, 1.0]);
        assert_eq!(whole("ReduceSum", 13, tie), 2050.0);
        assert_eq!(whole("ReduceL2", 18, typed(E::Float16, &[2], &[300.0, 400.0])), 500.0);
        assert_eq!(whole("ReduceMean", 18, typed(E::Float16, &[2], &[65504.0, 65504.0])), 65504.0);
    }
}
