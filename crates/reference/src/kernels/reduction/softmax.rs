//! `Softmax`, `LogSoftmax`, `Hardmax`: normalized exponentials.

use crate::dtype::ElementType;
use crate::infer::rules;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::Ruled;
use crate::kernels::framework::lanes::{Lanes, extreme};
use crate::kernels::framework::registry::Kernel;
use crate::tensor::shape::normalize_axis;
use crate::tensor::sum::sum;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Softmax", 1, |call| normalize(call, FROM_AXIS, |lane, _| softmax(lane))).shape(rules::same),
    Kernel::new("Softmax", 13, |call| normalize(call, ALONG_AXIS, staged_softmax)).shape(rules::same),
    Kernel::new("LogSoftmax", 1, |call| normalize(call, FROM_AXIS, |lane, _| log_softmax(lane))).shape(rules::same),
    Kernel::new("LogSoftmax", 13, |call| normalize(call, ALONG_AXIS, staged_log_softmax)).shape(rules::same),
    Kernel::new("Hardmax", 1, |call| normalize(call, FROM_AXIS, hardmax)).shape(rules::same),
    Kernel::new("Hardmax", 13, |call| normalize(call, ALONG_AXIS, hardmax)).shape(rules::same),
];

/// Function that splits a shape into lanes at the axis.
type LaneSplit = fn(&Call<'_>, &[usize], usize) -> Result<Lanes>;

/// Before version 13, the input is a matrix whose rows hold all axes from `axis` on.
const FROM_AXIS: LaneSplit = Lanes::from_axis;

/// From version 13 on, one axis is normalized.
const ALONG_AXIS: LaneSplit = Lanes::along;

/// Function that rewrites a lane of elements of a type.
type Change = fn(&mut [f64], ElementType);

fn normalize(call: &Call<'_>, split: LaneSplit, change: Change) -> Result {
    let data = call.tensor(0)?;
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C3")?;
    let lanes = split(call, data.shape(), axis)?;
    let mut values = call.budget.read_floats(data)?;
    let element = data.element_type();
    lanes.change(call, &mut values, |_, lane| change(lane, element))?;
    Ok(call.floats(element, data.shape(), values)?.into())
}

/// Subtracts the largest element, so that no exponential overflows.
fn subtract_max(lane: &mut [f64]) {
    let max = lane.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for value in &mut *lane {
        *value -= max;
    }
}

/// Replaces a lane with its softmax: `exp(x[i] - max(x)) / sum(exp(x[j] - max(x)))`.
pub(crate) fn softmax(lane: &mut [f64]) {
    subtract_max(lane);
    for value in &mut *lane {
        *value = libm::exp(*value);
    }
    let total = sum(lane.iter().copied());
    for value in &mut *lane {
        *value /= total;
    }
}

/// Softmax by the function body of version 13: difference, exponential, sum and quotient are each rounded to the type.
pub(crate) fn staged_softmax(lane: &mut [f64], element: ElementType) {
    let total = staged_exponentials(lane, element);
    for value in &mut *lane {
        *value = element.round(*value / total);
    }
}

/// `LogSoftmax` by the function body of version 13: the logarithm of the staged sum is subtracted from the difference.
fn staged_log_softmax(lane: &mut [f64], element: ElementType) {
    let mut exponentials = lane.to_vec();
    let total = element.round(libm::log(staged_exponentials(&mut exponentials, element)));
    subtract_max(lane);
    for value in &mut *lane {
        *value = element.round(element.round(*value) - total);
    }
}

/// Replaces a lane with its exponentials, each step rounded to the type, and returns their rounded sum.
fn staged_exponentials(lane: &mut [f64], element: ElementType) -> f64 {
    subtract_max(lane);
    for value in &mut *lane {
        *value = element.round(libm::exp(element.round(*value)));
    }
    element.round(sum(lane.iter().copied()))
}

/// Replaces a lane with the logarithms of its softmax.
pub(crate) fn log_softmax(lane: &mut [f64]) {
    subtract_max(lane);
    let total = libm::log(sum(lane.iter().map(|&value| libm::exp(value))));
    for value in &mut *lane {
        *value -= total;
    }
}

fn hardmax(lane: &mut [f64], _: ElementType) {
    let first = extreme(lane.iter().copied(), true, false);
    for (index, value) in lane.iter_mut().enumerate() {
        *value = if Some(index) == first { 1.0 } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, node, typed};

    #[test]
    fn a_vector_has_no_axis_1_below_13_but_a_last_one_after() {
        let vector = floats(&[2], &[3.0, 3.0]);
        assert!(node("Softmax", 11).input(vector.clone()).error().contains("axis 1"));
        assert_eq!(node("Softmax", 13).input(vector).tensor().floats(), [0.5, 0.5]);
    }

    #[test]
    fn empty_tensors_stay_empty_and_types_stay() {
        for op in ["Softmax", "LogSoftmax", "Hardmax"] {
            assert_eq!(node(op, 13).input(floats(&[2, 0], &[])).tensor().shape(), [2, 0]);
            let narrow = node(op, 13).input(typed(ElementType::Bfloat16, &[1], &[2.0])).tensor();
            assert_eq!(narrow.floats(), [if op == "LogSoftmax" { 0.0 } else { 1.0 }]);
        }
    }
}
