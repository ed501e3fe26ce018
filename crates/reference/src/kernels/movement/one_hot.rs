//! `OneHot`.

use crate::infer::{NodeView, Shape, axis_of, rules};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::Tensor;
use crate::tensor::shape::{around_axis, normalize_axis};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("OneHot", 9, |call| one_hot(call, Negative::Outside)).shape(with_classes),
    Kernel::new("OneHot", 11, |call| one_hot(call, Negative::FromTheBack)).shape(with_classes),
];

/// Meaning of a negative index of `OneHot`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Negative {
    /// No class, like any index outside the depth.
    Outside,
    /// A class counted from the back.
    FromTheBack,
}

/// One-hot encoding along a new axis of `depth` classes: `out[i][c] = values[1]` if `c == indices[i]`, else
/// `values[0]`.
fn one_hot(call: &Call<'_>, negative: Negative) -> Result {
    let (indices, depth, values) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    if values.shape() != [2] {
        return Err(broken(
            "C5",
            format!("values has shape {:?}, but must be the off value and the on value", values.shape()),
        ));
    }
    let axis = normalize_axis(call.int("axis")?, indices.rank() + 1).rule("C6")?;
    let classes = Some(depth)
        .filter(|depth| depth.rank() <= 1)
        .and_then(Tensor::single_integer)
        .and_then(|depth| usize::try_from(depth).ok())
        .ok_or_else(|| broken("C5", format!("depth {depth:?} must be one number that is not negative")))?;
    let mut shape = indices.shape().to_vec();
    shape.insert(axis, classes);
    let buffer = call.allocate(values.element_type(), &shape)?;
    let (outer, inner) = if buffer.is_empty() { (0, 0) } else { around_axis(&shape, axis) };
    let class = |index: i128| match negative {
        Negative::FromTheBack if index < 0 => index + classes as i128,
        _ => index,
    };
    let chosen = call.budget.collect(indices.stream(Tensor::integers).map(class))?;
    let chosen = &chosen;
    let positions = (0..outer).flat_map(|row| {
        (0..classes).flat_map(move |class| {
            let classes = chosen.get(row * inner..(row + 1) * inner).unwrap_or(&[]);
            classes.iter().map(move |&chosen| usize::from(chosen == class as i128))
        })
    });
    Ok(buffer.gather(values, positions)?.into())
}

/// The shape of the indices with a new axis of `depth` classes.
fn with_classes(view: &NodeView<'_, '_>) -> Option<Shape> {
    let mut shape = view.shape(0)?;
    let rank = shape.len().checked_add(1)?;
    let Some(axis) = view.int("axis").and_then(|axis| axis_of(axis, Some(rank))) else { return rules::unknown(rank) };
    let constant = view.input(1).and_then(|depth| depth.constant.as_ref()?.as_tensor()?.single_integer());
    let classes = match constant {
        Some(depth) => usize::try_from(depth).map_or(Dim::Unknown, Dim::Size),
        None => view.shape_from_elements(1)?.into_iter().next().unwrap_or(Dim::Unknown),
    };
    shape.insert(axis, classes);
    Some(shape)
}

#[cfg(test)]
mod tests {
    use crate::testing::{ints, node};

    #[test]
    fn a_depth_is_not_below_0() {
        let hot = node("OneHot", 11).input(ints(&[1], &[0])).input(ints(&[], &[-1])).input(ints(&[2], &[2, 5]));
        assert!(hot.error().contains("not negative"));
    }
}
