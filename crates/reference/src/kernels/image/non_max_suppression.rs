//! `NonMaxSuppression`: selects the box with the best score among overlapping ones.

#![expect(
    clippy::indexing_slicing,
    reason = "boxes and scores have been checked to have as many entries as their shapes say"
)]

use crate::dtype::ElementType;
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::kernels::image::shapes;
use crate::tensor::Tensor;

pub(super) const KERNELS: &[Kernel] =
    &[Kernel::new("NonMaxSuppression", 10, non_max_suppression).shape(shapes::selected_boxes)];

/// Returns the selected boxes by batch and class, and within each class by descending score. Ties go to the first box.
fn non_max_suppression(call: &Call<'_>) -> Result {
    let (boxes, scores) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batches, count, 4], &[score_batches, classes, scored_boxes]) = (boxes.shape(), scores.shape()) else {
        let (boxes, scores) = (boxes.shape(), scores.shape());
        return Err(broken(
            "C7",
            format!("boxes {boxes:?} and scores {scores:?} are not [batches, boxes, 4] and [batches, classes, boxes]"),
        ));
    };
    if score_batches != batches || scored_boxes != count {
        return Err(broken(
            "C5",
            format!(
                "shapes {:?} of boxes and {:?} of scores must agree in batches and boxes",
                boxes.shape(),
                scores.shape()
            ),
        ));
    }
    let limits = Thresholds {
        max_selected: single(call, 2)
            .rule("C3")?
            .and_then(Tensor::single_integer)
            .map_or(0, |most| usize::try_from(most.max(0)).unwrap_or(usize::MAX)),
        overlap: overlap(call)?,
        score: single(call, 4).rule("C1")?.and_then(Tensor::single_float),
    };
    let corners = corners(call, &call.budget.read_floats(boxes)?)?;
    let scores = call.budget.read_floats(scores)?;
    let mut selected: Vec<i128> = Vec::new();
    for batch in 0..batches {
        let corners = &corners[batch * count..(batch + 1) * count];
        for class in 0..classes {
            let from = (batch * classes + class) * count;
            for index in limits.select(call, corners, &scores[from..from + count])? {
                selected.extend([batch as i128, class as i128, index as i128]);
            }
        }
    }
    Ok(call.integers(ElementType::Int64, &[selected.len() / 3, 3], selected)?.into())
}

fn single<'a>(call: &Call<'a>, index: usize) -> Result<Option<&'a Tensor>> {
    match call.optional_tensor(index)? {
        Some(tensor) if tensor.len() != 1 => {
            Err(invalid(format!("input {index} has shape {:?}; it must be one number", tensor.shape())))
        }
        tensor => Ok(tensor),
    }
}

/// Returns the overlap threshold, from 0 to 1.
fn overlap(call: &Call<'_>) -> Result<f64> {
    let threshold = single(call, 3).rule("C1")?.and_then(Tensor::single_float).unwrap_or(0.0);
    if (0.0..=1.0).contains(&threshold) {
        return Ok(threshold);
    }
    Err(broken("C6", format!("iou_threshold is {threshold}; it must be from 0 to 1")))
}

/// Limits of the selection within a class.
struct Thresholds {
    max_selected: usize,
    overlap: f64,
    score: Option<f64>,
}

impl Thresholds {
    /// Returns the selected boxes of one class, best first.
    fn select(&self, call: &Call<'_>, corners: &[Corners], scores: &[f64]) -> Result<Vec<usize>> {
        let budget = call.budget.nested();
        let mut candidates: Vec<usize> = budget.scratch(corners.len())?;
        candidates.iter_mut().enumerate().for_each(|(index, candidate)| *candidate = index);
        if let Some(min) = self.score {
            candidates.retain(|&index| scores[index] >= min);
        }
        // A NaN score sorts last.
        let order = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(a.is_nan().cmp(&b.is_nan()));
        candidates.sort_by(|&a, &b| order(scores[a], scores[b]));
        let mut selected: Vec<usize> = Vec::new();
        for index in candidates {
            if selected.len() >= self.max_selected {
                break;
            }
            call.budget.count_work(selected.len())?;
            if selected.iter().all(|&other| !corners[index].overlap(&corners[other]).is_some_and(|o| o > self.overlap))
            {
                selected.push(index);
            }
        }
        Ok(selected)
    }
}

/// Corners of a box, `float` numbers: low and high along each axis.
#[derive(Clone, Copy, Debug)]
struct Corners {
    low: [f64; 2],
    high: [f64; 2],
}

/// Rounds to `float`, the type of the boxes. Every step is rounded.
fn float(value: f64) -> f64 {
    ElementType::Float.round(value)
}

fn corners(call: &Call<'_>, boxes: &[f64]) -> Result<Vec<Corners>> {
    let (quadruples, _) = boxes.as_chunks::<4>();
    let centered = match call.int("center_point_box")? {
        0 => false,
        1 => true,
        other => return Err(broken("C4", format!("center_point_box is {other}; it must be 0 or 1"))),
    };
    let corners = |&[a, b, c, d]: &[f64; 4]| {
        if centered {
            let (half_width, half_height) = (float(c / 2.0), float(d / 2.0));
            let low = [float(a - half_width), float(b - half_height)];
            Corners { low, high: [float(a + half_width), float(b + half_height)] }
        } else {
            Corners { low: [a.min(c), b.min(d)], high: [a.max(c), b.max(d)] }
        }
    };
    call.budget.collect(quadruples.iter().map(corners))
}

impl Corners {
    fn area(&self) -> f64 {
        float(float(self.high[0] - self.low[0]) * float(self.high[1] - self.low[1]))
    }

    /// Returns the intersection over union, if both boxes and the intersection have an area.
    fn overlap(&self, other: &Corners) -> Option<f64> {
        let both = Corners {
            low: [0, 1].map(|axis| self.low[axis].max(other.low[axis])),
            high: [0, 1].map(|axis| self.high[axis].min(other.high[axis])),
        };
        if both.high[0] <= both.low[0] || both.high[1] <= both.low[1] {
            return None;
        }
        let (intersection, areas) = (both.area(), [self.area(), other.area()]);
        let union = float(float(areas[0] + areas[1]) - intersection);
        let positive = intersection > 0.0 && areas[0] > 0.0 && areas[1] > 0.0 && union > 0.0;
        positive.then(|| float(intersection / union))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{OneNode, floats, ints, node};

    /// Two boxes whose intersection is a third of their union, and a separate one.
    fn three(scores: [f64; 3]) -> OneNode {
        let boxes = [0.0, 0.0, 1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 5.0, 5.0, 4.0, 4.0];
        node("NonMaxSuppression", 10).input(floats(&[1, 3, 4], &boxes)).input(floats(&[1, 1, 3], &scores))
    }

    fn selected(node: OneNode) -> Vec<f64> {
        node.tensor().floats().chunks(3).map(|row| row[2]).collect()
    }

    #[test]
    fn a_negative_number_of_boxes_selects_none() {
        assert_eq!(three([0.1, 0.2, 0.3]).input(ints(&[], &[-1])).tensor().shape(), [0, 3]);
    }

    #[test]
    fn the_first_of_equal_scores_comes_first_and_nan_last() {
        let all = |node: OneNode| selected(node.input(ints(&[1], &[9])));
        assert_eq!(all(three([0.5, 0.5, 0.5])), [0.0, 2.0]);
        assert_eq!(all(three([0.1, f64::NAN, 0.3])), [2.0, 0.0]);
    }
}
