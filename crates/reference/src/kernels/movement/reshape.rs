//! Reshaping operators: Identity, Reshape, Flatten, Squeeze, Unsqueeze.

#![expect(clippy::indexing_slicing, reason = "the axis is the position at which -1 was found")]

use crate::infer::elements;
use crate::infer::{List, MAX_RANK, NodeView, Shape, Size, axis_of, rules};
use crate::kernels::framework::arguments::{axes, non_negative, one_dimensional};
use crate::kernels::framework::call::{Call, Result};
use crate::kernels::framework::error::{Ruled, broken, invalid};
use crate::kernels::framework::registry::Kernel;
use crate::model::graph::Dim;
use crate::tensor::shape::{around_axis, element_count, normalize_axis};

pub(super) const KERNELS: &[Kernel] = &[
    Kernel::new("Identity", 1, identity).shape(rules::same).with_elements(elements::same),
    Kernel::new("Reshape", 1, |call| reshape(call, call.ints("shape")?, Zero::Copies))
        .shape(reshaped)
        .with_elements(|view| elements::same_if_vector(view, reshaped)),
    Kernel::new("Reshape", 5, |call| reshape(call, &call.budget.read_indices(call.tensor(1)?)?, Zero::Copies))
        .shape(reshaped)
        .with_elements(|view| elements::same_if_vector(view, reshaped)),
    Kernel::new("Reshape", 14, |call| {
        let zero = if call.flag("allowzero")? { Zero::Stays } else { Zero::Copies };
        reshape(call, &call.budget.read_indices(call.tensor(1)?)?, zero)
    })
    .shape(reshaped)
    .with_elements(|view| elements::same_if_vector(view, reshaped)),
    Kernel::new("Flatten", 1, |call| flatten(call, 0)).shape(flattened),
    Kernel::new("Flatten", 11, |call| flatten(call, -1)).shape(flattened),
    Kernel::new("Squeeze", 1, |call| {
        from_the_front(call.optional_ints("axes").unwrap_or(&[]), call.tensor(0)?.rank(), ["C3", "C4"])?;
        squeeze(call, call.optional_ints("axes"))
    })
    .shape(squeezed)
    .with_elements(|view| elements::same_if_vector(view, squeezed)),
    Kernel::new("Squeeze", 11, |call| squeeze(call, call.optional_ints("axes")))
        .shape(squeezed)
        .with_elements(|view| elements::same_if_vector(view, squeezed)),
    Kernel::new("Squeeze", 13, |call| {
        check_axes(call)?;
        squeeze(call, call.optional_tensor(1)?.map(|tensor| call.budget.read_indices(tensor)).transpose()?.as_deref())
    })
    .shape(squeezed)
    .with_elements(|view| elements::same_if_vector(view, squeezed)),
    Kernel::new("Unsqueeze", 1, |call| {
        let axes = call.ints("axes")?;
        from_the_front(axes, call.tensor(0)?.rank() + axes.len(), ["C2", "C4"])?;
        unsqueeze(call, axes)
    })
    .shape(unsqueezed)
    .with_elements(|view| elements::same_if_vector(view, unsqueezed)),
    Kernel::new("Unsqueeze", 11, |call| unsqueeze(call, call.ints("axes")?))
        .shape(unsqueezed)
        .with_elements(|view| elements::same_if_vector(view, unsqueezed)),
    Kernel::new("Unsqueeze", 13, |call| {
        check_axes(call)?;
        unsqueeze(call, &call.budget.read_indices(call.tensor(1)?)?)
    })
    .shape(unsqueezed)
    .with_elements(|view| elements::same_if_vector(view, unsqueezed)),
];

/// Identity: the input, of any type.
fn identity(call: &Call<'_>) -> Result {
    Ok(call.value(0)?.clone().into())
}

/// Meaning of a 0 in the new shape of a Reshape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zero {
    /// The size of the same axis of the input.
    Copies,
    /// An empty axis.
    Stays,
}

/// Reshapes the input. One dimension may be -1, and is inferred.
fn reshape(call: &Call<'_>, shape: &[i64], zero: Zero) -> Result {
    let data = call.tensor(0)?;
    let refuse = |why: &str| {
        let (from, elements) = (data.shape(), data.len());
        invalid(format!("shape {from:?} of {elements} elements cannot be reshaped to {shape:?}: {why}"))
    };
    let mut inferred = None;
    let mut dims = Vec::new();
    for (axis, &size) in shape.iter().enumerate() {
        dims.push(match size {
            -1 if inferred.replace(axis).is_some() => {
                return Err(refuse("only one dimension may be -1").rule("C5").for_all_sizes());
            }
            -1 => 1,
            0 if zero == Zero::Copies => *data
                .shape()
                .get(axis)
                .ok_or_else(|| refuse("a 0 copies an axis that the input does not have").rule("C2"))?,
            size => usize::try_from(size).map_err(|_| refuse("only -1 may be negative").for_all_sizes())?,
        });
    }
    if let Some(axis) = inferred {
        let (before, after) = around_axis(&dims, axis);
        let left = data.len().checked_div(before.saturating_mul(after));
        dims[axis] = left.ok_or_else(|| refuse("a -1 next to a 0 is ambiguous").rule("C6"))?;
    }
    Ok(data.with_shape(dims).map_err(|_| refuse("the numbers of elements differ").rule("C4"))?.into())
}

/// Flatten: a matrix with the axes before `axis` as rows. From version 11 on (negative `min`), the axis may count from
/// the back.
fn flatten(call: &Call<'_>, min: i64) -> Result {
    let data = call.tensor(0)?;
    let axis = call.int("axis")?;
    let rank = i64::try_from(data.rank()).unwrap_or(i64::MAX);
    let lowest = if min < 0 { -rank } else { 0 };
    if !(lowest..=rank).contains(&axis) {
        return Err(broken("C3", format!("axis {axis} is outside [{lowest}, {rank}] for shape {:?}", data.shape())));
    }
    let index = usize::try_from(if axis < 0 { axis + rank } else { axis }).unwrap_or(data.rank());
    let (rows, columns) = data.shape().split_at(index);
    Ok(data.with_shape(vec![element_count(rows)?, element_count(columns)?])?.into())
}

/// Refuses axes out of range by the second rule, and negative axes, for versions that do not allow them, by the first.
fn from_the_front(axes: &[i64], rank: usize, [negative, outside]: [&str; 2]) -> Result<()> {
    axes.iter().try_for_each(|&axis| normalize_axis(axis, rank).map(drop)).rule(outside)?;
    non_negative(axes, "axes").rule(negative)
}

/// Refuses axes that are not 1-D. The texts before version 23 do not say so.
fn check_axes(call: &Call<'_>) -> Result<()> {
    let axes = call.optional_tensor(1)?.filter(|_| call.spec.version.since >= 23);
    axes.map_or(Ok(()), |axes| one_dimensional(axes, "axes")).rule("C5")
}

/// Squeeze: removes the named axes, which must have size 1, or all axes of size 1.
fn squeeze(call: &Call<'_>, list: Option<&[i64]>) -> Result {
    let data = call.tensor(0)?;
    let from_zero = |list: &[i64]| list.iter().map(|&axis| normalize_axis(axis, data.rank()).rule("C4")).collect();
    let named: Option<Vec<usize>> = list.map(from_zero).transpose()?;
    let mut dims = Vec::new();
    for (axis, &size) in data.shape().iter().enumerate() {
        let is_removed = named.as_ref().map_or(size == 1, |named| named.contains(&axis));
        if is_removed && size != 1 {
            return Err(broken(
                "C2",
                format!("axis {axis} of shape {:?} is squeezed, but its size is not 1", data.shape()),
            ));
        }
        if !is_removed {
            dims.push(size);
        }
    }
    Ok(data.with_shape(dims)?.into())
}

/// Unsqueeze: inserts axes of size 1 at the given positions of the output.
fn unsqueeze(call: &Call<'_>, list: &[i64]) -> Result {
    let data = call.tensor(0)?;
    let rank = data.rank() + list.len();
    list.iter().try_for_each(|&axis| normalize_axis(axis, rank).map(drop)).rule("C4")?;
    let new = axes(list, rank).rule("C3")?;
    let mut old = data.shape().iter();
    let size = |axis| if new.contains(&axis) { Some(1) } else { old.next().copied() };
    Ok(data.with_shape((0..rank).filter_map(size).collect())?.into())
}

/// Entry of a new shape: a size, the -1 whose size follows from the others, or the size of the same axis of the input.
enum Entry {
    Size(Dim),
    Rest,
    Copy,
}

/// Reads an entry. A symbol that may be 0 or -1 is unknown, unless a 0 copies the same size.
fn entry(size: Option<&Size>, own: Option<&Dim>, copies_zeros: bool) -> Entry {
    let Some(size) = size else { return Entry::Size(Dim::Unknown) };
    match size.value() {
        Some(-1) => Entry::Rest,
        Some(0) if copies_zeros => Entry::Copy,
        Some(value) => Entry::Size(Dim::from_int(value)),
        None => {
            let dim = size.clone().dim();
            let is_certain =
                if copies_zeros { own == Some(&dim) || size.is_positive() } else { size.is_never_negative() };
            Entry::Size(if is_certain { dim } else { Dim::Unknown })
        }
    }
}

/// The sizes of the new shape. The size of a -1 is the number of elements divided by the product of the other sizes.
fn reshaped(view: &NodeView<'_, '_>) -> Option<Shape> {
    let target = match view.ints("shape") {
        List::Given(list) if view.since() < 5 => list.into_iter().map(|size| Some(Size::constant(size))).collect(),
        List::Absent if view.since() >= 5 => view.elements(1)?,
        _ => return None,
    };
    if target.len() > MAX_RANK {
        return None;
    }
    let has_choice = view.spec.attributes.contains_key("allowzero");
    let allows_zeros = if has_choice { view.flag("allowzero") } else { Some(false) };
    let Some(allows_zeros) = allows_zeros else { return rules::unknown(target.len()) };
    let input = view.shape(0);
    let at = |axis: usize| input.as_ref().and_then(|shape| shape.get(axis));
    let entries = target.iter().enumerate().map(|(axis, size)| entry(size.as_ref(), at(axis), !allows_zeros));
    let entries: Vec<Entry> = entries.collect();
    let rest = input.as_ref().map_or(Dim::Unknown, |input| rest(input, &entries));
    let dim = |(axis, entry)| match entry {
        Entry::Size(dim) => dim,
        Entry::Rest => rest.clone(),
        Entry::Copy => at(axis).cloned().unwrap_or(Dim::Unknown),
    };
    Some(entries.into_iter().enumerate().map(dim).collect())
}

/// The size of a -1. Copied axes, which cannot be 0 next to it, cancel out.
fn rest(input: &[Dim], entries: &[Entry]) -> Dim {
    let is_copied = |axis: usize| matches!(entries.get(axis), Some(Entry::Copy));
    let own = input.iter().enumerate().filter(|(axis, _)| !is_copied(*axis)).map(|(_, dim)| dim);
    let given = entries.iter().filter_map(|entry| match entry {
        Entry::Size(dim) => Some(dim),
        Entry::Rest | Entry::Copy => None,
    });
    Dim::product(own).over(&Dim::product(given))
}

/// A matrix of the products of the sizes before and from the axis.
fn flattened(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (Some(shape), Some(axis)) = (view.shape(0), view.int("axis")) else { return rules::unknown(2) };
    let rank = i64::try_from(shape.len()).ok()?;
    let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
    let (rows, columns) = shape.split_at_checked(usize::try_from(axis).ok()?)?;
    Some(vec![Dim::product(rows), Dim::product(columns)])
}

/// The shape without the named axes, or without all of size 1.
fn squeezed(view: &NodeView<'_, '_>) -> Option<Shape> {
    let shape = view.shape(0)?;
    let rank = shape.len();
    let removed: Vec<usize> = match view.list("axes", 1) {
        List::Given(axes) => rules::front_axes(&axes, rank)?,
        List::Unknown => {
            // One axis is one dimension less; several may repeat one.
            let is_single = view.elements(1).is_some_and(|axes| axes.len() == 1);
            return is_single.then(|| rules::unknown(rank.checked_sub(1)?)).flatten();
        }
        List::Absent => {
            let sizes: Vec<usize> = shape.iter().map(Dim::size).collect::<Option<_>>()?;
            sizes.iter().enumerate().filter(|(_, size)| **size == 1).map(|(axis, _)| axis).collect()
        }
    };
    Some(rules::without(shape, &removed, false))
}

/// The shape with a new axis of size 1 at each named place of the output.
fn unsqueezed(view: &NodeView<'_, '_>) -> Option<Shape> {
    let shape = view.shape(0)?;
    let axes = match view.list("axes", 1) {
        List::Given(axes) => axes,
        List::Unknown => return rules::unknown(shape.len().checked_add(view.elements(1)?.len())?),
        List::Absent => return None,
    };
    let rank = shape.len().checked_add(axes.len()).filter(|rank| *rank <= MAX_RANK)?;
    let added: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, Some(rank))).collect::<Option<_>>()?;
    let mut dims = shape.into_iter();
    (0..rank).map(|axis| if added.contains(&axis) { Some(Dim::Size(1)) } else { dims.next() }).collect()
}

#[cfg(test)]
mod tests {
    use crate::dtype::ElementType;
    use crate::testing::{floats, ints, node, typed};

    #[test]
    fn minus_one_next_to_a_copied_zero_is_ambiguous() {
        let copies = node("Reshape", 14).input(floats(&[0, 3], &[])).input(ints(&[2], &[0, -1]));
        assert!(copies.error().contains("-1 next to a 0"));
    }

    #[test]
    fn invalid_shapes_are_refused() {
        for to in [[-2, 3], [i64::MAX, i64::MAX]] {
            let refused = node("Reshape", 13).input(floats(&[2, 3], &[0.0; 6])).input(ints(&[2], &to)).error();
            assert!(refused.contains("cannot be reshaped"), "{to:?}: {refused}");
        }
    }

    #[test]
    fn axes_that_flatten_does_not_have_are_named() {
        let flat = node("Flatten", 9).input(floats(&[2, 3, 4], &[0.0; 24])).set("axis", -1);
        assert!(flat.error().contains("outside [0, 3]"));
        assert!(node("Flatten", 13).input(floats(&[], &[1.0])).error().contains("axis 1"));
    }

    #[test]
    fn an_empty_list_of_axes_removes_nothing() {
        let data = typed(ElementType::Int4, &[1, 2, 1], &[-8.0, 7.0]);
        assert_eq!(node("Squeeze", 21).input(data).input(ints(&[0], &[])).tensor().shape(), [1, 2, 1]);
    }
}
