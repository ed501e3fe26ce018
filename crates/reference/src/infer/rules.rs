//! Shapes of outputs that many operators share; the rules of a single operator are beside its kernel.

use crate::dtype::ElementType;
use crate::infer::view::{List, NodeView, Shape, axis_of};
use crate::infer::{MAX_RANK, Size};
use crate::model::graph::Dim;
use crate::types::ValueType;

/// A shape with only its rank known; `None` if the rank exceeds the limit.
pub fn unknown(rank: usize) -> Option<Shape> {
    // bounded: by the highest rank.
    (rank <= MAX_RANK).then(|| std::iter::repeat_n(Dim::Unknown, rank).collect())
}

/// A shape for each of several outputs; `None` if the copies would be much larger than the model.
pub fn repeat(shape: Option<Shape>, outputs: usize) -> Vec<Option<Shape>> {
    const MAX_DIMS: usize = 1 << 16;
    let dims = shape.as_ref().map_or(0, Vec::len).saturating_mul(outputs);
    let shape = shape.filter(|_| dims <= MAX_DIMS);
    // bounded: by the dimensions of all copies, and by the outputs of the node.
    std::iter::repeat_n(shape, outputs).collect()
}

/// The shape of the first input.
pub fn same(view: &NodeView<'_, '_>) -> Option<Shape> {
    view.shape(0)
}

/// A scalar.
pub fn scalar(_: &NodeView<'_, '_>) -> Option<Shape> {
    Some(Vec::new())
}

/// Not a tensor, or a shape that depends on the values of the inputs.
pub fn not_inferred(_: &NodeView<'_, '_>) -> Option<Shape> {
    None
}

/// All outputs have the shape of the first input.
pub fn all_same(view: &NodeView<'_, '_>) -> Vec<Option<Shape>> {
    repeat(view.shape(0), view.output_count())
}

/// The broadcast shape of all inputs.
pub fn broadcast_all(view: &NodeView<'_, '_>) -> Option<Shape> {
    broadcast_inputs(view, 0..view.inputs.len())
}

/// The broadcast shape of two inputs. Before version 7 the second broadcasts to the first.
pub fn elementwise(view: &NodeView<'_, '_>) -> Option<Shape> {
    if view.since() < 7 { view.shape(0) } else { broadcast_all(view) }
}

/// The broadcast shape of a list of inputs. Before version 8 all have the same shape.
pub fn elementwise_list(view: &NodeView<'_, '_>) -> Option<Shape> {
    if view.since() < 8 { view.shape(0) } else { broadcast_all(view) }
}

/// The broadcast shape of some inputs; omitted ones are skipped.
pub fn broadcast_inputs(view: &NodeView<'_, '_>, positions: impl IntoIterator<Item = usize>) -> Option<Shape> {
    let mut result: Option<Shape> = None;
    for position in positions.into_iter().filter(|position| view.is_given(*position)) {
        let next = view.shape(position)?;
        result = Some(match result {
            Some(result) => broadcast(&result, &next)?,
            None => next,
        });
    }
    result
}

/// The broadcast shape of two tensors; `None` if none exists.
pub fn broadcast(one: &[Dim], two: &[Dim]) -> Option<Shape> {
    let rank = one.len().max(two.len());
    let at = |shape: &[Dim], index: usize| match (index + shape.len()).checked_sub(rank) {
        Some(index) => shape.get(index).cloned().unwrap_or(Dim::Size(1)),
        None => Dim::Size(1),
    };
    (0..rank).map(|index| broadcast_dim(at(one, index), at(two, index))).collect()
}

/// The broadcast size of two dimensions; `None` if none exists.
pub fn broadcast_dim(one: Dim, two: Dim) -> Option<Dim> {
    match (one, two) {
        (Dim::Size(1), other) | (other, Dim::Size(1)) => Some(other),
        (Dim::Size(one), Dim::Size(two)) => (one == two).then_some(Dim::Size(one)),
        // A size other than 1 is the result, because only 1 or the same size matches it.
        (Dim::Size(size), _) | (_, Dim::Size(size)) => Some(Dim::Size(size)),
        (one, two) => Some(if one == two { one } else { Dim::Unknown }),
    }
}

/// One dimension that two tensors share without broadcasting; `None` if the sizes differ.
pub fn equal_dim(one: &Dim, two: &Dim) -> Option<Dim> {
    match (one, two) {
        (Dim::Size(first), Dim::Size(second)) => (first == second).then(|| one.clone()),
        _ => Some(one.clone().or(two)),
    }
}

/// The shape of the matrix product of two tensors, as in `numpy.matmul`.
pub fn matrix_product(one: &[Dim], two: &[Dim]) -> Option<Shape> {
    match (one, two) {
        ([_], [_]) => Some(Vec::new()),
        ([_], [batch @ .., _, n]) => Some([batch, std::slice::from_ref(n)].concat()),
        ([batch @ .., m, _], [_]) => Some([batch, std::slice::from_ref(m)].concat()),
        ([batch @ .., m, _], [other @ .., _, n]) => {
            let mut result = broadcast(batch, other)?;
            result.extend([m.clone(), n.clone()]);
            Some(result)
        }
        _ => None,
    }
}

/// The shape of a tensor with the axes of a list removed, or reduced to 1.
pub fn without(shape: Shape, axes: &[usize], keeps_dims: bool) -> Shape {
    let dim = |(axis, dim): (usize, Dim)| match (axes.contains(&axis), keeps_dims) {
        (true, true) => Some(Dim::Size(1)),
        (true, false) => None,
        (false, _) => Some(dim),
    };
    shape.into_iter().enumerate().filter_map(dim).collect()
}

/// Counts axes from the front; `None` if one does not exist, or if there are more than a tensor can have.
pub fn front_axes(axes: &[i64], rank: usize) -> Option<Vec<usize>> {
    if axes.len() > MAX_RANK {
        return None;
    }
    axes.iter().map(|&axis| axis_of(axis, Some(rank))).collect()
}

/// The shape of a reduction along the axes of `axes`, an attribute or the second input.
pub fn reduced(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (shape, keeps_dims) = (view.shape(0)?, view.flag("keepdims")?);
    let rank = shape.len();
    let axes = match view.list("axes", 1) {
        List::Given(mut axes) if !axes.is_empty() => {
            // An axis may be repeated more often than a tensor has axes.
            axes.sort_unstable();
            axes.dedup();
            front_axes(&axes, rank)?
        }
        List::Unknown if keeps_dims => return unknown(rank),
        // One axis is one dimension less; several may repeat one.
        List::Unknown if view.elements(1).is_some_and(|axes| axes.len() == 1) => return unknown(rank.checked_sub(1)?),
        List::Unknown => return None,
        List::Given(_) | List::Absent => {
            let is_noop = view.spec.attributes.contains_key("noop_with_empty_axes");
            if is_noop && view.flag("noop_with_empty_axes")? {
                return Some(shape);
            }
            (0..rank).collect()
        }
    };
    Some(without(shape, &axes, keeps_dims))
}

/// The shape of a reduction along the attribute `axis`.
pub fn reduced_axis(view: &NodeView<'_, '_>) -> Option<Shape> {
    let (shape, keeps_dims) = (view.shape(0)?, view.flag("keepdims")?);
    let axis = view.axis("axis", shape.len())?;
    Some(without(shape, &[axis], keeps_dims))
}

/// The type of the item of a sequence or optional, the first input.
pub fn item_type(view: &NodeView<'_, '_>) -> Option<ValueType> {
    match view.value_type(0)? {
        ValueType::Sequence(item) | ValueType::Optional(item) => Some((**item).clone()),
        _ => None,
    }
}

/// A dimension that is at least 0, or 0 instead.
pub fn not_below_zero(size: Size) -> Option<Dim> {
    if size.is_never_negative() { Some(size.dim()) } else { Some(Size::max(&size, &Size::constant(0))?.dim()) }
}

/// Copies of a dimension, one per output of a node; `None` if they would be much larger than a shape.
pub fn repeat_dim(dim: &Dim, outputs: usize) -> Option<Vec<Dim>> {
    // bounded: by the outputs of the node.
    (outputs <= 1 << 16).then(|| std::iter::repeat_n(dim.clone(), outputs).collect())
}

/// The type given by an attribute, or the default if it is 0 or omitted; `None` if it is unknown.
pub fn named_type(view: &NodeView<'_, '_>, name: &str, default: Option<ValueType>) -> Option<ValueType> {
    if view.attributes.is_open(name) {
        return None;
    }
    match view.attributes.int(name).unwrap_or(0) {
        0 => default,
        _ => view.attributes.element(name).map(ValueType::Tensor),
    }
}

/// The type that an attribute, or its default, names by number; `None` if it is unknown.
pub fn attribute_type(view: &NodeView<'_, '_>, name: &str) -> Option<ValueType> {
    ElementType::from_code(i32::try_from(view.int(name)?).ok()?).map(ValueType::Tensor)
}
