//! `TopK`: the largest or smallest elements along an axis.

#![expect(clippy::indexing_slicing, reason = "the axis comes from normalize_axis, and k is at most its length")]

use std::cmp::Ordering;

use crate::dtype::{ElementType, Kind};
use crate::infer::{NodeView, Shape, rules};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::lanes::Lanes;
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::normalize_axis;

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("TopK", 1, |call| top_k(call, i128::from(call.int("k")?), true)).shapes_of_all(best),
    Kernel::new("TopK", 10, |call| top_k(call, k_input(call)?, true)).shapes_of_all(best),
    Kernel::new("TopK", 11, |call| top_k(call, k_input(call)?, call.flag("largest")?)).shapes_of_all(best),
];

fn k_input(call: &Call<'_>) -> Result<i128> {
    let k = call.tensor(1)?;
    let single = Some(k).filter(|k| k.rank() == 1).and_then(Tensor::single_integer);
    single.ok_or_else(|| broken("C4", format!("K has shape {:?}; it must be a vector of one element", k.shape())))
}

/// Returns the `k` largest or smallest elements along the axis and their indices, best first. Ties are in index order.
///
/// A NaN is larger than every number, as in `numpy.sort`. `sorted` 0 leaves the order open; this is one valid order.
fn top_k(call: &Call<'_>, k: i128, largest: bool) -> Result {
    let data = call.tensor(0)?;
    let axis = normalize_axis(call.int("axis")?, data.rank()).rule("C3")?;
    let available = data.shape()[axis];
    let k = usize::try_from(k).ok().filter(|k| (1..=available).contains(k)).ok_or_else(|| {
        broken("C4", format!("k is {k}; it must be positive and at most {available}, the size of axis {axis}"))
    })?;
    let mut shape = data.shape().to_vec();
    shape[axis] = k;
    let lanes = Lanes::along(call, data.shape(), axis)?;
    let selection = Selection { k, largest };
    let places = match data.element_type().kind() {
        Kind::Float => selection.places(call, &lanes, &call.budget.read_floats(data)?, |a, b| order(*a, *b))?,
        _ => selection.places(call, &lanes, &call.budget.read_integers(data)?, Ord::cmp)?,
    };

    // The chosen places are ordered by lane. The outputs need the order of their own shape.
    let output_lanes = Lanes::along(call, &shape, axis)?;
    let mut from: Vec<usize> = call.budget.scratch(places.len())?;
    let mut index: Vec<i128> = call.budget.scratch(places.len())?;
    for (lane, chosen) in places.chunks_exact(k).enumerate() {
        for (to, &(place, position)) in output_lanes.positions(lane).zip(chosen) {
            from[to] = position;
            index[to] = place as i128;
        }
    }
    let values = call.gather(data, &shape, from)?;
    Ok(vec![values, call.integers(ElementType::Int64, &shape, index)?].into())
}

/// Selection of elements from each lane.
struct Selection {
    k: usize,
    largest: bool,
}

impl Selection {
    /// Returns the places of the `k` best elements of each lane, as positions in the lane and in the tensor.
    fn places<T: Copy + Sync>(
        &self,
        call: &Call<'_>,
        lanes: &Lanes,
        values: &[T],
        compare: impl Fn(&T, &T) -> Ordering,
    ) -> Result<Vec<(usize, usize)>> {
        let Selection { k, largest } = *self;
        let count = values.len() / lanes.len().max(1);
        let mut chosen: Vec<(usize, usize)> = call.budget.scratch(count.saturating_mul(k))?;
        let mut lane_places: Vec<(usize, usize)> = call.budget.scratch(lanes.len())?;
        for (lane, chosen) in chosen.chunks_exact_mut(k).enumerate() {
            call.budget.count_work(lanes.len())?;
            lane_places.iter_mut().zip(lanes.positions(lane).enumerate()).for_each(|(slot, place)| *slot = place);
            lane_places.sort_by(|&(_, a), &(_, b)| {
                let order = compare(&values[a], &values[b]);
                if largest { order.reverse() } else { order }
            });
            chosen.copy_from_slice(&lane_places[..k]);
        }
        Ok(chosen)
    }
}

/// Orders numbers by size, with both zeros equal, then NaN.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Both outputs have the input's shape with `k` along the axis.
fn best(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    let shape = || {
        let mut shape = view.shape(0)?;
        let Some(axis) = view.axis("axis", shape.len()) else { return rules::unknown(shape.len()) };
        let k = match view.int("k") {
            Some(k) => Dim::from_int(k),
            None => view.shape_from_elements(1).and_then(|k| k.into_iter().next()).unwrap_or(Dim::Unknown),
        };
        *shape.get_mut(axis)? = k;
        Some(shape)
    };
    rules::repeat(shape(), view.output_count())
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node};

    fn both(node: OneNode) -> (Vec<f64>, Vec<f64>) {
        let outputs = node.outputs(2).run().unwrap();
        let part = |index: usize| outputs[index].as_tensor().unwrap().floats();
        (part(0), part(1))
    }

    #[test]
    fn the_smallest_come_in_rising_order_and_nan_is_largest() {
        let data = || floats(&[5], &[2.0, f64::NAN, 0.0, 2.0, -1.0]);
        let smallest = node("TopK", 11).input(data()).input(ints(&[1], &[4])).set("largest", 0);
        assert_eq!(both(smallest), (vec![-1.0, 0.0, 2.0, 2.0], vec![4.0, 2.0, 0.0, 3.0]));
        let largest = node("TopK", 11).input(data()).input(ints(&[1], &[3]));
        assert_eq!(both(largest).1, [1.0, 0.0, 3.0]);
    }

    #[test]
    fn a_k_beyond_all_sizes_is_refused() {
        let top = node("TopK", 11).input(floats(&[3], &[0.0; 3])).input(ints(&[1], &[i64::MAX])).outputs(2);
        let message = top.error();
        assert!(message.contains(&format!("k is {}", i64::MAX)), "{message}");
    }
}
